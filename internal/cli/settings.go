package cli

import (
	"errors"
	"os"
	"slices"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/config"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/gear"
	"github.com/gearbox-mcp/gearbox/internal/logging"
	"github.com/gearbox-mcp/gearbox/internal/mcpserver"
	"github.com/gearbox-mcp/gearbox/internal/policy"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
	"github.com/gearbox-mcp/gearbox/internal/upstream/serverfile"
)

// settings are what the table sets.
type settings struct {
	server sidecar.Options
	file   string // where the configuration is; used to find it
	log    logSettings
}

// table is every setting of Gearbox, one row each. A row is all that a new setting
// needs beside the variable that it goes to.
func (s *settings) table() config.Table {
	return slices.Concat(s.rulesTable(), s.sandboxTable(), s.placeTable(), s.upstreamTable(), s.poolTable(), s.principalTable(), s.httpTable(), s.approvalsTable(), s.agentTable(), s.recordsTable(), s.logTable())
}

// rulesTable is what decides on runs.
func (s *settings) rulesTable() config.Table {
	o := &s.server
	return config.Table{
		{
			Key: "gear", Flag: "gear", Value: config.Text(&o.Gear, config.NameOrPath()), Default: sidecar.DefaultGear, Reload: true,
			Usage: "the gear, `NAME|FILE.yaml`", Meaning: "What holds when a call names none. A change between gears with and without isolation takes a restart.",
		},
		{
			Key: "rules.allow", Flag: "allow", Value: rules(&o.Rules.Allow, true), Default: "none", Adds: true, Reload: true,
			Usage: "allow by `RULE`, for example 'run(git)'", Meaning: "Beside those of rules.yaml.",
		},
		{
			Key: "rules.ask", Flag: "ask", Value: rules(&o.Rules.Ask, false), Default: "none", Adds: true, Reload: true,
			Usage: "ask a human by `RULE`",
		},
		{
			Key: "rules.deny", Flag: "deny", Value: rules(&o.Rules.Deny, false), Default: "none", Adds: true, Reload: true,
			Usage: "deny by `RULE`",
		},
	}
}

// sandboxTable is what runs them, and behind which wall.
func (s *settings) sandboxTable() config.Table {
	o := &s.server
	return config.Table{
		{
			Key: "python", Flag: "python", Value: config.Text(&o.Python, config.AnyPath()), Default: "the embedded one",
			Usage: "the interpreter or virtual environment at `PATH`",
		},
		{
			Key: "preload", Flag: "preload", Value: config.CommaList(&o.Preload, config.Named("the name of a module", sidecar.CheckModule)), Default: "none",
			Usage: "import `MODULE,…` of that environment ahead, so that programs find them imported", Meaning: "Needs python.",
		},
		{
			Key: "backend", Flag: "backend", Value: config.Text(&o.Backend, config.OneOf(sidecar.Backends()...)), Default: "the best of this machine",
			Usage: "the sandbox `BACKEND`", Foreign: mcpExecutor(),
			Meaning: "With wasm or oci, which this version does not have, nothing runs and answers say why. MCP_EXECUTOR, the variable of another server, " +
				"means the same and is weaker than everything else.",
		},
		{
			Key: "minimum_isolation", Flag: "minimum-isolation", Value: config.Text(&o.MinimumIsolation, config.OneOf(levels()...)), Default: "no-proc, in a container no-userns",
			Usage: "run nothing below this isolation `LEVEL`",
		},
		{
			Key: "allow_full_trust", Flag: "allow-full-trust", Value: config.Switch(&o.AllowFullTrust), Default: "false",
			Usage: "permit gears without any isolation",
		},
		{
			Key: "allow_full_trust_as_root", Flag: "allow-full-trust-as-root", Value: config.Switch(&o.AllowFullTrustAsRoot), Default: "false",
			Usage: "permit them even for root",
		},
		{
			Key: "compat", Flag: "compat", Value: config.List(&o.Compat, config.OneOf(mcpserver.Profiles()...)), Default: "none",
			Usage: "add the tools of another server, `PROFILE` python-interpreter or mcp-run-python",
		},
	}
}

// placeTable is where things are. No file says that.
func (s *settings) placeTable() config.Table {
	return config.Table{
		{
			Flag: config.FlagDataDir, Value: config.Text(&s.server.DataDir, config.AnyPath()), Default: "$XDG_DATA_HOME/gearbox, then ~/.local/share/gearbox",
			Usage: "keep everything in `DIR`",
		},
		{
			Flag: config.FlagFile, Value: config.Text(&s.file, config.AnyPath()), Default: config.FileName + " in the data directory",
			Usage: "read settings from `FILE`", Meaning: "A file that is named has to be there.",
		},
	}
}

