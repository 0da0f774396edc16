package endpoint

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/gateway/agent"
	"github.com/gearbox-mcp/gearbox/test/model"
)

const key = "sk-very-secret-0123456789"

// at is a client of a scripted endpoint that notes how long it would have waited.
func at(t *testing.T, provider, url string, waited *[]time.Duration) *Client {
	t.Helper()
	c, err := New(Config{
		Provider: provider, Model: model.Name, BaseURL: url, Version: "test",
		Getenv: func(name string) (string, bool) {
			if strings.HasSuffix(name, "_API_KEY") {
				return key + "\n", true
			}
			return "", false
		},
		Wait: func(_ context.Context, d time.Duration) error {
			if waited != nil {
				*waited = append(*waited, d)
			}
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var talk = agent.Conversation{System: "rules", Messages: []agent.Message{
	{Role: agent.User, Text: "one"}, {Role: agent.Assistant, Text: "two"}, {Role: agent.User, Text: "three"},
}}

func both(t *testing.T, f func(t *testing.T, provider string)) {
	for _, p := range Providers() {
		t.Run(p, func(t *testing.T) { f(t, p) })
	}
}

func TestARequestIsAsThePublishedFormatSays(t *testing.T) {
	both(t, func(t *testing.T, provider string) {
		s := model.Start(t, provider, key, model.Reply{Text: "four"})
		got, err := at(t, provider, s.URL()+"/", nil).Complete(t.Context(), talk)
		want := agent.Reply{Text: "four", Stop: agent.StopEnd, Usage: agent.Usage{InputTokens: 11, OutputTokens: 7}}
		if err != nil || got != want {
			t.Fatalf("got %+v, %v", got, err)
		}
		q := s.Requests()[0]
		if q.System != "rules" || len(q.Messages) != 3 || q.Last() != "three" {
			t.Errorf("sent %s", q.Body)
		}
	})
}

func TestWhyAReplyEndsIsTold(t *testing.T) {
	for _, c := range []struct {
		provider, stop string
		want           agent.Stop
	}{
		{OpenAI, "length", agent.StopLength},
		{OpenAI, "content_filter", agent.StopRefused},
		{OpenAI, "eos", agent.StopEnd},
		{Anthropic, "max_tokens", agent.StopLength},
		{Anthropic, "refusal", agent.StopRefused},
		{Anthropic, "stop_sequence", agent.StopEnd},
	} {
		s := model.Start(t, c.provider, key, model.Reply{Text: "x", Stop: c.stop})
		got, err := at(t, c.provider, s.URL(), nil).Complete(t.Context(), talk)
		if err != nil || got.Stop != c.want {
			t.Errorf("%s %s: %q, %v", c.provider, c.stop, got.Stop, err)
		}
	}
}

func TestContentInPartsOrNoneIsRead(t *testing.T) {
	for body, want := range map[string]string{
		`{"choices":[{"message":{"content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"a"},{"type":"text","text":"b"}]}}]}`: "ab",
		`{"choices":[{"message":{"content":null,"tool_calls":[]}}]}`:                                                                        "",
		`{"choices":[{"message":{"content":"","refusal":"no"}}]}`:                                                                           "no",
	} {
		s := model.Start(t, OpenAI, key, model.Reply{Body: body})
		got, err := at(t, OpenAI, s.URL(), nil).Complete(t.Context(), talk)
		if err != nil || got.Text != want {
			t.Errorf("%s: %q, %v", body, got.Text, err)
		}
	}
	s := model.Start(t, Anthropic, key, model.Reply{Body: `{"type":"message","content":[{"type":"thinking","thinking":"hm","signature":"x"},{"type":"text","text":"a"}]}`})
	if got, err := at(t, Anthropic, s.URL(), nil).Complete(t.Context(), talk); err != nil || got.Text != "a" {
		t.Errorf("%q, %v", got.Text, err)
	}
}

func TestEachFailureIsOfItsKindAndSaysWhatToDo(t *testing.T) {
	for name, c := range map[string]struct {
		reply model.Reply
		kind  error
		says  string
	}{
		"401":               {model.Reply{Status: 401, Text: "bad key sk-ve***789"}, ErrCredential, "_API_KEY is missing, wrong or expired"},
		"403":               {model.Reply{Status: 403, Text: "not yours"}, ErrCredential, "not yours"},
		"404":               {model.Reply{Status: 404, Text: "no such model"}, ErrRequest, "is agent.base_url right"},
		"400":               {model.Reply{Status: 400, Text: "context too long"}, ErrRequest, "context too long"},
		"redirect":          {model.Reply{Status: 307, Header: map[string]string{"Location": "http://127.0.0.1:1/"}}, ErrRequest, "no redirect is followed"},
		"quota":             {model.Reply{Status: 429, Body: `{"error":{"message":"pay first","code":"insufficient_quota"}}`}, ErrBusy, "pay first"},
		"no JSON":           {model.Reply{Body: "<html>hello"}, ErrMalformed, "is agent.base_url right"},
		"other JSON":        {model.Reply{Body: `{"choices":[],"type":"ping"}`}, ErrMalformed, ""},
		"wrong types":       {model.Reply{Body: `{"choices":7,"type":7}`}, ErrMalformed, ""},
		"failure as 200":    {model.Reply{Body: `{"error":{"message":"upstream fell over"}}`}, ErrRequest, "upstream fell over"},
		"failure as a text": {model.Reply{Status: 422, Body: `{"error":"just text"}`}, ErrRequest, "just text"},
		"a stream":          {model.Reply{Body: "data: {}\n\n", Header: map[string]string{"Content-Type": "text/event-stream"}}, ErrMalformed, "stream of events"},
		"giant":             {model.Reply{Text: strings.Repeat("x", maxReply)}, ErrTooLong, "more than 2097152 bytes"},
		"hidden characters": {model.Reply{Status: 400, Text: "a\u202eb\nc"}, ErrRequest, "a⟨U+202E⟩b c"},
		"echo of the key":   {model.Reply{Status: 400, Text: "you sent " + key}, ErrRequest, "you sent [key]"},
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, provider string) {
				s := model.Start(t, provider, key, c.reply)
				_, err := at(t, provider, s.URL(), nil).Complete(t.Context(), talk)
				if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) {
					t.Errorf("got %v", err)
				}
				if strings.Contains(fmt.Sprint(err), key) || name == "401" && strings.Contains(err.Error(), "sk-ve") {
					t.Errorf("the key is in it: %v", err)
				}
			})
		})
	}
}

