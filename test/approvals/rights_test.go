//go:build linux

package approvals

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/token"
)

// holder makes a token.
func holder(t testing.TB, dir, name string, r token.Rights) (secret string) {
	t.Helper()
	secret, _, err := token.NewRegister(token.OpenFile(dir), time.Now).Create(name, r, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// narrow changes a token as an operator would who edits the file.
func narrow(t *testing.T, dir, name string, change func(*token.Token)) {
	t.Helper()
	err := token.OpenFile(dir).Update(func(all []token.Token) ([]token.Token, error) {
		all = slices.Clone(all)
		for i := range all {
			if all[i].Name == name {
				change(&all[i])
			}
		}
		return all, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestWhatAPrincipalMayNoLongerDoIsNotRunAfterAYes(t *testing.T) {
	dir := dataDir(t)
	cases := []struct {
		name   string
		rights token.Rights
		change func(*token.Token)
		want   string // in the reason; empty when it runs
	}{
		{"kept", token.Rights{}, func(*token.Token) {}, ""},
		{"revoked", token.Rights{}, func(k *token.Token) { k.Revoked = time.Now() }, "no longer valid"},
		{"expired", token.Rights{}, func(k *token.Token) { k.Expires = time.Now().Add(-time.Second) }, "no longer valid"},
		{"ceiling", token.Rights{}, func(k *token.Token) { k.Gear = "restricted" }, "run(mount)"},
		{"off", token.Rights{}, func(k *token.Token) { k.Gear = "read_only" }, "does not run"},
		{"language", token.Rights{}, func(k *token.Token) { k.Languages = []execution.Language{execution.Bash} }, "does not run python"},
		{
			"languages",
			token.Rights{Languages: []execution.Language{execution.Python, execution.Bash}},
			func(k *token.Token) { k.Languages = []execution.Language{execution.Bash} }, "does not run python",
		},
	}
	secrets := map[string]string{}
	for _, c := range cases {
		secrets[c.name] = holder(t, dir, c.name, c.rights)
	}
	first := serve(t, dir, options{http: true, token: secrets["kept"]})
	ids := map[string]string{}
	for _, c := range cases {
		first.client = newWeb(first.address, secrets[c.name])
		if err := greet(t.Context(), first.client); err != nil {
			t.Fatal(err)
		}
		ids[c.name] = first.ask(call{Code: asking}).Operation
	}
	// Another principal's question is none of mine.
	for tool, q := range map[string]query{"get_operation": {Operation: ids["kept"]}, "cancel_operation": {Operation: ids["kept"]}} {
		if b := first.use(tool, q); b.Status != "rejected" || b.Error == nil || b.Error.Code != "NOT_FOUND" {
			t.Errorf("%s: %s", tool, b.raw)
		}
	}
	first.kill()
	d := openDesk(t, dir)
	for _, c := range cases {
		narrow(t, dir, c.name, c.change)
		d.approve(ids[c.name])
	}
	serve(t, dir, options{http: true, token: secrets["kept"]})
	for _, c := range cases {
		eventually(t, c.name, func() string {
			if s := d.state(ids[c.name]); s != execution.StateFinished {
				return string(s)
			}
			return ""
		})
		r, err := d.Find(t.Context(), execution.ID(ids[c.name]))
		if err != nil {
			t.Fatal(err)
		}
		if c.want == "" {
			if r.Result.Status != execution.StatusOK {
				t.Errorf("%s: %+v", c.name, r.Result)
			}
			d.started(ids[c.name], 1)
			continue
		}
		if r.Result.Status != execution.StatusDenied || r.Result.Error == nil || !strings.Contains(r.Result.Error.Message, c.want) {
			t.Errorf("%s: %+v", c.name, r.Result)
		}
		d.started(ids[c.name], 0)
	}
	verify(t, dir)
}
