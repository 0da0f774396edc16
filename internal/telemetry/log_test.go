package telemetry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/logging"
	"github.com/gearbox-mcp/gearbox/internal/store/storetest"
	"github.com/gearbox-mcp/gearbox/internal/telemetry"
)

func redactor(t testing.TB) *logging.Redactor {
	t.Helper()
	r, err := logging.NewRedactor(logging.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestALogThatDoesNotTellAllHasOneLineForEachOperation(t *testing.T) {
	var out bytes.Buffer
	journal := telemetry.Log(nothing{}, slog.New(slog.NewJSONHandler(&out, nil)))
	for _, kind := range audit.Types() {
		if err := journal.Record(t.Context(), audit.Event{Type: kind, Operation: "op_1"}); err != nil {
			t.Fatal(err)
		}
	}
	for kind, want := range map[audit.Type]int{audit.Requested: 0, audit.Decided: 0, audit.Started: 0, audit.Finished: 1, audit.Refused: 1, audit.Approval: 1, audit.Login: 1, audit.Config: 1} {
		if got := strings.Count(out.String(), `"msg":"`+string(kind)+`"`); got != want {
			t.Errorf("%d lines say %s", got, kind)
		}
	}
}

func TestEachEventIsOneLineWithItsIDsAndWithoutSecrets(t *testing.T) {
	var out bytes.Buffer
	journal := telemetry.Log(nothing{}, slog.New(redactor(t).Handler(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))))
	events := []audit.Event{
		{Type: audit.Requested, Operation: "op_1", Principal: "local", Client: execution.Client{Name: "agent", Version: "ghp_a1B2c3D4e5F6g7H8i9J0"}, Gear: "restricted", Code: execution.DigestOf([]byte("x"))},
		{Type: audit.Decided, Operation: "op_1", Principal: "local", Permission: "net(api.github.com:443)", Decision: "deny", Rule: "default", Reason: "password=hunter2"},
		{Type: audit.Finished, Operation: "op_1", Principal: "local", Status: execution.StatusOK, Usage: execution.Usage{Wall: 1500 * time.Microsecond, CPU: time.Millisecond, MemoryPeak: 4096}},
	}
	if err := journal.Record(t.Context(), events...); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != len(events) {
		t.Fatalf("%d lines for %d events: %s", len(lines), len(events), out.String())
	}
	for i, text := range lines {
		var line map[string]any
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatal(err)
		}
		if line["msg"] != string(events[i].Type) || line[logging.KeyOperation] != "op_1" || line[logging.KeyPrincipal] != "local" {
			t.Errorf("%s", text)
		}
	}
	for _, secret := range []string{"hunter2", "ghp_a1"} {
		if strings.Contains(out.String(), secret) {
			t.Errorf("%s is in the log: %s", secret, out.String())
		}
	}
	if want := `"status":"ok","exit_code":0,"duration_ms":1.5,"cpu_ms":1,"memory_peak_bytes":4096`; !strings.Contains(lines[2], want) {
		t.Errorf("%s\nlacks %s", lines[2], want)
	}
}

func TestEventsAreKeptWithoutSecretsAndTheCallersStayAsTheyAre(t *testing.T) {
	var kept []audit.Event
	j := telemetry.Redacted(storetest.NewMemory(func(_ context.Context, events ...audit.Event) error {
		kept = append(kept, events...)
		return nil
	}), redactor(t))
	at := time.Now()
	given := audit.Event{
		Time: at, Type: audit.Decided, Operation: "op_1", Principal: "token:ci", Client: execution.Client{Name: "a token=abc", Session: "s"},
		Gear: "restricted", Permission: "read(/x?api_key=abc)", Decision: "deny", Rule: "read(/x)", Reason: "Bearer a1B2c3D4e5F6", Status: execution.StatusDenied,
	}
	events := []audit.Event{given}
	if err := j.Record(t.Context(), events...); err != nil {
		t.Fatal(err)
	}
	create := execution.Change{Create: &execution.Record{}}
	if err := j.Commit(t.Context(), "op_1", "", execution.StateSubmitted, create, events...); err != nil {
		t.Fatal(err)
	}
	want := given
	want.Client.Name, want.Permission, want.Reason = "a token=[redacted]", "read(/x?api_key=[redacted]", "Bearer [redacted]"
	if !reflect.DeepEqual(kept, []audit.Event{want, want}) {
		t.Errorf("kept %+v\nnot  %+v", kept, want)
	}
	if !reflect.DeepEqual(events[0], given) {
		t.Errorf("the caller's event was changed: %+v", events[0])
	}
}

func BenchmarkRedactedEvents(b *testing.B) {
	j := telemetry.Redacted(nothing{}, redactor(b))
	e := audit.Event{Type: audit.Decided, Operation: "op_1", Principal: "local", Client: execution.Client{Name: "claude-code", Version: "1.2.3"}, Gear: "restricted", Permission: "import(json)", Decision: "allow", Rule: "import(json)", Reason: "the gear restricted allows it"}
	b.ReportAllocs()
	for b.Loop() {
		_ = j.Record(b.Context(), e)
	}
}