func TestAKeyInAReplyIsCleared(t *testing.T) {
	s := model.Start(t, OpenAI, key, model.Reply{Text: "```python\n'" + key + "'\n```"})
	got, err := at(t, OpenAI, s.URL(), nil).Complete(t.Context(), talk)
	if err != nil || strings.Contains(got.Text, key) {
		t.Errorf("got %q, %v", got.Text, err)
	}
}

func TestWhatMayPassIsTriedAgain(t *testing.T) {
	both(t, func(t *testing.T, provider string) {
		var waited []time.Duration
		s := model.Start(t, provider, key,
			model.Reply{Status: 429, Text: "slow down", Header: map[string]string{"Retry-After": "17"}},
			model.Reply{Status: 529, Text: "overloaded"},
			model.Reply{Status: 503, Body: "<html>"},
			model.Reply{Text: "at last"})
		got, err := at(t, provider, s.URL(), &waited).Complete(t.Context(), talk)
		if err != nil || got.Text != "at last" {
			t.Fatalf("got %+v, %v", got, err)
		}
		if len(waited) != 3 || waited[0] != 17*time.Second || waited[1] < time.Second || waited[2] <= waited[1]/2 {
			t.Errorf("waited %v", waited)
		}
	})
}

func TestTriesComeToAnEnd(t *testing.T) {
	fail := model.Reply{Status: 500, Text: "broken"}
	s := model.Start(t, OpenAI, key, fail, fail, fail, fail)
	_, err := at(t, OpenAI, s.URL(), nil).Complete(t.Context(), talk)
	if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "broken; it was tried 4 times") {
		t.Errorf("got %v", err)
	}
}

func TestAWaitBeyondTheTaskIsNotBegun(t *testing.T) {
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	var waited []time.Duration
	s := model.Start(t, OpenAI, key, model.Reply{Status: 429, Text: "later", Header: map[string]string{"Retry-After": "300"}})
	_, err := at(t, OpenAI, s.URL(), &waited).Complete(ctx, talk)
	if !errors.Is(err, ErrBusy) || !strings.Contains(err.Error(), "in 5m0s, and the task has less time left") || len(waited) > 0 {
		t.Errorf("got %v, waited %v", err, waited)
	}
}

func TestRetryAfterIsReadInBothForms(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "0.5": time.Second / 2, "-3": 0, "soon": 0, "NaN": 0, "1e99": agent.MaxTimeout, "Inf": agent.MaxTimeout,
		"Mon, 30 Nov 2026 12:00:09 GMT": 9 * time.Second, "Mon, 30 Nov 2020 12:00:09 GMT": 0,
	} {
		if got := retryAfter(http.Header{"Retry-After": {text}}, now); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestAnEndpointThatIsNotThereIsUnavailable(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	_, err := at(t, OpenAI, s.URL, nil).Complete(t.Context(), talk)
	if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "connection refused; it was tried 4 times") {
		t.Errorf("got %v", err)
	}
}

