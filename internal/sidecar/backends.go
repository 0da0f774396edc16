package sidecar

import (
	"fmt"
	"slices"
	"strings"
)

// The names of backends that an operator may ask for. Gears without isolation need none.
const (
	BackendLinux = "linux"
	BackendWasm  = "wasm"
	BackendOCI   = "oci"
)

// Backends lists them, those included that this version does not have yet: a server
// that is told to use one starts, so that its clients learn why nothing runs.
func Backends() []string { return []string{BackendLinux, BackendWasm, BackendOCI} }

func (o Options) checkBackend() error {
	if o.Backend != "" && !slices.Contains(Backends(), o.Backend) {
		return about("backend", "there is no backend %q: use one of %s", o.Backend, strings.Join(Backends(), ", "))
	}
	return nil
}

// missing says why the backend that was asked for does not exist, and is empty if it
// does. Nothing else is used in its place: who names a wall means it.
func (o Options) missing() string {
	what := ""
	switch o.Backend {
	case BackendWasm:
		what = "WebAssembly"
	case BackendOCI:
		what = "containers of an engine such as Docker"
	default:
		return ""
	}
	return fmt.Sprintf("this version has no backend %s (%s), and nothing runs behind another wall than the one that was asked for. "+
		"Start with --backend linux, or with neither --backend nor MCP_EXECUTOR", o.Backend, what)
}