// upstreamTable is which MCP servers programs may call.
func (s *settings) upstreamTable() config.Table {
	o := &s.server
	files := config.Items(config.AnyPath(), func(items []config.Item) {
		o.MCPServers = []string{} // an empty list is none, and not the default
		for _, i := range items {
			o.MCPServers = append(o.MCPServers, i.Text)
		}
	})
	return config.Table{
		{
			Key: "mcp_servers", Flag: "mcp-servers", Value: files.OrInline(), Default: serverfile.FileName + " in the data directory, if it is there",
			Usage: "let programs call the tools of the MCP servers that `FILE` configures", Foreign: &config.Foreign{Variable: "MCP_SERVERS_CONFIG"},
			Meaning: "Files of other programs are read as they are, see mcp-servers.md. The configuration file may hold the servers itself, by name. " +
				"MCP_SERVERS_CONFIG, the variable of another server, names one file and is weaker than everything else.",
		},
		{
			Key: "env_file", Flag: "env-file", Value: config.List(&o.EnvFiles, config.AnyPath()), Default: "none",
			Usage: "read variables that files of servers name from `FILE`, NAME=value a line", Meaning: "The environment is stronger than they are. Nothing else gets to see them.",
		},
	}
}

// poolTable is how much runs at once and stands ready.
func (s *settings) poolTable() config.Table {
	p := &s.server.Pool
	return config.Table{
		{
			Key: "pool.concurrency", Flag: "concurrency", Value: config.Number(&p.Concurrency, 1, sidecar.MostConcurrency), Default: "2 for each core",
			Usage: "run at most `N` programs at once", ServerOnly: true, Reload: true,
		},
		{
			Key: "pool.size", Flag: "pool-size", Value: config.Number(&p.Size, 0, sidecar.MostParked), Default: "as --concurrency",
			Usage: "keep `N` sandboxes of one kind ready, 0 for none", ServerOnly: true, Reload: true,
		},
		{
			Key: "pool.max", Flag: "pool-max", Value: config.Number(&p.Max, 1, sidecar.MostParked), Default: "4 for each core, or --pool-size",
			Usage: "keep at most `N` sandboxes of all kinds ready", ServerOnly: true, Reload: true,
		},
		{
			Key: "pool.idle", Flag: "pool-idle", Value: config.Duration(&p.Idle, sidecar.LeastIdle, sidecar.Longest), Default: "5m",
			Usage: "keep one sandbox of a kind that is not used for `TIME`", ServerOnly: true, Reload: true,
		},
		{
			Key: "pool.recycle_runs", Flag: "recycle-runs", Value: config.Number(&p.RecycleRuns, 1, sidecar.MostRuns), Default: "10000",
			Usage: "replace a fork server after `N` sandboxes", ServerOnly: true, Reload: true,
		},
		{
			Key: "pool.recycle_age", Flag: "recycle-age", Value: config.Duration(&p.RecycleAge, sidecar.LeastAge, sidecar.Longest), Default: "1h",
			Usage: "replace a fork server after `TIME`", ServerOnly: true, Reload: true,
		},
	}
}

// principalTable bounds what each principal may start.
func (s *settings) principalTable() config.Table {
	p := &s.server.Principal
	return config.Table{
		{
			Key: "principal.concurrency", Flag: "principal-concurrency", Value: config.Number(&p.Concurrency, 0, sidecar.MostOfPrincipal), Default: "0", ServerOnly: true, Reload: true,
			Usage: "let each principal have at most `N` executions under way at once, 0 for any number", Meaning: "A token that was made with a number of its own has that one.",
		},
		{
			Key: "principal.rate", Flag: "principal-rate", Value: config.Number(&p.Rate, 0, sidecar.MostOfPrincipal), Default: "0", ServerOnly: true, Reload: true,
			Usage: "let each principal start at most `N` executions a minute, 0 for any number", Meaning: "As for principal.concurrency. A sixth of them may come together.",
		},
	}
}

