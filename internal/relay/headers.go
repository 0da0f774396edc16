package relay

import (
	"encoding/json"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// sessionless is the first version of the protocol without sessions.
const sessionless = "2026-07-28"

// The header fields of the protocol.
const (
	versionHeader = "MCP-Protocol-Version"
	sessionHeader = "Mcp-Session-Id"
	methodHeader  = "Mcp-Method"
	nameHeader    = "Mcp-Name"
	eventHeader   = "Last-Event-ID"
)

// about is what HTTP has to know of a request.
type about struct {
	Meta struct {
		Version string `json:"io.modelcontextprotocol/protocolVersion"`
	} `json:"_meta"`
	Name   string `json:"name"`
	URI    string `json:"uri"`
	TaskID string `json:"taskId"`
}

func aboutOf(params json.RawMessage) about {
	var a about
	_ = json.Unmarshal(params, &a) // what is malformed is for the server to refuse
	return a
}

// standsAlone reports whether a request belongs to no session.
func standsAlone(params json.RawMessage) bool { return aboutOf(params).Meta.Version >= sessionless }

// describe sets the header fields that repeat what a request says of itself.
func describe(h http.Header, m jsonrpc.Message) {
	r, ok := m.(*jsonrpc.Request)
	if !ok {
		return
	}
	a := aboutOf(r.Params)
	if a.Meta.Version < sessionless {
		return
	}
	h.Set(versionHeader, a.Meta.Version)
	h.Set(methodHeader, r.Method)
	switch {
	case r.Method == "resources/read":
		h.Set(nameHeader, a.URI)
	case a.TaskID != "":
		h.Set(nameHeader, a.TaskID)
	case a.Name != "":
		h.Set(nameHeader, a.Name)
	}
}
