package authz

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/analysis"
	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// questionVersion changes whenever equal questions would mean something else.
const questionVersion = "gearbox approval 2"

// question puts all that needs a yes into one, since a run that was allowed a part of it
// would only fail later.
func question(a Action, asked []Verdict, now time.Time, patience time.Duration) execution.Approval {
	q := execution.Approval{Created: now.UTC(), Expires: now.Add(patience).UTC(), Rules: a.Gear.Digest()}
	if was := a.Approval; was != nil {
		q.Again = again(a)
		if was.Expires.Before(q.Expires) { // whoever waits was told how long
			q.Expires = was.Expires
		}
	}
	lines := strings.Split(a.Source, "\n") // once: there may be very many of both
	for _, v := range asked {
		p := v.Decision.Permission
		one := execution.Asked{
			Kind: string(p.Kind), Target: p.Target, Line: p.Line, Column: p.Column, Reason: v.Decision.Reason, Allow: v.Allow,
		}
		if 0 < p.Line && p.Line <= len(lines) {
			one.Source = analysis.Visible(lines[p.Line-1])
		}
		q.Asked = append(q.Asked, one)
	}
	q.Summary = summary(a.Moment, q.Asked)
	q.Hash = questionHash(a, &q)
	return q
}

// again says why there is another question about an operation.
func again(a Action) string {
	if a.Approval.Rules != a.Gear.Digest() {
		return execution.AgainRules
	}
	return execution.AgainOther
}

// approves reports whether a human said yes to exactly what is asked now, and what the
// question says was asked is just that: the sandbox is made for what stands in it.
func approves(a Action, asked []Verdict, now time.Time) bool {
	q := a.Approval
	if q == nil || len(q.Asked) != len(asked) {
		return false
	}
	for i, v := range asked {
		p, was := v.Decision.Permission, q.Asked[i]
		if was.Kind != string(p.Kind) || was.Target != p.Target || was.Line != p.Line || was.Column != p.Column {
			return false
		}
	}
	return q.Permits(questionHash(a, q), now)
}

// summary names what is asked for, each once.
func summary(m Moment, asked []execution.Asked) string {
	if m == ToolCall && len(asked) == 1 {
		return "The call of " + asked[0].Target + " needs a human's yes."
	}
	var names []string
	seen := map[string]bool{}
	for _, one := range asked {
		if name := one.String(); !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	const most = 5
	if left := len(names) - most; left > 0 {
		names = append(names[:most], fmt.Sprintf("and %d more", left))
	}
	return "This program needs a human's yes to " + strings.Join(names, ", ") + "."
}

// questionHash covers exactly what would happen, what is asked, when, and until when: the
// subject is that of operation, principal, source, inputs, gear, limits and interpreter.
// By the time no question that is put anew has the hash of an earlier one.
func questionHash(a Action, q *execution.Approval) execution.Digest {
	parts := [][]byte{
		[]byte(questionVersion), []byte(a.Operation), []byte(a.Principal), []byte(a.Moment), a.Code[:], a.Subject[:],
		[]byte(strconv.FormatInt(q.Created.UnixNano(), 10)), []byte(strconv.FormatInt(q.Expires.UnixNano(), 10)),
	}
	for _, one := range q.Asked {
		parts = append(parts, []byte(one.Kind), []byte(one.Target), fmt.Appendf(nil, "%d %d", one.Line, one.Column))
	}
	return execution.DigestOf(parts...)
}
