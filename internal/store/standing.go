package store

import (
	"context"
	"fmt"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

const standingOf = `SELECT o.state, o.created, o.finished, a.question, a.answer
	FROM operations o LEFT JOIN approvals a ON a.n = o.n WHERE o.id = ? AND o.principal = ?`

// Standing tells where an operation stands and since when, without its request and its
// result. Errors are those of Load.
func (s *SQLite) Standing(ctx context.Context, p execution.Principal, id execution.ID) (st execution.Standing, err error) {
	var created, finished int64
	var question, answer []byte
	err = s.reads.QueryRowContext(detached(ctx), standingOf, string(id), string(p)).Scan(&st.State, &created, &finished, &question, &answer)
	if err != nil {
		return execution.Standing{}, s.missing(err)
	}
	q, err := readApproval(question, answer)
	if err != nil {
		return execution.Standing{}, fmt.Errorf("read what a human was asked about %s: %w", id, err)
	}
	st.Created, st.Changed = moment(created), moment(created)
	switch {
	case finished != 0:
		st.Changed = moment(finished)
	case q != nil && q.Answer != nil:
		st.Changed = q.Answer.At
	case q != nil:
		st.Changed = q.Created
	}
	return st, nil
}
