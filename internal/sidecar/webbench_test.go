//go:build linux

package sidecar_test

import (
	"net/http"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
	"github.com/gearbox-mcp/gearbox/internal/token"
)

// BenchmarkHTTP tells what a call over HTTP costs beside one that does nothing, in
// both eras.
func BenchmarkHTTP(b *testing.B) {
	s := serveHTTP(b, sidecar.Options{})
	b.Run("engine", func(b *testing.B) {
		for b.Loop() {
			run(b, s.Sidecar, execution.Request{Code: "print(1)"})
		}
	})
	for name, rights := range map[string]token.Rights{"free": {}, "bounded": {Gear: "restricted", Concurrency: 100, Rate: 1_000_000}} {
		secret := s.create(name, rights)
		for _, era := range eras {
			session := s.connect(secret, era)
			for call, arguments := range map[string]map[string]any{"list_packages": {"query": "none"}, "execute": {"code": "print(1)"}} {
				b.Run(name+"/"+era+"/"+call, func(b *testing.B) {
					for b.Loop() {
						res, err := session.CallTool(b.Context(), &mcp.CallToolParams{Name: call, Arguments: arguments})
						if err != nil || res.IsError {
							b.Fatal(res, err)
						}
					}
				})
			}
		}
		b.Run(name+"/get", func(b *testing.B) {
			for b.Loop() {
				if status, _ := s.get("/api/v1/operations/x", secret); status != http.StatusNotFound {
					b.Fatal(status)
				}
			}
		})
	}
}
