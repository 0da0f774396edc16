package web

import (
	"crypto/sha256"
	"net/http"
	"strconv"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/visible"
)

// content answers with all of something that the program of a question finds: byte for
// byte, or, where the query says visible, as a person is to be shown it. What is meant is
// named by its hash, as the question tells it: names may hold anything, and bytes under
// another hash are not what was asked about.
func (a *approvals) content(w http.ResponseWriter, r *http.Request) error {
	var sum execution.Digest
	if err := sum.UnmarshalText([]byte(r.PathValue("sha256"))); err != nil {
		return malformed("sha256", err.Error())
	}
	toShow, err := flagged(r, "visible")
	if err != nil {
		return err
	}
	rec, err := a.asked.Find(r.Context(), execution.ID(r.PathValue("id")))
	if err != nil {
		return err
	}
	data, found := contentOf(rec.Request, sum)
	if !found {
		return &execution.RejectedError{Code: execution.CodeNotFound, Field: "sha256", Message: "nothing with this hash came with the call: the question has those of stdin, variables and files"}
	}
	kind := "application/octet-stream"
	if toShow {
		kind, data = "text/plain; charset=utf-8", []byte(visible.Text(string(data)))
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Disposition", "attachment") // and no page of this server, whatever stands in it
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	_, _ = w.Write(data) // whoever asked may be gone
	return nil
}

// contentOf is what of a call has this hash.
func contentOf(q execution.Request, sum execution.Digest) ([]byte, bool) {
	if len(q.Stdin) > 0 && sha256.Sum256(q.Stdin) == sum {
		return q.Stdin, true
	}
	for _, value := range q.Variables {
		if sha256.Sum256(value) == sum {
			return value, true
		}
	}
	for _, f := range q.Files {
		if sha256.Sum256(f.Data) == sum {
			return f.Data, true
		}
	}
	return nil, false
}
