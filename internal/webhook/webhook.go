// Package webhook tells an address of the operator's that something happened: signed as
// Standard Webhooks says, and again until it is taken.
//
// What belongs here: addresses, secrets, delivery. What does not: what is worth telling,
// and what stands in it. Nothing of an answer is used but whether it was taken, so that
// nobody decides anything by it.
//
// # Invariants
//
//   - [Sender.Send] never waits, and what waits to be sent is bounded.
//   - A message keeps its webhook-id over all tries, so that the receiver can tell that it
//     has it already; its timestamp and signature are those of the try.
//   - No redirect is followed: it would carry what is told to an address that nobody chose.
//   - Plain HTTP goes to loopback addresses alone, whatever a name leads to.
package webhook

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cenkalti/backoff/v5"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// Result is what became of a message.
type Result string

// The results.
const (
	Delivered Result = "delivered"
	Failed    Result = "failed"   // it was not taken in time
	Dropped   Result = "dropped"  // too many waited already
	Outdated  Result = "outdated" // it was settled before it could be told
)

// Results are all of them.
func Results() []Result { return []Result{Delivered, Failed, Dropped, Outdated} }

const (
	// tryTime bounds one try.
	tryTime = 10 * time.Second
	// most bounds the messages under way, and atOnce the tries at one time.
	most   = 256
	atOnce = 4
	// maxReply bounds what is read of a reply, so that the connection can be used again.
	maxReply = 64 << 10
	// The time between two tries doubles, from the first to the longest.
	firstPause   = time.Second
	longestPause = 5 * time.Minute
)

// Config is what a Sender needs. All but Pauses is required.
type Config struct {
	URL    string
	Secret Secret
	Logger *slog.Logger
	Now    func() time.Time
	// Count is told what became of each message. It is called by several goroutines.
	Count func(Result)
	// Version of this Gearbox, for the receiver's log.
	Version string
	// Pauses are the times between the tries for one message; nil for the usual ones.
	Pauses func() backoff.BackOff
}

// Message is something to tell.
type Message struct {
	// About names in the log what it is about.
	About string
	// Body is asked before each try. It is nil when there is no need to tell any more.
	Body func(context.Context) ([]byte, error)
	// Until is when telling ends to be of use.
	Until time.Time
}

// Sender sends messages beside its caller. It is safe for concurrent use. Close ends it.
type Sender struct {
	c      Config
	signer *standardwebhooks.Webhook
	client *http.Client

	root  context.Context //nolint:containedctx // ends with the sender, and belongs to no call
	stop  context.CancelFunc
	turns chan struct{}

	mu    sync.Mutex // guards what follows
	under int        // way
	work  sync.WaitGroup
}

// New makes a Sender. The error says what is wrong with the address.
func New(c Config) (*Sender, error) {
	u, err := parseURL(c.URL)
	if err != nil {
		return nil, err
	}
	signer, err := standardwebhooks.NewWebhookRaw(c.Secret.key)
	if err != nil {
		return nil, err
	}
	if c.Pauses == nil {
		c.Pauses = func() backoff.BackOff {
			return &backoff.ExponentialBackOff{InitialInterval: firstPause, MaxInterval: longestPause, Multiplier: 2, RandomizationFactor: 0.5}
		}
	}
	s := &Sender{c: c, signer: signer, client: newClient(u.Scheme == "http"), turns: make(chan struct{}, atOnce)}
	s.root, s.stop = context.WithCancel(context.Background())
	return s, nil
}

func newClient(plain bool) *http.Client {
	dialer := &net.Dialer{Timeout: tryTime}
	t := &http.Transport{
		DialContext: dialer.DialContext, TLSHandshakeTimeout: tryTime, MaxIdleConns: atOnce, IdleConnTimeout: time.Minute,
		MaxResponseHeaderBytes: maxReply, ForceAttemptHTTP2: true, Proxy: http.ProxyFromEnvironment,
	}
	if plain {
		t.Proxy, dialer.Control = nil, onlyLoopback
	}
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// onlyLoopback refuses other addresses at the moment of the connection, where a name can
// no longer be made to lead elsewhere.
func onlyLoopback(_, address string, _ syscall.RawConn) error {
	host, _, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
		return fmt.Errorf("plain HTTP goes to loopback addresses alone, and %s is none", address)
	}
	return nil
}