func TestAnUntrustedCertificateIsNotTriedAgain(t *testing.T) {
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	var waited []time.Duration
	_, err := at(t, OpenAI, s.URL, &waited).Complete(t.Context(), talk)
	if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "certificate") || len(waited) > 0 {
		t.Errorf("got %v after %v", err, waited)
	}
}

func TestAReplyThatHangsEndsWithTheTask(t *testing.T) {
	both(t, func(t *testing.T, provider string) {
		held := make(chan struct{})
		s := model.Start(t, provider, key, model.Reply{Text: "never finished", Hold: held})
		enough := errors.New("enough")
		ctx, stop := context.WithCancelCause(t.Context())
		go func() {
			<-held
			stop(enough)
		}()
		if _, err := at(t, provider, s.URL(), nil).Complete(ctx, talk); !errors.Is(err, enough) {
			t.Errorf("got %v", err)
		}
	})
}

func TestKeysComeFromTheEnvironmentAndAreChecked(t *testing.T) {
	env := map[string]string{"OPENAI_API_KEY": key, "MINE": "abc", "SPLIT": "a\nb"}
	for name, c := range map[string]struct {
		Config

		want, says string
	}{
		"the usual one":         {Config{Provider: OpenAI}, key, ""},
		"another":               {Config{Provider: OpenAI, KeyVariable: "MINE"}, "abc", ""},
		"missing":               {Config{Provider: Anthropic}, "", "variable ANTHROPIC_API_KEY is not set"},
		"missing, but local":    {Config{Provider: Anthropic, BaseURL: "http://127.0.0.1:9"}, "", ""},
		"named and missing":     {Config{Provider: OpenAI, BaseURL: "http://127.0.0.1:9", KeyVariable: "OTHER"}, "", "variable OTHER is not set"},
		"a line end":            {Config{Provider: OpenAI, KeyVariable: "SPLIT"}, "", "more than a key"},
		"over plain HTTP":       {Config{Provider: OpenAI, BaseURL: "http://192.0.2.1/v1"}, "", "over plain HTTP"},
		"none, over plain HTTP": {Config{Provider: OpenAI, BaseURL: "http://192.0.2.1/v1", KeyVariable: NoKey}, "", ""},
	} {
		c.Model, c.Getenv = "m", func(name string) (string, bool) { v, ok := env[name]; return v, ok }
		client, err := New(c.Config)
		if err != nil {
			t.Fatal(err)
		}
		got, err := client.key()
		if got != c.want || (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) || errors.Is(err, ErrCredential) != (err != nil) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if err != nil && strings.Contains(err.Error(), key) {
			t.Errorf("%s: the key is in %v", name, err)
		}
		if strings.Contains(fmt.Sprintf("%+v %#v", client, client), key) {
			t.Errorf("%s: printing the client prints the key", name)
		}
	}
}

func TestImpossibleSettingsAreNamed(t *testing.T) {
	for says, c := range map[string]Config{
		"agent.provider":       {Provider: "other", Model: "m"},
		"agent.model":          {Provider: OpenAI},
		"write it as https":    {Provider: OpenAI, Model: "m", BaseURL: "ftp://x"},
		"user or password":     {Provider: OpenAI, Model: "m", BaseURL: "https://a:b@x"},
		"a query or fragment":  {Provider: OpenAI, Model: "m", BaseURL: "https://x/?key=1"},
		"agent.base_url: writ": {Provider: OpenAI, Model: "m", BaseURL: "localhost:11434"},
	} {
		c.Getenv = func(string) (string, bool) { return "", false }
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
}

func FuzzRepliesAreReadOrRefused(f *testing.F) {
	for _, body := range []string{
		`{"choices":[{"message":{"content":"x"}}]}`, `{"choices":[{"message":{"content":[{"type":"text","text":"x"}]}}]}`,
		`{"type":"message","content":[{"type":"text","text":"x"}]}`, `{"error":{"message":"x","code":1}}`, `{"error":"x"}`, `[`, `null`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, w := range []wire{chatCompletions, messages} {
			if r, err := w.decode(body); err != nil && r != (agent.Reply{}) {
				t.Errorf("a reply beside an error: %+v, %v", r, err)
			}
		}
		if said := reason(body); strings.ContainsAny(said, "\n\r\x1b") || len([]rune(said)) > 16*(shownReason+1) {
			t.Errorf("the reason %q", said)
		}
	})
}
