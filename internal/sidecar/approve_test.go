package sidecar

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/policy"
)

func TestAListOfWhatAsksIsAboutEveryNameAndABadOneIsTheFaultOfItsServer(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "servers.json")
	err := os.WriteFile(file, []byte(`{"mcpServers": {
		"good": {"command": "x", "tools": {"approve": ["*"]}},
		"my, server": {"command": "x", "tools": {"approve": ["a,{b", "s?eep"]}},
		"empty": {"command": "x", "tools": {"approve": [""]}},
		"": {"command": "x", "tools": {"approve": ["*"]}}
	}}`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{MCPServers: []string{file}}
	rules, err := o.serverRules(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"good.echo", "good.a.b/c", "good.x,y", "my, server.a,{b", "my, server.sleep"} {
		p := policy.Permission{Kind: policy.Tool, Target: name}
		d := policy.Evaluate(policy.Layers{Operator: policy.RuleSet{Ask: rules.Ask}, Gear: policy.Bundle{Default: policy.Allow}}, p)
		if d.Effect != policy.Ask || !strings.Contains(d.Reason, "servers.json") {
			t.Errorf("%s: %s, %s", name, d.Effect, d.Reason)
		}
	}
	c, err := o.configured(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range c.Servers {
		if bad := s.Name == "empty" || s.Name == ""; bad != (s.Fault != "") {
			t.Errorf("%q: %q", s.Name, s.Fault)
		}
	}
}
