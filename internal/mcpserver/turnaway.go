package mcpserver

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// refusedRequest is an error of JSON-RPC in answer to a request that was not read, so
// that its id is not known.
type refusedRequest struct {
	Version string       `json:"jsonrpc"`
	ID      *int         `json:"id"` // null
	Error   refusedError `json:"error"`
}

type refusedError struct {
	Code    int           `json:"code"`
	Message string        `json:"message"`
	Data    refusedDetail `json:"data"`
}

type refusedDetail struct {
	Code       execution.Code `json:"code"`
	RetryAfter float64        `json:"retry_after_seconds,omitempty"`
}

// turnAway answers a request of which nothing is wanted, in the protocol of the client:
// some show nothing else to their users. retry is when it may come again, 0 for never.
func turnAway(w http.ResponseWriter, status int, code execution.Code, message string, retry time.Duration) {
	q := refusedRequest{Version: "2.0", Error: refusedError{
		Code: jsonrpc.CodeInvalidRequest, Message: message, Data: refusedDetail{code, retry.Seconds()},
	}}
	if status >= http.StatusInternalServerError {
		q.Error.Code = jsonrpc.CodeInternalError
	}
	if retry > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(retry.Seconds()+0.999)))
	}
	text, _ := json.Marshal(q) // of texts and numbers, which always are JSON
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // whoever asked may be gone
}