// httpTable is how requests come in over the network.
func (s *settings) httpTable() config.Table {
	w := &s.server.Web
	return config.Table{
		{
			Key: "http.address", Flag: "http", Value: config.Text(&w.HTTP, config.Named("host:port", sidecar.CheckAddress)), Default: "none", ServerOnly: true,
			Usage: "answer over HTTP on `ADDRESS`, such as 127.0.0.1:8080, and not on standard input and output",
		},
		{
			Key: "http.unix", Flag: "unix", Value: config.Text(&w.Unix, config.AnyPath()), Default: "none", ServerOnly: true,
			Usage: "answer over HTTP on a socket at `PATH`, which your own processes alone can use",
		},
		{
			Key: "http.hosts", Flag: "http-host", Value: config.List(&w.Hosts, config.Named("a name", nil)), Default: "none", ServerOnly: true,
			Usage: "a `NAME` by which clients call this server, beside its addresses",
		},
		{
			Key: "http.origins", Flag: "http-origin", Value: config.List(&w.Origins, config.Named("an origin", nil)), Default: "none", ServerOnly: true,
			Usage: "let pages of `ORIGIN`, such as https://console.example, use this server",
		},
		{
			Key: "http.tls_cert", Flag: "tls-cert", Value: config.Text(&w.TLSCert, config.AnyPath()), Default: "none", ServerOnly: true,
			Usage: "speak TLS, with the certificate in `FILE` (PEM)", Meaning: "It is read again when it changes.",
		},
		{
			Key: "http.tls_key", Flag: "tls-key", Value: config.Text(&w.TLSKey, config.AnyPath()), Default: "none", ServerOnly: true,
			Usage: "the key of the certificate, in `FILE` (PEM)",
		},
		{
			Key: "http.stop_timeout", Flag: "stop-timeout", Value: config.Duration(&w.StopTimeout, time.Second, sidecar.Longest), Default: "20s", ServerOnly: true,
			Usage: "let calls go on for `TIME` when the server is stopped",
		},
	}
}

// approvalsTable is whether and how humans are asked.
func (s *settings) approvalsTable() config.Table {
	a := &s.server.Approvals
	return config.Table{
		{
			Key: "approvals.mode", Flag: "approvals", Value: config.Text(&a.Mode, config.OneOf("on", "off")), Default: "on", Reload: true,
			Usage: "ask a human what the rules say to ask, `on|off`", Meaning: "When off, it is denied at once, and the answer names the rule that would permit it.",
		},
		{
			Key: "approvals.expire", Flag: "approvals-expire", Value: config.Duration(&a.Patience, sidecar.LeastPatience, sidecar.MostPatience), Default: "1h", Reload: true,
			Usage: "a question stands for `TIME`", Meaning: "Then the operation ends as denied.",
		},
		{
			Key: "approvals.max_pending", Flag: "approvals-max-pending", Value: config.Number(&a.MaxPending, 1, sidecar.MostPending), Default: "1000", ServerOnly: true, Reload: true,
			Usage: "let at most `N` executions of each principal wait for a human", Meaning: "One more is denied with the code UNAVAILABLE. Those of all servers of the data directory count.",
		},
		{
			Key: "approvals.max_pause", Flag: "approvals-max-pause", Value: config.Duration(&a.MaxPause, sidecar.LeastMaxPause, sidecar.MostMaxPause), Default: "10m", Reload: true,
			Usage: "let a run stand still for `TIME` in all while humans are asked about its calls", Meaning: "Its memory is held meanwhile, and its timeout stands still. What is not decided by then is not called, and the program goes on.",
		},
		{
			Key: "tools.approve", Flag: "tools-approve", Value: config.Text(&s.server.Tools.Approve, config.OneOf(sidecar.ToolApprovals()...)), Default: "call",
			Usage:   "ask about tools at each `call|script`",
			Meaning: "With script a yes to a program is one to the calls of tools that stand in it; others ask when they are made.",
		},
		{
			Key: "approvals.page_url", Flag: "approvals-page", Value: config.Text(&a.Page, config.Named("an address", checkPage)), Default: "none", ServerOnly: true,
			Usage:   "have clients that can show their user the page at `URL`",
			Meaning: "Of a front end of yours, where a person decides. The id of the operation is added as operation_id. Agents know the address: the page has to ask who comes.",
		},
		{
			Key: "approvals.credential", Flag: "approvals-credential", Value: config.Text(&a.Credential, config.OneOf(sidecar.CredentialKinds()...)), Default: "none",
			Usage: "what each decision needs: `KIND` none, passphrase or totp",
			Meaning: "It is set with gearbox approvals credential set, and once it is, every process of the data directory asks for it, whatever this says. " +
				"While it is not, or is of another kind, no server starts.",
		},
		{
			Key: "approvals.webhook.url", Flag: "approvals-webhook-url", Value: config.Text(&a.Webhook.URL, config.Named("an address", sidecar.CheckWebhook)), Default: "none", ServerOnly: true,
			Usage: "tell `URL` of each question, signed as Standard Webhooks says", Meaning: "https, or http to a loopback address. Nothing of its answer decides anything.",
		},
		{
			Key: "approvals.webhook.secret_file", Flag: "approvals-webhook-secret-file", Value: config.Text(&a.Webhook.SecretFile, config.AnyPath()), Default: "none", ServerOnly: true,
			Usage: "sign it with the secret in `FILE`, which only you may read", Meaning: "The form is whsec_ and 24 to 64 bytes in base64.",
		},
		{
			Key: "approvals.webhook.code", Flag: "approvals-webhook-code", Value: config.Text(&a.Webhook.Code, config.OneOf("on", "off")), Default: "off", ServerOnly: true,
			Usage: "tell it the code too, `on|off`",
		},
	}
}

