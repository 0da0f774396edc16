package mcpserver

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

const plain = "text/plain"

// The resources that never change while a server lives.
const (
	infoURI     = "env://info"
	packagesURI = "env://packages"
	gearURI     = "env://gear"
)

// fixed reports whether a URI names one of them.
func fixed(uri string) bool { return slices.Contains([]string{infoURI, packagesURI, gearURI}, uri) }

func (s *service) addResources() {
	for _, r := range []struct {
		uri, name, title, description string
		read                          func(context.Context) (string, error)
	}{
		{infoURI, "info", "Execution Environment Info", "Python version, safety gear, languages, working directory, isolation and limits.", s.info},
		{packagesURI, "packages", "Installed packages", "The packages beside the standard library.", s.packages},
		{gearURI, "gear", "Safety gear", "The policy in force, in the format of gear files.", s.gearText},
	} {
		s.mcp.AddResource(&mcp.Resource{
			URI: r.uri, Name: r.name, Title: r.title, Description: r.description, MIMEType: plain,
		}, s.reader(r.read))
	}
}

// reader answers one resource. A resource has no place for an error but the
// protocol's, so the reason goes to the log and a general word to the client.
func (s *service) reader(read func(context.Context) (string, error)) mcp.ResourceHandler {
	return func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		text, err := read(ctx)
		if err != nil {
			s.logFailure(ctx, "", fmt.Errorf("read %s: %w", req.Params.URI, err))
			return nil, fmt.Errorf("read %s: %s", req.Params.URI, internalMessage)
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, MIMEType: plain, Text: text}}}, nil
	}
}

func (s *service) info(ctx context.Context) (string, error) {
	i, err := s.environment.Info(ctx, s.caller.Principal)
	if err != nil {
		return "", err
	}
	i.Languages = slices.DeleteFunc(slices.Clone(i.Languages), func(l execution.Language) bool { return !s.caller.MayWrite(l) })
	return i.text(), nil
}

func (s *service) packages(ctx context.Context) (string, error) {
	l, err := s.environment.Packages(ctx, "")
	if err != nil {
		return "", err
	}
	return packagesText(l) + "\n", nil
}

func (s *service) gearText(ctx context.Context) (string, error) {
	return s.environment.GearText(ctx, s.caller.Principal)
}

func (i Info) text() string {
	languages := make([]string, 0, len(i.Languages))
	for _, l := range i.Languages {
		languages = append(languages, string(l))
	}
	var b strings.Builder
	b.WriteString("Execution Environment Info\n")
	for _, line := range []struct{ name, value string }{
		{"Python Version", i.Python},
		{"Safety Gear", i.Gear},
		{"Gear Description", i.GearDescription},
		{"Allowed Languages", strings.Join(languages, ", ")},
		{"Work Dir", i.WorkDir},
		{"Isolation", string(i.Isolation)},
		{"Backend", i.Backend},
		{"Timeout", fmt.Sprintf("%v seconds, at most %v", i.Limits.Timeout.Seconds(), i.Limits.MaxTimeout.Seconds())},
		{"Memory", i.Limits.Memory.String()},
		{"Packages", fmt.Sprint(i.Packages)},
		{"Warnings", strings.Join(i.Warnings, "; ")},
	} {
		if line.value != "" {
			fmt.Fprintf(&b, "%s: %s\n", line.name, line.value)
		}
	}
	return b.String()
}
