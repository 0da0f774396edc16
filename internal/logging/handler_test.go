package logging_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/slogtest"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/logging"
)

// secret stands for whatever must not be in a log.
const secret = "ghp_" + twenty

// logged is the one line that a call writes.
func logged(t *testing.T, r logging.Rules, log func(*slog.Logger)) (string, map[string]any) {
	t.Helper()
	var out bytes.Buffer
	log(slog.New(redactor(t, r).Handler(slog.NewJSONHandler(&out, nil))))
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatalf("%q: %v", out.String(), err)
	}
	return out.String(), line
}

// deep is a value that only JSON can look through.
type deep struct {
	Name  string            `json:"name"`
	Auth  map[string]string `json:"auth"`
	Count int64             `json:"count"`
	List  []any             `json:"list"`
}

type late struct{}

func (late) LogValue() slog.Value { return slog.GroupValue(slog.String("inner", secret)) }

type broken struct{}

func (*broken) Error() string { panic("no message") }

func TestNoKindOfAttributeCarriesASecretIntoTheLog(t *testing.T) {
	for name, a := range map[string]slog.Attr{
		"string":       slog.String("reason", "given "+secret),
		"error":        slog.Any("error", fmt.Errorf("call %s: %w", secret, errors.New("refused"))),
		"named string": slog.Any("operation_id", execution.ID(secret)),
		"group":        slog.Group("g", slog.Group("h", slog.String("x", secret))),
		"late":         slog.Any("late", late{}),
		"struct":       slog.Any("deep", deep{Name: secret, Auth: map[string]string{"password": "hunter2"}, List: []any{secret, 1}}),
		"map key":      slog.Any("m", map[string]int{secret: 1}),
		"raw JSON":     slog.Any("raw", json.RawMessage(`{"a":["`+secret+`"],"api_key":12345}`)),
		"stringer":     slog.Any("s", time.FixedZone(secret, 0)),
		"bytes":        slog.Any("password", []byte("hunter2")),
		"number":       slog.Int("access_token", 12345),
		"no JSON":      slog.Any("f", func() { _ = secret }),
	} {
		for form, log := range map[string]func(*slog.Logger){
			"attribute": func(l *slog.Logger) { l.LogAttrs(t.Context(), slog.LevelInfo, "m", a) },
			"with":      func(l *slog.Logger) { l.With(a).Info("m") },
			"in group":  func(l *slog.Logger) { l.WithGroup("outer").LogAttrs(t.Context(), slog.LevelInfo, "m", a) },
		} {
			text, _ := logged(t, logging.Rules{}, log)
			for _, s := range []string{secret, "hunter2", "12345"} {
				if strings.Contains(text, s) {
					t.Errorf("%s as %s: %s", name, form, text)
				}
			}
		}
	}
}

func TestWhatIsNoSecretKeepsItsForm(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	_, line := logged(t, logging.Rules{}, func(l *slog.Logger) {
		l.Info("tool call "+secret, "n", 1<<60, "f", 1.5, "b", true, "t", now, "d", time.Second, "deep", deep{Name: "x", Count: 1<<53 + 1}, "nil", nil, "e", (*broken)(nil))
	})
	if line["msg"] != "tool call [redacted]" || line["f"] != 1.5 || line["b"] != true || line["t"] != "2026-01-02T03:04:05.000000006Z" || line["nil"] != nil {
		t.Errorf("%v", line)
	}
	if e, _ := line["e"].(string); !strings.Contains(e, "no message") {
		t.Errorf("an error that panics: %v", line["e"])
	}
	text, _ := logged(t, logging.Rules{}, func(l *slog.Logger) { l.Info("m", "deep", deep{Count: 1<<53 + 1}) })
	if !strings.Contains(text, `"count":9007199254740993`) {
		t.Errorf("a large number lost digits: %s", text)
	}
}

func TestTheHandlerKeepsTheContractOfSlog(t *testing.T) {
	var out bytes.Buffer
	h := redactor(t, logging.Rules{}).Handler(slog.NewJSONHandler(&out, nil))
	err := slogtest.TestHandler(h, func() []map[string]any {
		var lines []map[string]any
		for _, text := range bytes.Split(bytes.TrimSpace(out.Bytes()), []byte("\n")) {
			var line map[string]any
			if err := json.Unmarshal(text, &line); err != nil {
				t.Fatal(err)
			}
			lines = append(lines, line)
		}
		return lines
	})
	if err != nil {
		t.Error(err)
	}
}

func TestTheLevelIsAskedOfTheHandlerBelow(t *testing.T) {
	h := redactor(t, logging.Rules{}).Handler(slog.NewJSONHandler(&bytes.Buffer{}, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if h.Enabled(context.Background(), slog.LevelInfo) || !h.Enabled(context.Background(), slog.LevelError) {
		t.Error("the level of the handler below does not hold")
	}
}

func BenchmarkLine(b *testing.B) {
	for name, h := range map[string]slog.Handler{
		"plain": slog.NewJSONHandler(&nowhere{}, nil), "redacted": redactor(b, logging.Rules{}).Handler(slog.NewJSONHandler(&nowhere{}, nil)),
	} {
		b.Run(name, func(b *testing.B) {
			l := slog.New(h)
			b.ReportAllocs()
			for b.Loop() {
				l.LogAttrs(b.Context(), slog.LevelInfo, "decided",
					slog.String("operation_id", "op_abcdefghijklmnopqrstuvwxyz234567"), slog.String("principal", "local"),
					slog.String("client", "claude-code 1.2.3"), slog.String("gear", "user_confirmed"),
					slog.String("permission", "net(api.github.com:443)"), slog.String("decision", "deny"), slog.String("rule", "default"),
					slog.String("reason", "the gear restricted denies what no rule allows"))
			}
		})
	}
}

type nowhere struct{}

func (nowhere) Write(b []byte) (int, error) { return len(b), nil }