// agentTable is which model writes programs.
func (s *settings) agentTable() config.Table {
	a := &s.server.Agent
	return config.Table{
		{
			Key: agentKeys + "model", Flag: "agent-model", Value: config.Text(&a.Model, config.Named("the name of a model", nil)), Default: "none", ServerOnly: true,
			Usage: "have the model of this `NAME` write programs for tasks", Meaning: "As its endpoint spells it.",
		},
		{
			Key: agentKeys + "provider", Flag: "agent-provider", Value: config.Text(&a.Provider, config.OneOf(sidecar.ModelProviders()...)), Default: sidecar.ModelProviders()[0], ServerOnly: true,
			Usage: "how the model is spoken to: `FORMAT` openai or anthropic", Meaning: "Most other endpoints, local ones among them, speak as OpenAI's chat completions do.",
		},
		{
			Key: agentKeys + "base_url", Flag: "agent-base-url", Value: config.Text(&a.BaseURL, config.Named("an address", sidecar.CheckModelURL)), Default: "the provider's own", ServerOnly: true,
			Usage:   "the endpoint of the model is at `URL`",
			Meaning: "What stands before /chat/completions or /v1/messages, such as http://127.0.0.1:11434/v1. The key goes there, over plain HTTP to this machine alone.",
		},
		{
			Key: agentKeys + "api_key_env", Flag: "agent-api-key-env", Value: config.Text(&a.KeyVariable, config.Secretive("the name of an environment variable", sidecar.CheckVariable)), Default: "OPENAI_API_KEY or ANTHROPIC_API_KEY", ServerOnly: true,
			Usage:   "the key of the model stands in the environment `VARIABLE`",
			Meaning: sidecar.NoModelKey + " for an endpoint that needs no key; with a base_url the usual variable need not be set. No program gets this variable, whatever the rules say.",
		},
		{
			Key: agentKeys + "attempts", Flag: "agent-attempts", Value: config.Number(&a.Attempts, 0, sidecar.MostAttempts), Default: "3", ServerOnly: true,
			Usage: "let the model mend a program that failed `N` times",
		},
		{
			Key: agentKeys + "timeout", Flag: "agent-timeout", Value: config.Duration(&a.Timeout, time.Second, sidecar.LongestTask), Default: "2m", ServerOnly: true,
			Usage: "give up a task after `TIME`", Meaning: "The model's thinking and all programs together. A call of run_agent may say another time.",
		},
	}
}

// agentKeys begins the keys of agentTable.
const agentKeys = "agent."

// recordsTable is what is kept of operations.
func (s *settings) recordsTable() config.Table {
	r := &s.server.Records
	return config.Table{
		{
			Key: "records.durability", Flag: "records-durability", Value: config.Text(&r.Durability, config.OneOf(sidecar.Durabilities()...)), Default: "process",
			Usage: "what a record survives: `WHAT` process or power", Meaning: "With power each step of an operation waits for the disk, which takes milliseconds.",
		},
		{
			Key: "records.code", Flag: "records-code", Value: config.Text(&r.Code, config.OneOf("on", "off")), Default: "on",
			Usage: "keep code and inputs of operations that have ended, `on|off`", Meaning: "Their digest stays either way.",
		},
		{
			Key: "records.age", Flag: "records-age", Value: config.Duration(&r.Age, 0, sidecar.MostAge), Default: "720h", ServerOnly: true, Reload: true,
			Usage: "remove operations that ended `TIME` ago, 0 for never", Meaning: "Audit events are never removed.",
		},
		{
			Key: "records.count", Flag: "records-count", Value: config.Number(&r.Count, 0, sidecar.MostCount), Default: "100000", ServerOnly: true, Reload: true,
			Usage: "keep at most `N` operations, 0 for any number",
		},
		{
			Key: "records.size", Flag: "records-size", Value: config.Size(&r.Size, 0, sidecar.MostSize), Default: "1 GiB", ServerOnly: true, Reload: true,
			Usage: "keep at most `SIZE` of operations, 0 for any",
		},
	}
}

