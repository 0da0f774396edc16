package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// version is the version of this module as the Go tool recorded it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}

// pythonModule carries the embedded interpreter. Its version holds Python's.
const pythonModule = "github.com/kluctl/go-embed-python"

func pythonVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, d := range info.Deps {
		if d.Path == pythonModule {
			return embeddedPython(d.Version)
		}
	}
	return "unknown"
}

// embeddedPython takes 3.14.6 out of v0.0.0-3.14.6-20260610-1.
func embeddedPython(module string) string {
	parts := strings.Split(module, "-")
	if len(parts) < 2 {
		return module
	}
	return parts[1]
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the versions of Gearbox, Go and the embedded Python", Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(a.Out, "gearbox %s\ngo %s %s/%s\npython %s (embedded)\n",
				version(), strings.TrimPrefix(runtime.Version(), "go"), runtime.GOOS, runtime.GOARCH, pythonVersion())
			return failed(exitFailed, err)
		},
	}
}
