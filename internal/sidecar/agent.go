package sidecar

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/gateway/agent"
	"github.com/gearbox-mcp/gearbox/internal/gateway/agent/endpoint"
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

// NewAgent is what solves tasks with the model of the options and the tools of a catalog,
// nil for none. It asks nobody, but there has to be a key where one is needed.
func NewAgent(o Options, version string, tools agent.Catalog) (*agent.Agent, error) {
	if !o.Agent.On() {
		return nil, fmt.Errorf("%w: name one with --agent-model or agent.model in gearbox.yaml", ErrNoModel)
	}
	m, err := endpoint.New(o.Agent.endpoint(version))
	if err != nil {
		return nil, err
	}
	if err := m.Ready(); err != nil {
		return nil, err
	}
	c := agent.Config{Model: m, Catalog: tools, Attempts: o.Agent.Attempts}
	if o.Agent.Timeout != nil {
		c.Timeout = *o.Agent.Timeout
	}
	return agent.New(c)
}