// logTable is what a server tells on standard error.
func (s *settings) logTable() config.Table {
	return config.Table{
		{
			Key: "log.level", Flag: "log-level", Value: config.Text(&s.log.level, config.OneOf("debug", "info", "warn", "error")), Default: "info",
			Usage: "log nothing below this `LEVEL`", ServerOnly: true, Reload: true,
		},
		{
			Key: "log.format", Flag: "log-format", Value: config.Text(&s.log.format, config.OneOf("json", "text")), Default: "json",
			Usage: "write the log as `FORMAT` json or text", ServerOnly: true,
		},
		{
			Key: "redact.keys", Flag: "redact-key", Value: config.List(&s.server.Redact.Keys, config.Named("a key", nil)), Default: "none", Adds: true,
			Usage: "mask what stands at `KEY` in log lines and audit events", Meaning: "Common names of secrets are masked anyway.",
		},
		{
			Key: "redact.patterns", Flag: "redact-pattern", Value: config.List(&s.server.Redact.Patterns, config.Named("a regular expression", checkPattern)), Default: "none", Adds: true,
			Usage: "mask what matches the regular `EXPRESSION`", Meaning: "In the syntax of RE2. Secrets of well-known forms are masked anyway.",
		},
	}
}

func checkPage(address string) error {
	_, err := mcpserver.CheckPage(address)
	return err
}

func checkPattern(text string) error {
	_, err := logging.NewRedactor(logging.Rules{Patterns: []string{text}})
	return err
}

// mcpExecutor is how the servers that Gearbox takes the place of choose their sandbox.
func mcpExecutor() *config.Foreign {
	words := map[string]string{}
	for backend, names := range map[string][]string{
		sidecar.BackendLinux: {"local", "native", "linux"},
		sidecar.BackendWasm:  {"pyodide", "sandbox", "deno", "wasm"},
		sidecar.BackendOCI:   {"docker", "oci"},
	} {
		for _, n := range names {
			words[n] = backend
		}
	}
	return &config.Foreign{Variable: "MCP_EXECUTOR", Words: words}
}

func levels() []string {
	var out []string
	for _, l := range execution.Levels() {
		out = append(out, string(l))
	}
	return out
}

// rules are rules with where each was written, which answers name.
func rules(to *[]policy.Rule, allow bool) config.Value {
	check := func(text string) error {
		_, err := gear.ParseRule(text, allow)
		var bad *policy.RuleError
		if errors.As(err, &bad) && bad.Hint != "" {
			return errors.New(bad.Message + ": " + bad.Hint)
		}
		return err
	}
	return config.Items(config.Named("a rule", check), func(items []config.Item) {
		*to = nil
		for _, i := range items {
			if r, err := gear.ParseRule(i.Text, allow); err == nil { // it was read before
				*to = append(*to, r.From(i.From.Place()))
			}
		}
	})
}

// loaded is what holds for one command.
type loaded struct {
	settings

	resolved *config.Resolved
}

// load reads every place that says something.
func load(given *config.Given) (*loaded, error) {
	r, err := (&settings{}).table().Load(config.Sources{
		Given: given, Environ: os.Environ(),
		DataDir: func(said string) (string, error) { return sidecar.DataDirectory(sidecar.Options{DataDir: said}) },
	})
	if err != nil {
		return nil, err
	}
	l := fill(r)
	return l, l.checkOverruled()
}

// checkOverruled finds gears that cannot be, where a stronger place names another one: it
// would come as a surprise the day that place says nothing.
func (l *loaded) checkOverruled() error {
	var errs []error
	for _, i := range l.resolved.Overruled("gear") {
		o := l.server
		o.Gear = i.Text
		if err := sidecar.CheckGear(o); err != nil {
			errs = append(errs, i.Wrong(err))
		}
	}
	return errors.Join(errs...)
}

func fill(r *config.Resolved) *loaded {
	l := &loaded{resolved: r}
	r.Fill(l.table())
	l.server.Settings = r.Digest()
	return l
}

// check finds what is wrong with the values together.
func (l *loaded) check() error { return l.resolved.Explain(sidecar.Check(l.server)) }

// settings is load for a command that a person waits for.
func (a *app) settings(given *config.Given) (*loaded, error) {
	l, err := load(given)
	if err != nil {
		return nil, failed(exitUsage, err)
	}
	for _, w := range l.resolved.Warnings {
		a.notef("%s", w)
	}
	return l, nil
}

// forAll are the settings that commands have which run one program.
func forAll(s config.Setting) bool { return !s.ServerOnly }
