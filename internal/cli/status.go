package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/gearbox-mcp/gearbox/internal/pool"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
	"github.com/gearbox-mcp/gearbox/internal/visible"
)

const statusHelp = `Ask every Gearbox that runs with this data directory how it stands: how busy it
is, how many sandboxes stand ready, how long runs waited for theirs, and why
sandboxes ended.

Each process listens on a socket in the data directory, and answers its own user
and root alone. The exit code is 0 if all that run have answered, also if none
runs, and 1 if one did not.`

func (a *app) statusCommand() *cobra.Command {
	var o sidecar.Options
	var asJSON bool
	c := &cobra.Command{
		Use: "status", Short: "Show what the running servers of a data directory do", Long: statusHelp, Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error { return a.status(c.Context(), o, asJSON) },
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	addDataDir(c, &o)
	return c
}

// statusReport is the form of --json.
type statusReport struct {
	DataDir   string           `json:"data_dir"`
	Instances []sidecar.Report `json:"instances"`
}

func (a *app) status(ctx context.Context, o sidecar.Options, asJSON bool) error {
	dir, reports, err := sidecar.Instances(ctx, o)
	if err != nil {
		return failed(exitFailed, err)
	}
	if asJSON {
		e := json.NewEncoder(a.Out)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		err = e.Encode(statusReport{dir, reports})
	} else {
		err = a.printStatus(dir, reports)
	}
	if err != nil {
		return failed(exitFailed, err)
	}
	if slices.ContainsFunc(reports, silentOne) {
		return exit(exitFailed)
	}
	return nil
}

func silentOne(r sidecar.Report) bool { return r.Status == nil }

func (a *app) printStatus(dir string, reports []sidecar.Report) error {
	if len(reports) == 0 {
		a.printf("No Gearbox runs with the data directory %s.\n", dir)
		return nil
	}
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	line := func(cells ...string) { _, _ = fmt.Fprintln(w, row(cells)) }
	line("PID", "UP", "TRANSPORT", "GEAR", "ISOLATION", "RUNNING", "WAITING", "PARKED", "VERSION")
	for _, r := range reports {
		line(overview(r)...)
	}
	for _, r := range reports {
		if r.Status == nil {
			continue
		}
		if len(r.Status.Servers) > 0 {
			line()
			line(fmt.Sprintf("Process %s, other MCP servers", process(r)))
		}
		for _, one := range r.Status.Servers {
			_, _ = fmt.Fprintln(w, "  "+row([]string{one.Name, fmt.Sprintf("%s, %d tools", serverState(one), one.Tools)}))
		}
		for _, p := range r.Status.Pools {
			line()
			line(fmt.Sprintf("Process %s, sandboxes of backend %s", process(r), p.Backend))
			for _, pair := range poolRows(p.Stats) {
				_, _ = fmt.Fprintln(w, "  "+row(pair[:])) // the margin is ours
			}
		}
	}
	return w.Flush()
}

func overview(r sidecar.Report) []string {
	s := r.Status
	if s == nil {
		return []string{process(r), "does not answer: " + r.Problem}
	}
	running, parked := strconv.Itoa(s.Load.Running), 0
	for i, p := range s.Pools {
		parked += p.Parked
		if i == 0 { // they share their turns
			running += fmt.Sprintf(" of %d", p.Most)
		}
	}
	return []string{
		process(r), uptime(s.Uptime), string(s.Transport), s.Gear, string(cmp.Or(s.Isolation, "-")),
		running, strconv.Itoa(s.Load.Waiting), strconv.Itoa(parked), s.Version,
	}
}

// row is a line of a table. It shows what another process says of itself, or a program has
// printed, without a terminal's obeying it: whoever owns the data directory may be less than
// who asks.
func row(cells []string) string {
	for i, c := range cells {
		cells[i] = visible.Line(c)
	}
	return strings.Join(cells, "\t")
}

// process names an instance by its process where it is known.
func process(r sidecar.Report) string {
	if r.PID == 0 {
		return string(r.Instance)
	}
	return strconv.Itoa(r.PID)
}

// poolRows say how a pool stands and what it did since it began.
func poolRows(s pool.Stats) [][2]string {
	rows := [][2]string{
		{"now", fmt.Sprintf("%d at work, %d parked of at most %d%s", s.Live, s.Parked, s.MaxParked, pressed(s))},
		{"handed out", fmt.Sprintf("%d that were parked, %d made on demand", s.FromParked, s.OnDemand)},
		{"waited for", waits(s.Wait)},
		{"refilled", fmt.Sprintf("%d, of them %d warmed up; %d let go unused, %d died", s.Refills, s.Warmed, s.LetGo, s.Died)},
		{"fork servers", fmt.Sprintf("%d open; %d opened, %d recycled, %d lost", s.Sources, s.Opened, s.Recycled, s.Lost)},
		{"ended", ended(s.Ended)},
	}
	for i, t := range s.Templates {
		head := ""
		if i == 0 {
			head = "templates"
		}
		rows = append(rows, [2]string{head, template(t) + apart(t, s.Templates)})
	}
	return rows
}

func pressed(s pool.Stats) string {
	if s.Pressed {
		return "; memory is short, so that none is parked"
	}
	return ""
}

func template(t pool.TemplateStats) string {
	text := fmt.Sprintf("%s, level %s: %d at work, %d parked (%d warm) of %d wanted, %d made", t.Language, cmp.Or(t.Level, "-"), t.Live, t.Parked, t.Warm, t.Target, t.Made)
	if t.Preload != "" {
		text += ", with " + t.Preload
	}
	return text
}

// apart is what tells a template from others that look like it: those of an interpreter
// that was replaced, or of another gear.
func apart(t pool.TemplateStats, all []pool.TemplateStats) string {
	var class, interpreter, programs bool
	for _, o := range all {
		if o.Language == t.Language && o.Preload == t.Preload {
			class, interpreter, programs = class || o.Class != t.Class, interpreter || o.Interpreter != t.Interpreter, programs || o.Programs != t.Programs
		}
	}
	text := ""
	if class {
		text += fmt.Sprintf(", for %s callers", t.Class)
	}
	if interpreter {
		text += ", interpreter " + abbreviated(t.Interpreter)
	}
	if programs {
		text += ", programs " + cmp.Or(t.Programs, "none")
	}
	return text
}

// abbreviated is the beginning of a digest, enough to tell a few.
func abbreviated(digest string) string {
	const enough = 8
	_, hex, _ := strings.Cut(digest, ":")
	return hex[:min(enough, len(hex))]
}

// ended counts by reason, the most frequent first.
func ended(counts map[string]uint64) string {
	reasons := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	var parts []string
	for _, r := range reasons {
		if counts[r] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[r], r))
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "none")
}

// waits sums up a histogram: what half and nearly all of the callers waited at most.
func waits(d pool.Durations) string {
	if d.Count == 0 {
		return "-"
	}
	return fmt.Sprintf("half %s, 99 %% %s, longest %s, mean %s", atMost(d, 0.5), atMost(d, 0.99), seconds(d.Max), seconds(d.Sum/float64(d.Count)))
}

// atMost is the bound below which a share of the times lies.
func atMost(d pool.Durations, share float64) string {
	for _, b := range d.Buckets {
		if float64(b.Count) >= share*float64(d.Count) && b.UpTo < d.Max {
			return "at most " + seconds(b.UpTo)
		}
	}
	return "at most " + seconds(d.Max)
}

// seconds writes a short time.
func seconds(s float64) string {
	if s < 1 {
		return fmt.Sprintf("%.2f ms", s*1e3)
	}
	return fmt.Sprintf("%.2f s", s)
}

// uptime writes a long time with its two largest units.
func uptime(s float64) string {
	d := time.Duration(s * float64(time.Second))
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd%02dh", int(d.Hours())/24, int(d.Hours())%24)
}
