package web

import (
	_ "embed"
	"fmt"
	"net/http"

	"github.com/goccy/go-yaml"
)

// description is what docs/openapi.yaml is a copy of.
//
//go:embed openapi.yaml
var description []byte

const pathDescription = pathAPI + "openapi.json"

// describer answers with the description of the API.
func describer() (http.Handler, error) {
	text, err := yaml.YAMLToJSON(description)
	if err != nil {
		return nil, fmt.Errorf("the description of the API: %w", err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(text) // whoever asked may be gone
	}), nil
}

// handles is where routes are told: a mux.
type handles interface {
	Handle(pattern string, h http.Handler)
}
