package cli

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/gearbox-mcp/gearbox/internal/sidecar"
)

// addServerFlags declares the flags that serve and everything that starts the
// same way share.
func addServerFlags(fs *pflag.FlagSet, o *sidecar.Options) {
	fs.StringVar(&o.Gear, "gear", "", "the gear, `NAME|FILE.yaml` (default \""+sidecar.DefaultGear+"\")")
	// Rules hold commas, so these are arrays and never split.
	fs.StringArrayVar(&o.Allow, "allow", nil, "allow by `RULE`, for example 'run(git)'; may be repeated")
	fs.StringArrayVar(&o.Ask, "ask", nil, "ask a human by `RULE`; may be repeated")
	fs.StringArrayVar(&o.Deny, "deny", nil, "deny by `RULE`; may be repeated")
	fs.StringVar(&o.Python, "python", "", "an interpreter or virtual environment at `PATH` in place of the embedded one")
	fs.Var((*modules)(&o.Preload), "preload", "import `MODULE,…` of that environment ahead, so that programs find them imported; may be repeated")
	fs.StringVar(&o.Backend, "backend", "", "the sandbox `BACKEND` (default: the best of this machine)")
	fs.StringVar(&o.MinimumIsolation, "minimum-isolation", "", "run nothing below this isolation `LEVEL`")
	fs.BoolVar(&o.AllowFullTrust, "allow-full-trust", false, "permit gears without any isolation")
	fs.BoolVar(&o.AllowFullTrustAsRoot, "allow-full-trust-as-root", false, "permit them even for root")
	fs.StringArrayVar(&o.Compat, "compat", nil, "add the tools of another server, `PROFILE` python-interpreter or mcp-run-python; may be repeated")
	fs.StringVar(&o.DataDir, "data-dir", "", "keep everything in `DIR` (default: $GEARBOX_DATA_DIR, then $XDG_DATA_HOME/gearbox)")
	fs.SortFlags = false
}

// modules is the value of --preload: names separated by commas. An empty one is most
// likely a variable of a script that was not set, and leaving it out would not show that.
type modules []string

// Set implements [pflag.Value].
func (m *modules) Set(s string) error {
	names := strings.Split(s, ",")
	if slices.Contains(names, "") {
		return errors.New("an empty name is no name of a module: write them as in import statements, separated by commas, or leave --preload out")
	}
	*m = append(*m, names...)
	return nil
}

// String implements [pflag.Value].
func (m *modules) String() string { return strings.Join(*m, ",") }

// Type implements [pflag.Value].
func (m *modules) Type() string { return "modules" }

// serverArgs is the command line that gives these options, in one fixed order.
func serverArgs(o sidecar.Options) []string {
	args := []string{"serve"}
	text := func(name string, values ...string) {
		for _, v := range values {
			if v != "" {
				args = append(args, name, v)
			}
		}
	}
	text("--gear", o.Gear)
	text("--allow", o.Allow...)
	text("--ask", o.Ask...)
	text("--deny", o.Deny...)
	text("--python", o.Python)
	text("--preload", o.Preload...)
	text("--backend", o.Backend)
	text("--minimum-isolation", o.MinimumIsolation)
	if o.AllowFullTrust {
		args = append(args, "--allow-full-trust")
	}
	if o.AllowFullTrustAsRoot {
		args = append(args, "--allow-full-trust-as-root")
	}
	text("--compat", o.Compat...)
	text("--data-dir", o.DataDir)
	for _, s := range poolSettings(&o.Pool) {
		text("--"+s.name, s.String())
	}
	return args
}

// absolute makes the paths among the options independent of the directory in
// which a client will start the server.
func absolute(o sidecar.Options) (sidecar.Options, error) {
	paths := []*string{&o.Python, &o.DataDir}
	if strings.ContainsAny(o.Gear, `/\.`) {
		paths = append(paths, &o.Gear)
	}
	for _, p := range paths {
		if *p == "" {
			continue
		}
		abs, err := filepath.Abs(*p)
		if err != nil {
			return o, err
		}
		*p = abs
	}
	return o, nil
}
