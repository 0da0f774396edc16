package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// askFor is how long a client may take to say whether its user opens the page, unless the
// call waits for longer anyway: hosts give up on calls that take a minute.
const askFor = execution.DefaultWait

// pageKey names in the query of the page which operation it is to show.
const pageKey = "operation_id"

// inputKey names the one thing that a client is ever asked for.
const inputKey = "approval"

// canOpenPages reports whether there is a page, and the client shows pages to its user.
func (s *service) canOpenPages(req *mcp.CallToolRequest) bool {
	c := req.ClientCapabilities()
	return s.page != nil && c != nil && c.Elicitation != nil && c.Elicitation.URL != nil
}

// elicitation asks the client to show its user the page. There is no credential in it,
// and whatever the client answers decides nothing: it may be a program that answers.
func (s *service) elicitation(res execution.Result) *mcp.ElicitParams {
	page := *s.page
	query := page.Query()
	query.Set(pageKey, string(res.OperationID))
	page.RawQuery = query.Encode()
	return &mcp.ElicitParams{Mode: "url", URL: page.String(), Message: "The agent asks to run code that needs your approval. " + s.visible(res.Summary)}
}

// asksInResult reports whether the client is asked in the result of its call, which it
// then repeats, and not by a request of its own.
func asksInResult(req *mcp.CallToolRequest) bool { return req.ProtocolVersion() >= sessionless }

// show has a client of the versions with sessions show the page, and waits until it has
// answered or it is decided, at most so long. Whether it answers, what, and whether it
// could be asked at all is of no account: the question stands in any case.
func (s *service) show(ctx context.Context, req *mcp.CallToolRequest, res execution.Result, most time.Duration, alive *liveness) (execution.Result, error) {
	until := time.Now().Add(most)
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	open, shown := context.WithCancel(ctx)
	params := s.elicitation(res)
	params.ElicitationID = string(res.OperationID)
	if n := s.offers.times(res.OperationID); n > 1 {
		params.ElicitationID += "/" + strconv.Itoa(n)
	}
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		defer shown()
		_, _ = req.Session.Elicit(ctx, params)
	}()
	res, err := s.hold(open, res, until, alive, true)
	cancel() // takes the request back, if there is no answer yet
	<-answered
	return res, err
}

// stateOf is what a client carries from the call that was answered with a question to the
// one that repeats it. It is no secret and proves nothing: it names an operation of the
// caller, and all that the call asked for, so that it is not taken for the answer to another.
func stateOf(r execution.Request, id execution.ID) string {
	parts := [][]byte{[]byte(r.Language), []byte(r.Code), []byte(r.Gear), []byte(r.Timeout.String()), r.Stdin, []byte(strconv.Itoa(len(r.Variables)))}
	for _, name := range slices.Sorted(maps.Keys(r.Variables)) {
		parts = append(parts, []byte(name), sameForm(r.Variables[name]))
	}
	for _, f := range r.Files {
		parts = append(parts, []byte(f.Path), f.Data)
	}
	return string(id) + " " + execution.DigestOf(parts...).String()
}

// sameForm is a value as it stands however its client writes JSON: that may have read the
// call and written it anew. Numbers stay as they are, since programs tell them apart.
func sameForm(value json.RawMessage) []byte {
	same := jsontext.Value(value).Clone()
	if same.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false)) != nil {
		return value // the same bytes are the same value in any case
	}
	return same
}

// carried is the operation that a repeated call is about; empty for a call of its own.
func carried(state string, r execution.Request) (execution.ID, error) {
	if state == "" {
		return "", nil
	}
	id, _, _ := strings.Cut(state, " ")
	if state != stateOf(r, execution.ID(id)) {
		return "", refuse("", "the request state belongs to another call: repeat that call as it was, or leave the state out")
	}
	return execution.ID(id), nil
}

// CheckPage says what is wrong with the address of an approval page.
func CheckPage(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%q is no URL", address)
	case u.Scheme != "https" && u.Scheme != "http" || u.Host == "":
		return nil, fmt.Errorf("%q: write it in full, as https://host/path", address)
	case u.User != nil:
		return nil, fmt.Errorf("%s: it holds a credential, and agents see this address", u.Redacted())
	case u.Fragment != "":
		return nil, fmt.Errorf("%q: a part behind # does not reach the page", address)
	}
	return u, nil
}
