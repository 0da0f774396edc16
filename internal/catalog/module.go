package catalog

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/gearbox-mcp/gearbox/internal/visible"
)

// DescriptorVersion is the version of [Module] and [Index].
const DescriptorVersion = 1

// Module describes one server to the Python package inside the sandbox: see the package
// documentation.
type Module struct {
	Version   int        `json:"version"`
	Server    string     `json:"server"`
	Module    string     `json:"module"`
	Doc       string     `json:"doc,omitempty"`
	Functions []Function `json:"functions"`
}

// Function describes one tool.
type Function struct {
	Python     string              `json:"python"`
	Raw        string              `json:"raw"`
	Doc        string              `json:"doc,omitempty"`
	Signature  string              `json:"signature"`
	Parameters []FunctionParameter `json:"parameters,omitempty"`
	Open       bool                `json:"open,omitempty"`
}

// FunctionParameter describes one argument.
type FunctionParameter struct {
	Python   string `json:"python"`
	Raw      string `json:"raw"`
	Required bool   `json:"required,omitempty"`
}

// Index names all modules.
type Index struct {
	Version int           `json:"version"`
	Modules []IndexModule `json:"modules"`
}

// IndexModule names one module.
type IndexModule struct {
	Module    string `json:"module"`
	Server    string `json:"server"`
	Doc       string `json:"doc,omitempty"`
	Functions int    `json:"functions"`
}

// Module is the descriptor of a server, named as [Catalog.Server] has it, or with no server
// the index of all, as JSON.
func (c *Catalog) Module(server string) ([]byte, error) {
	if server == "" {
		return marshal(c.modules())
	}
	s, err := c.Server(server)
	if err != nil {
		return nil, err
	}
	m := Module{Version: DescriptorVersion, Server: s.Name, Module: s.Module, Doc: s.doc(), Functions: []Function{}}
	for _, e := range s.Entries {
		m.Functions = append(m.Functions, e.function())
	}
	return marshal(m)
}

func (c *Catalog) modules() Index {
	x := Index{Version: DescriptorVersion, Modules: []IndexModule{}}
	for _, s := range c.servers {
		x.Modules = append(x.Modules, IndexModule{Module: s.Module, Server: s.Name, Doc: s.summary(), Functions: len(s.Entries)})
	}
	return x
}

func (e Entry) function() Function {
	f := Function{Python: e.Python, Raw: e.Definition.Name, Doc: e.doc(), Signature: strings.TrimPrefix(e.Signature(), e.Python), Open: e.Open}
	for _, said := range e.remarks() {
		if said != "" {
			f.Doc += "\n\n(" + visible.Line(said) + ")"
		}
	}
	for _, p := range e.Parameters {
		f.Parameters = append(f.Parameters, FunctionParameter{Python: p.Python, Raw: p.Raw, Required: p.Required})
	}
	return f
}

// marshal writes JSON without the escapes that HTML needs, on one line.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}
