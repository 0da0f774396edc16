package audit

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// text is an event as it is written. Names are those of the answers and of the log
// lines. Fields are only ever added, and each is left out when it says nothing.
type text struct {
	Seq        int64             `json:"seq"`
	Time       string            `json:"time"`
	Type       Type              `json:"type"`
	Operation  string            `json:"operation_id,omitempty"`
	Principal  string            `json:"principal,omitempty"`
	Client     string            `json:"client,omitempty"`
	Version    string            `json:"client_version,omitempty"`
	Session    string            `json:"session,omitempty"`
	Instance   string            `json:"instance,omitempty"`
	Gear       string            `json:"gear,omitempty"`
	Code       string            `json:"code_sha256,omitempty"`
	Permission string            `json:"permission,omitempty"`
	Decision   string            `json:"decision,omitempty"`
	Rule       string            `json:"rule,omitempty"`
	Reason     string            `json:"reason,omitempty"`
	Status     string            `json:"status,omitempty"`
	ExitCode   *int              `json:"exit_code,omitempty"`
	Duration   float64           `json:"duration_ms,omitempty"`
	CPU        float64           `json:"cpu_ms,omitempty"`
	MemoryPeak int64             `json:"memory_peak_bytes,omitempty"`
	Details    map[string]string `json:"details,omitempty"`
}

// longestReason bounds the one field whose length a program can drive up: a refusal
// names every permission that it lacks.
const longestReason = 16 << 10

// encode is the canonical text of an event with its number.
func encode(seq int64, e Event) ([]byte, error) {
	t := text{
		Seq: seq, Time: e.Time.UTC().Format(time.RFC3339Nano), Type: e.Type, Operation: string(e.Operation),
		Principal: string(e.Principal), Client: e.Client.Name, Version: e.Client.Version, Session: e.Client.Session,
		Instance: e.Instance, Gear: e.Gear, Permission: e.Permission, Decision: e.Decision, Rule: e.Rule,
		Reason: cut(e.Reason), Status: string(e.Status), Duration: milliseconds(e.Usage.Wall), CPU: milliseconds(e.Usage.CPU),
		MemoryPeak: int64(e.Usage.MemoryPeak), Details: e.Details,
	}
	if !e.Code.IsZero() {
		t.Code = e.Code.String()
	}
	if e.Type == Finished {
		t.ExitCode = &e.ExitCode
	}
	// Bytes that are not UTF-8 become U+FFFD here, so that what is hashed can be read back.
	plain, err := json.Marshal(t)
	if err != nil {
		return nil, fmt.Errorf("encode the event %d: %w", seq, err)
	}
	return canonical(plain)
}

// canonical is the form that is hashed.
func canonical(plain []byte) ([]byte, error) {
	v := jsontext.Value(plain)
	if err := v.Canonicalize(); err != nil {
		return nil, err
	}
	return v, nil
}

func cut(s string) string {
	if len(s) <= longestReason {
		return s
	}
	return strings.ToValidUTF8(s[:longestReason], "") + " …"
}

func milliseconds(d time.Duration) float64 {
	return float64(d.Round(time.Microsecond)) / float64(time.Millisecond)
}

// duration is the inverse of milliseconds; what does not fit is the nearest that does.
func duration(ms float64) time.Duration {
	const most = float64(math.MaxInt64 / int64(time.Millisecond))
	return time.Duration(math.Round(min(max(ms, -most), most)*1e3)) * time.Microsecond
}

// decode reads a text. Fields that this version does not know are left out: they are
// covered by the hash all the same.
func decode(body []byte) (int64, Event, error) {
	var t text
	if err := json.Unmarshal(body, &t); err != nil {
		return 0, Event{}, fmt.Errorf("read an event: %w", err)
	}
	at, err := time.Parse(time.RFC3339Nano, t.Time)
	if err != nil {
		return t.Seq, Event{}, fmt.Errorf("read the event %d: %w", t.Seq, err)
	}
	e := Event{
		Time: at.UTC(), Type: t.Type, Operation: execution.ID(t.Operation), Principal: execution.Principal(t.Principal),
		Client: execution.Client{Name: t.Client, Version: t.Version, Session: t.Session}, Instance: t.Instance, Gear: t.Gear,
		Permission: t.Permission, Decision: t.Decision, Rule: t.Rule, Reason: t.Reason, Status: execution.Status(t.Status),
		Usage:   execution.Usage{Wall: duration(t.Duration), CPU: duration(t.CPU), MemoryPeak: execution.Bytes(t.MemoryPeak)},
		Details: t.Details,
	}
	if t.ExitCode != nil {
		e.ExitCode = *t.ExitCode
	}
	if t.Code != "" {
		digest, err := hex.DecodeString(strings.TrimPrefix(t.Code, "sha256:"))
		if err != nil || len(digest) != len(e.Code) {
			return t.Seq, Event{}, fmt.Errorf("read the event %d: code_sha256 %q is no SHA-256", t.Seq, t.Code)
		}
		e.Code = execution.Digest(digest)
	}
	return t.Seq, e, nil
}
