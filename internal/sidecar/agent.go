package sidecar

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/gateway"
	"github.com/gearbox-mcp/gearbox/internal/gateway/agent"
	"github.com/gearbox-mcp/gearbox/internal/gateway/agent/endpoint"
	"github.com/gearbox-mcp/gearbox/internal/mcpserver"
)

// AgentOptions say which model writes programs. The zero value is for none.
type AgentOptions struct {
	// Provider is one of [ModelProviders]; empty means the first.
	Provider string
	Model    string
	// BaseURL is where the endpoint is; empty means the provider's own.
	BaseURL string
	// KeyVariable names the environment variable of the key; empty means the provider's
	// usual one.
	KeyVariable string
	Attempts    *int
	Timeout     *time.Duration
}

// The bounds of [AgentOptions].
const (
	MostAttempts     = agent.MaxAttempts
	LongestTask      = agent.MaxTimeout
	NoModelKey       = endpoint.NoKey
	longestModelName = 256
)

// ModelProviders are the wire formats of models.
func ModelProviders() []string { return endpoint.Providers() }

// CheckModelURL says what is wrong with the address of an endpoint.
func CheckModelURL(text string) error { return endpoint.CheckURL(text) }

// variableName tells variables from keys, most of which have small letters.
var variableName = regexp.MustCompile(`^[A-Z_][A-Z0-9_]{0,63}$`)

// CheckVariable says what is wrong with the name of the variable of a key. What was written
// is not repeated: it may be the key.
func CheckVariable(name string) error {
	if name != NoModelKey && !variableName.MatchString(name) {
		return errors.New("is no name of a variable in capitals, such as MODEL_KEY: the key itself stands in the environment, and in no configuration")
	}
	return nil
}

// On reports whether there is a model.
func (o AgentOptions) On() bool { return o.Model != "" }

// check finds settings that say something about no model.
func (o AgentOptions) check() error {
	if len(o.Model) > longestModelName {
		return about("agent-model", "--agent-model: the name is longer than %d bytes", longestModelName)
	}
	if o.On() {
		return nil
	}
	var errs []error
	for _, said := range [][2]string{{"agent-provider", o.Provider}, {"agent-base-url", o.BaseURL}, {"agent-api-key-env", o.KeyVariable}} {
		if said[1] != "" {
			errs = append(errs, about(said[0], "--%s says something of a model, and none is named: add --agent-model", said[0]))
		}
	}
	return errors.Join(errs...)
}

func (o AgentOptions) endpoint(version string) endpoint.Config {
	c := endpoint.Config{Provider: o.Provider, Model: o.Model, BaseURL: o.BaseURL, KeyVariable: o.KeyVariable, Getenv: os.LookupEnv, Version: version}
	if c.Provider == "" {
		c.Provider = ModelProviders()[0]
	}
	return c
}

// programsEnvironment is the operator's environment as rules may give it to programs: without
// the key of the model, whatever the rules say.
func (o AgentOptions) programsEnvironment(getenv func(string) (string, bool)) func(string) (string, bool) {
	if !o.On() {
		return getenv
	}
	hidden := o.endpoint("").KeyOf()
	return func(name string) (string, bool) {
		if name == hidden {
			return "", false
		}
		return getenv(name)
	}
}

// ErrNoModel says that no model is configured.
var ErrNoModel = errors.New("no model is configured")

// CheckAgent says why no task could be solved with the options: no model is named, its
// endpoint cannot be, or there is no key where one is needed. It asks nobody.
func CheckAgent(o Options, version string) error {
	if !o.Agent.On() {
		return fmt.Errorf("%w: name one with --agent-model or agent.model in gearbox.yaml", ErrNoModel)
	}
	m, err := endpoint.New(o.Agent.endpoint(version))
	if err != nil {
		return err
	}
	return m.Ready()
}

// Agent solves tasks with the model of the options and the tools of the configured servers.
func (s *Sidecar) Agent() (*agent.Agent, error) {
	o := s.optionsInForce().Agent
	m, err := endpoint.New(o.endpoint(s.self.Version))
	if err != nil {
		return nil, err
	}
	c := agent.Config{Model: m, Attempts: o.Attempts}
	if s.gateway != nil {
		c.Catalog = agentTools{s.gateway}
	}
	if o.Timeout != nil {
		c.Timeout = *o.Timeout
	}
	return agent.New(c)
}

// agentTools are the tools of other servers as the model of an agent is told of them.
type agentTools struct{ gateway *gateway.Gateway }

// Describe implements [agent.Catalog].
func (t agentTools) Describe(ctx context.Context, task string, limit int) (string, error) {
	return t.gateway.ForTask(ctx, task, limit)
}

// solver is an agent as an MCP server speaks of it.
type solver struct {
	agent *agent.Agent
	usual time.Duration
}

// solver is nil where no model is configured. Without a key a server starts all the same,
// because everything else works: run_agent says what is missing.
func (s *Sidecar) solver(o AgentOptions) (mcpserver.Agent, error) {
	if !o.On() {
		return nil, nil //nolint:nilnil // there is none, and nothing is wrong
	}
	a, err := s.Agent()
	if err != nil {
		return nil, about("agent-model", "%w", err)
	}
	usual := agent.DefaultTimeout
	if o.Timeout != nil {
		usual = *o.Timeout
	}
	return solver{a, usual}, nil
}

// Patience implements [mcpserver.Agent].
func (s solver) Patience() (usual, most time.Duration) { return s.usual, LongestTask }

// Solve implements [mcpserver.Agent].
func (s solver) Solve(ctx context.Context, t mcpserver.AgentTask) (mcpserver.AgentAnswer, error) {
	a, err := s.agent.Run(ctx, agent.Task{Text: t.Text, Timeout: t.Timeout, Runner: runner(t.Run), Tell: t.Tell})
	if err != nil && !agent.Tellable(err) {
		return mcpserver.AgentAnswer{}, err
	}
	return mcpserver.AgentAnswer{Text: a.Text(), Failed: a.Failed()}, nil
}

// runner is a function that runs programs for an agent.
type runner func(context.Context, string) (execution.Result, error)

// Run implements [agent.Runner].
func (r runner) Run(ctx context.Context, code string) (execution.Result, error) { return r(ctx, code) }