// Send has a message sent, and returns at once.
func (s *Sender) Send(m Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.root.Err() != nil {
		return
	}
	if s.under >= most {
		s.c.Count(Dropped)
		s.c.Logger.Error("a webhook is left out: too many wait to be taken", "about", m.About)
		return
	}
	s.under++
	s.work.Go(func() {
		defer func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.under--
		}()
		s.c.Count(s.deliver(m))
	})
}

// Close gives up what is under way and waits for it.
func (s *Sender) Close() {
	s.mu.Lock()
	s.stop()
	s.mu.Unlock()
	s.work.Wait()
	s.client.CloseIdleConnections()
}

// errOutdated ends the tries for something that need not be told any more.
var errOutdated = errors.New("it is settled")

// deliver tries until the message is taken.
func (s *Sender) deliver(m Message) Result {
	id := "msg_" + rand.Text()
	ctx, stop := context.WithTimeout(s.root, m.Until.Sub(s.c.Now()))
	defer stop()
	said := false
	_, err := backoff.Retry(ctx, func() (struct{}, error) { return struct{}{}, s.try(ctx, id, m) },
		backoff.WithBackOff(s.c.Pauses()), backoff.WithMaxElapsedTime(0), // until the context ends
		backoff.WithNotify(func(err error, next time.Duration) {
			if !said {
				s.c.Logger.Warn("a webhook was not taken and is tried again", "about", m.About, "webhook_id", id, "error", err, "next", next.String())
			}
			said = true
		}))
	switch {
	case err == nil:
		return Delivered
	case errors.Is(err, errOutdated):
		return Outdated
	}
	s.c.Logger.Error("a webhook was not taken", "about", m.About, "webhook_id", id, "error", err)
	return Failed
}

// try sends the message once.
func (s *Sender) try(ctx context.Context, id string, m Message) error {
	select {
	case s.turns <- struct{}{}:
		defer func() { <-s.turns }()
	case <-ctx.Done():
		return backoff.Permanent(ctx.Err())
	}
	body, err := m.Body(ctx)
	if err != nil {
		return err
	}
	if body == nil {
		return backoff.Permanent(errOutdated)
	}
	ctx, stop := context.WithTimeout(ctx, tryTime)
	defer stop()
	r, err := s.request(ctx, id, body)
	if err != nil {
		return backoff.Permanent(err)
	}
	res, err := s.client.Do(r)
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, maxReply)) // what it says is not asked for
	_ = res.Body.Close()
	return judge(res)
}

func (s *Sender) request(ctx context.Context, id string, body []byte) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.c.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	now := s.c.Now()
	signature, err := s.signer.Sign(id, now, body)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "gearbox/"+s.c.Version)
	r.Header.Set(standardwebhooks.HeaderWebhookID, id)
	r.Header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	r.Header.Set(standardwebhooks.HeaderWebhookSignature, signature)
	return r, nil
}

// judge says whether a reply takes the message, and if not whether another try may help.
func judge(res *http.Response) error {
	err := fmt.Errorf("the receiver answered %s", res.Status)
	switch n := res.StatusCode; {
	case n/100 == 2:
		return nil
	case n/100 == 3:
		return fmt.Errorf("%w, and no redirect is followed: set approvals.webhook.url to where it leads, if you know the place", err)
	case n == http.StatusGone: // Standard Webhooks: nothing is wanted any more
		return backoff.Permanent(err)
	}
	if seconds, bad := strconv.Atoi(res.Header.Get("Retry-After")); bad == nil && seconds > 0 {
		return backoff.RetryAfter(min(seconds, int(longestPause.Seconds())))
	}
	return err
}

// Secret is what messages are signed with.
type Secret struct{ key []byte }

// The bounds of a secret in bytes, as Standard Webhooks has them.
const (
	leastSecret = 24
	mostSecret  = 64
)

// ParseSecret reads the form of Standard Webhooks: whsec_ and 24 to 64 bytes in base64. The
// error does not tell what was read.
func ParseSecret(text string) (Secret, error) {
	encoded, ok := strings.CutPrefix(strings.TrimSpace(text), "whsec_")
	key, err := base64.StdEncoding.DecodeString(encoded)
	if !ok || err != nil || len(key) < leastSecret || len(key) > mostSecret {
		return Secret{}, fmt.Errorf("this is no secret of Standard Webhooks, which is whsec_ and %d to %d random bytes in base64: make one with: echo \"whsec_$(openssl rand -base64 32)\"", leastSecret, mostSecret)
	}
	return Secret{key}, nil
}
