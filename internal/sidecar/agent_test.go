package sidecar

import (
	"errors"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/gateway/agent/endpoint"
)

func TestNoRuleGivesProgramsTheKeyOfTheModel(t *testing.T) {
	getenv := func(name string) (string, bool) { return "value of " + name, true }
	for hidden, o := range map[string]AgentOptions{
		"OPENAI_API_KEY": {Model: "m"}, "ANTHROPIC_API_KEY": {Model: "m", Provider: "anthropic"}, "MINE": {Model: "m", KeyVariable: "MINE"},
	} {
		seen := o.programsEnvironment(getenv)
		if v, ok := seen(hidden); ok || v != "" {
			t.Errorf("%s: %q", hidden, v)
		}
		if v, ok := seen("OTHER"); !ok || v != "value of OTHER" {
			t.Errorf("OTHER: %q, %v", v, ok)
		}
	}
	if _, ok := (AgentOptions{}).programsEnvironment(getenv)("OPENAI_API_KEY"); !ok {
		t.Error("without a model there is no key to hide")
	}
}

func TestAnAgentNeedsAModelAndItsKey(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	if err := CheckAgent(Options{}, "test"); !errors.Is(err, ErrNoModel) {
		t.Errorf("got %v", err)
	}
	o := Options{Agent: AgentOptions{Model: "m"}}
	if err := CheckAgent(o, "test"); !errors.Is(err, endpoint.ErrCredential) {
		t.Errorf("got %v", err)
	}
	t.Setenv("OPENAI_API_KEY", "sk-x")
	minute := time.Minute
	o.Agent.Timeout = &minute
	if err := CheckAgent(o, "test"); err != nil {
		t.Errorf("got %v", err)
	}
}

func TestSettingsOfNoModelAreRefused(t *testing.T) {
	for flag, o := range map[string]AgentOptions{
		"agent-provider": {Provider: "anthropic"}, "agent-base-url": {BaseURL: "https://x"}, "agent-api-key-env": {KeyVariable: "X"},
	} {
		var about *OptionError
		if err := o.check(); !errors.As(err, &about) || about.Setting() != flag {
			t.Errorf("%s: %v", flag, err)
		}
	}
}

func TestWhatMayBeAKeyIsNoNameOfAVariable(t *testing.T) {
	for name, want := range map[string]bool{
		"OPENAI_API_KEY": true, "_X1": true, "none": true, "sk-ant-api03-abc": false, "gsk_abcDEF": false, "": false, "1X": false, "None": false,
	} {
		if err := CheckVariable(name); (err == nil) != want {
			t.Errorf("%q: %v", name, err)
		}
	}
}
