package web

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/gearbox-mcp/gearbox/internal/approval"
	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// failure is the body of an answer that is no success.
type failure struct {
	Error struct {
		Code    string `json:"code"`
		Message string `json:"message"`
		Field   string `json:"field,omitempty"`
		// Cause is why a decision does not count, one of [approval.Cause].
		Cause approval.Cause `json:"cause,omitempty"`
	} `json:"error"`
}

// The codes of failures that are no execution's.
const (
	codeForbidden       = "FORBIDDEN"
	codeUnauthenticated = "UNAUTHENTICATED"
	codeTooLarge        = "TOO_LARGE"
	codeConflict        = "CONFLICT"
)

func fail[C ~string](w http.ResponseWriter, status int, code C, message string) {
	var f failure
	f.Error.Code, f.Error.Message = string(code), message
	reply(w, status, f)
}

// refuse answers a request of which nothing is wanted, without waiting for its body. An
// agent's client is told in its own protocol: some show nothing else to their users.
func refuse[C ~string](w http.ResponseWriter, r *http.Request, status int, code C, message string) {
	if r.ContentLength != 0 {
		w.Header().Set("Connection", "close")
	}
	if r.URL.Path != pathMCP {
		fail(w, status, code, message)
		return
	}
	m := protocolError{Version: "2.0"}
	m.Error.Code, m.Error.Message, m.Error.Data.Code = invalidRequest, message, string(code)
	if status >= http.StatusInternalServerError {
		m.Error.Code = internalError
	}
	reply(w, status, m)
}

// The codes of JSON-RPC.
const (
	invalidRequest = -32600
	internalError  = -32603
)

// protocolError is a failure in the form of JSON-RPC. The request was not read, so that
// its id is not known.
type protocolError struct {
	Version string `json:"jsonrpc"`
	ID      *int   `json:"id"` // null
	Error   struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    struct {
			Code string `json:"code"`
		} `json:"data"`
	} `json:"error"`
}

func reply(w http.ResponseWriter, status int, v any) {
	text, err := json.Marshal(v)
	if err != nil { // a value of a program that is no JSON
		status, text = http.StatusInternalServerError, []byte(`{"error":{"code":"INTERNAL","message":"the answer cannot be written as JSON"}}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)+1))
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // whoever asked may be gone
}

// statuses are what a rejected call is in HTTP.
var statuses = map[execution.Code]int{
	execution.CodeInvalidArgument: http.StatusBadRequest,
	execution.CodeNotFound:        http.StatusNotFound,
	execution.CodeUnavailable:     http.StatusServiceUnavailable,
}

// rejected answers an error, of which only what the caller can mend is told.
func rejected(w http.ResponseWriter, err error) (ours bool) {
	var r *execution.RejectedError
	if !errors.As(err, &r) || statuses[r.Code] == 0 {
		fail(w, http.StatusInternalServerError, execution.CodeInternal, "Gearbox failed to do this; its log has the reason.")
		return true
	}
	if r.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(r.RetryAfter.Seconds()+0.999)))
	}
	var f failure
	f.Error.Code, f.Error.Message, f.Error.Field = string(r.Code), r.Message, r.Field
	reply(w, statuses[r.Code], f)
	return false
}
