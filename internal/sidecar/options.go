package sidecar

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/gear"
	"github.com/gearbox-mcp/gearbox/internal/logging"
)

// DefaultGear is the gear of a start that names none.
const DefaultGear = "user_confirmed"

// Options are what an operator sets. The zero value is the documented default.
type Options struct {
	// Gear is the name of a gear or the path of a gear file.
	Gear string
	// Allow, Ask and Deny are rules of this start, beside those of the rules file.
	Allow, Ask, Deny []string
	// Rules are further ones that say themselves where they were written, as those of
	// the configuration file.
	Rules gear.Overlays
	// Python is an interpreter or virtual environment of the operator; empty
	// means the embedded one.
	Python string
	// Preload are modules of that environment which programs find imported. They run
	// in the fork server, before anything is sealed. Gears without isolation have none.
	Preload []string
	// Backend is the backend to use, one of [Backends]; empty means the best that works
	// here. With one that does not exist here nothing is run, and answers say why.
	Backend string
	// MinimumIsolation is the weakest level that runs anything; empty means
	// no-proc, and in a container, which is an outer wall of its own, no-userns.
	MinimumIsolation string
	// AllowFullTrust permits gears without isolation.
	AllowFullTrust bool
	// AllowFullTrustAsRoot permits them even for uid 0.
	AllowFullTrustAsRoot bool
	// FinishPreparing lets Close wait until a new interpreter is byte-compiled:
	// for short commands, which would otherwise never get to it.
	FinishPreparing bool
	// Compat names the drop-in profiles to add.
	Compat []string
	// Redact says what is masked in log lines and audit events, beside common secrets.
	Redact logging.Rules
	// MCPServers are files in which MCP servers are configured whose tools programs may
	// call; nil means mcp_servers.json of the data directory, if it is there, and an empty
	// list none. A YAML file has them below mcp_servers.
	MCPServers []string
	// EnvFiles are files of variables that those files may name, beside the environment.
	EnvFiles []string
	// Records say how operations and audit events are kept.
	Records RecordOptions
	// Approvals say whether and how humans are asked.
	Approvals ApprovalOptions
	// Pool says what stands ready, and how much may run at once.
	Pool PoolOptions
	// Principal bounds what each principal may start.
	Principal PrincipalOptions
	// Web is how requests come in over HTTP; the zero value for not at all.
	Web WebOptions
	// ConformanceFixtures adds what the official conformance suite of the protocol
	// expects of a server under test.
	ConformanceFixtures bool
	// Transport tells in the status how requests come in.
	Transport Transport
	// DataDir is where everything is kept; empty means GEARBOX_DATA_DIR, then
	// $XDG_DATA_HOME/gearbox, then ~/.local/share/gearbox.
	DataDir string
	// Settings names the settings that these options were made of, for the record of
	// changes; the zero digest if nobody has.
	Settings execution.Digest
}

func (o Options) gear() string {
	if o.Gear == "" {
		return DefaultGear
	}
	return o.Gear
}

// longestPreload bounds the names together: they travel in one datagram.
const longestPreload = 4096

// moduleName is a dotted name as an import statement takes it.
var moduleName = regexp.MustCompile(`^[\p{L}_][\p{L}\p{N}_]*(\.[\p{L}_][\p{L}\p{N}_]*)*$`)

// CheckModule says what is wrong with the name of a module to preload.
func CheckModule(name string) error {
	if !moduleName.MatchString(name) {
		return errors.New("this is no name of a module: write it as in an import statement, for example pandas or scipy.stats, several separated by commas")
	}
	return nil
}

// preload is the form of a template: names in order, each once, joined by commas.
func (o Options) preload() (string, error) {
	if len(o.Preload) == 0 {
		return "", nil
	}
	if o.Python == "" {
		return "", about("preload", "--preload takes modules of an environment of yours, and the embedded interpreter has none beyond the standard library, which is imported already: name the environment with --python, or leave --preload out")
	}
	for _, name := range o.Preload {
		if err := CheckModule(name); err != nil {
			return "", about("preload", "--preload %q: %w", name, err)
		}
	}
	joined := strings.Join(slices.Compact(slices.Sorted(slices.Values(o.Preload))), ",")
	if len(joined) > longestPreload {
		return "", about("preload", "--preload: the names are %d bytes together, and at most %d are taken: name packages instead of each of their modules", len(joined), longestPreload)
	}
	return joined, nil
}

func (o Options) minimumIsolation(inContainer bool) (execution.Level, error) {
	switch {
	case o.MinimumIsolation != "":
		l, err := execution.ParseLevel(o.MinimumIsolation)
		if err != nil {
			return "", about("minimum-isolation", "%w", err)
		}
		return l, nil
	case inContainer:
		return execution.LevelNoUserns, nil
	default:
		return execution.LevelNoProc, nil
	}
}

// DataDirectory is the path of the data directory, made or not.
func DataDirectory(o Options) (string, error) { return o.dataDir() }

func (o Options) dataDir() (string, error) {
	dir := o.DataDir
	if dir == "" {
		dir = os.Getenv("GEARBOX_DATA_DIR")
	}
	if dir == "" {
		base := os.Getenv("XDG_DATA_HOME")
		if base == "" || !filepath.IsAbs(base) { // the XDG specification: relative paths are ignored
			home, err := os.UserHomeDir()
			if err != nil {
				return "", errors.New("no data directory: set --data-dir or GEARBOX_DATA_DIR, because HOME is not set")
			}
			base = filepath.Join(home, ".local", "share")
		}
		dir = filepath.Join(base, "gearbox")
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("data directory %s: %w", dir, err)
	}
	return abs, nil
}
