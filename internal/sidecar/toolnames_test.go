package sidecar

import (
	"log/slog"
	"slices"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/mcpserver"
	"github.com/gearbox-mcp/gearbox/internal/telemetry"
)

func TestEveryToolIsCountedByItsName(t *testing.T) {
	m := telemetry.New(telemetry.Config{Version: "1", Logger: slog.New(slog.DiscardHandler)})
	for _, d := range m.Descriptions() {
		for _, l := range d.Labels {
			if l.Name != "tool" {
				continue
			}
			for _, name := range mcpserver.ToolNames() {
				if !slices.Contains(l.Values, name) {
					t.Errorf("%s counts %s as something else", d.Name, name)
				}
			}
		}
	}
}
