// Package model is an endpoint of a language model for black-box tests: it speaks the wire
// formats of OpenAI's chat completions and Anthropic's messages, checks each request as the
// real ones do, answers from a script and keeps what it was asked.
//
// It knows nothing of the rooms: what is sent here is judged by the published formats.
package model

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
)

// The formats.
const (
	OpenAI    = "openai"
	Anthropic = "anthropic"
)

// Name is the one model that the endpoint has.
const Name = "scripted-1"

// Reply is one answer of the script.
type Reply struct {
	// Text is what the model says.
	Text string
	// Stop is the reason in the words of the format; empty for the usual one.
	Stop string
	// Status, unless 0 or 200, is a failure with Text as its message.
	Status int
	Header map[string]string
	// Body, unless empty, is sent as it is in place of all that.
	Body string
	// Hold, unless nil, is closed when half of the answer is sent; the rest is kept back
	// until the client goes away.
	Hold chan<- struct{}
}

// Request is what was asked.
type Request struct {
	Header   http.Header
	Body     []byte
	System   string
	Messages []Message
}

// Message is one turn of a conversation.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Last is the text of the last turn.
func (q Request) Last() string { return q.Messages[len(q.Messages)-1].Content }

// Reporter is the part of a test that the endpoint needs.
type Reporter interface {
	Errorf(format string, args ...any)
	Cleanup(func())
}

// Server is one endpoint.
type Server struct {
	t      Reporter
	format string
	key    string
	http   *httptest.Server

	mu       sync.Mutex // guards what follows
	script   []Reply
	requests []Request
}

// Start starts an endpoint on the loopback address that takes the key, or none if it is
// empty, and answers by the script, in order. A request that breaks the format, or comes
// after the end of the script, fails the test.
func Start(t Reporter, format, key string, script ...Reply) *Server {
	s := &Server{t: t, format: format, key: key, script: script}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.http.Close)
	return s
}

// URL is the base of the endpoint, as it is configured.
func (s *Server) URL() string {
	if s.format == OpenAI {
		return s.http.URL + "/v1"
	}
	return s.http.URL
}

// Requests are those that came so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Left is how many replies of the script were not asked for.
func (s *Server) Left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.script)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	q, err := s.read(r)
	if err != nil {
		s.t.Errorf("model: a request that the real endpoint would refuse: %v", err)
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	reply, ok := s.next(q)
	if !ok {
		s.t.Errorf("model: a request after the end of the script: %s", q.Last())
		http.Error(w, "the script is over", http.StatusBadRequest)
		return
	}
	s.answer(w, r, reply)
}

func (s *Server) next(q Request) (Reply, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, q)
	if len(s.script) == 0 {
		return Reply{}, false
	}
	reply := s.script[0]
	s.script = s.script[1:]
	return reply, true
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request, reply Reply) {
	w.Header().Set("Content-Type", "application/json")
	for name, value := range reply.Header {
		w.Header().Set(name, value)
	}
	body := reply.Body
	switch {
	case body != "":
	case reply.Status != 0 && reply.Status != http.StatusOK:
		body = failure(reply.Text)
	case s.format == OpenAI:
		body = completion(reply)
	default:
		body = message(reply)
	}
	if reply.Status != 0 {
		w.WriteHeader(reply.Status)
	}
	if reply.Hold != nil {
		_, _ = io.WriteString(w, body[:len(body)/2])
		_ = http.NewResponseController(w).Flush()
		close(reply.Hold)
		<-r.Context().Done()
		return
	}
	_, _ = io.WriteString(w, body) // a client that is gone is a test's own affair
}

// read takes a request apart and holds it to the format.
func (s *Server) read(r *http.Request) (Request, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return Request{}, err
	}
	q := Request{Header: r.Header.Clone(), Body: body}
	path, header, want := "/v1/chat/completions", "Authorization", "Bearer "+s.key
	if s.format == Anthropic {
		path, header, want = "/v1/messages", "X-Api-Key", s.key
	}
	if s.key == "" {
		want = ""
	}
	switch {
	case r.Method != http.MethodPost || r.URL.RequestURI() != path:
		return q, fmt.Errorf("%s %s, not POST %s", r.Method, r.URL.RequestURI(), path)
	case r.Header.Get("Content-Type") != "application/json":
		return q, fmt.Errorf("content type %q", r.Header.Get("Content-Type"))
	case r.Header.Get(header) != want:
		return q, fmt.Errorf("%s is %q, not %q", header, r.Header.Get(header), want)
	case s.format == Anthropic && r.Header.Get("Anthropic-Version") != "2023-06-01":
		return q, fmt.Errorf("version %q", r.Header.Get("Anthropic-Version"))
	}
	if s.format == OpenAI {
		return q, q.readCompletion()
	}
	return q, q.readMessages()
}

func (q *Request) readCompletion() error {
	var in struct {
		Model    string    `json:"model"`
		Messages []Message `json:"messages"`
	}
	if err := strict(q.Body, &in); err != nil {
		return err
	}
	if len(in.Messages) == 0 || in.Messages[0].Role != "system" {
		return fmt.Errorf("no system message comes first: %s", q.Body)
	}
	q.System, q.Messages = in.Messages[0].Content, in.Messages[1:]
	return q.check(in.Model)
}

func (q *Request) readMessages() error {
	var in struct {
		Model     string    `json:"model"`
		MaxTokens int       `json:"max_tokens"`
		System    string    `json:"system"`
		Messages  []Message `json:"messages"`
	}
	if err := strict(q.Body, &in); err != nil {
		return err
	}
	if in.MaxTokens < 1 {
		return fmt.Errorf("max_tokens is %d", in.MaxTokens)
	}
	q.System, q.Messages = in.System, in.Messages
	return q.check(in.Model)
}

// check holds the turns to what both endpoints take.
func (q *Request) check(name string) error {
	if name != Name {
		return fmt.Errorf("there is no model %q", name)
	}
	if strings.TrimSpace(q.System) == "" || len(q.Messages)%2 != 1 {
		return fmt.Errorf("a system prompt of %d bytes and %d turns", len(q.System), len(q.Messages))
	}
	for i, m := range q.Messages {
		if want := [...]string{"user", "assistant"}[i%2]; m.Role != want {
			return fmt.Errorf("turn %d is of %q, not of %q", i, m.Role, want)
		}
		if strings.TrimSpace(m.Content) == "" {
			return fmt.Errorf("turn %d is empty", i)
		}
	}
	return nil
}

func strict(body []byte, into any) error {
	d := json.NewDecoder(strings.NewReader(string(body)))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

func failure(text string) string {
	return encode(map[string]any{"type": "error", "error": map[string]any{"type": "scripted_error", "message": text}})
}

func completion(r Reply) string {
	if r.Stop == "" {
		r.Stop = "stop"
	}
	return encode(map[string]any{
		"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": Name,
		"choices": []any{map[string]any{"index": 0, "finish_reason": r.Stop, "message": Message{"assistant", r.Text}}},
		"usage":   map[string]int{"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
	})
}

func message(r Reply) string {
	if r.Stop == "" {
		r.Stop = "end_turn"
	}
	return encode(map[string]any{
		"id": "msg_1", "type": "message", "role": "assistant", "model": Name, "stop_reason": r.Stop, "stop_sequence": nil,
		"content": []any{map[string]string{"type": "text", "text": r.Text}},
		"usage":   map[string]int{"input_tokens": 11, "output_tokens": 7},
	})
}

func encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // nothing but maps and strings
	}
	return string(text)
}
