//go:build linux || darwin

package instance_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/gofrs/flock"

	"github.com/gearbox-mcp/gearbox/internal/instance"
)

// word is what instances of these tests answer.
type word struct {
	Word string `json:"word"`
}

// says is a handler for GET /word.
func says(text string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /word", func(w http.ResponseWriter, _ *http.Request) { instance.Reply(w, word{text}) })
	return mux
}

// join starts an instance in the test's own process.
func join(t *testing.T, dir string, h http.Handler) *instance.Instance {
	t.Helper()
	i, err := instance.Join(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := i.Leave(); err != nil {
			t.Error(err)
		}
	})
	if h != nil {
		if err := i.Answer(t.Context(), h, slog.New(slog.NewTextHandler(t.Output(), nil))); err != nil {
			t.Fatal(err)
		}
	}
	return i
}

func live(t *testing.T, dir string) []instance.Member {
	t.Helper()
	all, err := instance.Live(dir)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// left lists what lies in the directory of leases and sockets.
func left(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, "instances"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestEachInstanceOfADirectoryIsFoundAndAnswersForItself(t *testing.T) {
	dir := t.TempDir()
	words := map[instance.ID]string{join(t, dir, says("one")).ID(): "one", join(t, dir, says("two")).ID(): "two"}
	all := live(t, dir)
	if len(all) != 2 {
		t.Fatalf("%+v", all)
	}
	for _, m := range all {
		var got word
		if err := m.Get(t.Context(), "/word", &got); err != nil || got.Word != words[m.ID] {
			t.Errorf("%s: %q, %v", m.ID, got.Word, err)
		}
		if m.ID.PID() != os.Getpid() {
			t.Errorf("%s names the process %d", m.ID, m.ID.PID())
		}
	}
}

func TestTheSocketBelongsToItsOwnerAlone(t *testing.T) {
	dir := t.TempDir()
	i := join(t, dir, says("x"))
	st, err := os.Lstat(filepath.Join(dir, "instances", string(i.ID())+".sock"))
	if err != nil || st.Mode() != fs.ModeSocket|0o600 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
}

func TestLeavingRemovesLeaseAndSocket(t *testing.T) {
	dir := t.TempDir()
	i, err := instance.Join(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := i.Answer(t.Context(), says("x"), slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	m := live(t, dir)[0]
	if err := i.Leave(); err != nil {
		t.Fatal(err)
	}
	if names := left(t, dir); len(names) != 0 {
		t.Errorf("%v", names)
	}
	if err := m.Get(t.Context(), "/word", new(word)); !errors.Is(err, instance.ErrGone) {
		t.Errorf("%v", err)
	}
}

func TestADirectoryWithoutInstancesHasNone(t *testing.T) {
	for _, dir := range []string{t.TempDir(), filepath.Join(t.TempDir(), "nowhere")} {
		if all := live(t, dir); len(all) != 0 {
			t.Errorf("%+v", all)
		}
		if _, err := os.Stat(filepath.Join(dir, "instances")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("looking made a directory: %v", err)
		}
	}
}

func TestWhatDeadProcessesLeftIsSweptAway(t *testing.T) {
	dir := t.TempDir()
	i := join(t, dir, says("alive"))
	for _, name := range []string{"1-DEAD.lease", "1-DEAD.sock", "2-BARE.lease", "3-STRAY.sock", "op_old.lease"} {
		if err := os.WriteFile(filepath.Join(dir, "instances", name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if all := live(t, dir); len(all) != 1 || all[0].ID != i.ID() {
		t.Errorf("%+v", all)
	}
	if names := left(t, dir); len(names) != 2 {
		t.Errorf("%v", names)
	}
}

func TestWhatIsNoLeaseIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	join(t, dir, nil)
	instances := filepath.Join(dir, "instances")
	elsewhere := filepath.Join(dir, "precious")
	if err := os.WriteFile(elsewhere, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Symlink(elsewhere, filepath.Join(instances, "9-LINK.lease")), os.Mkdir(filepath.Join(instances, "9-DIR.lease"), 0o700)); err != nil {
		t.Fatal(err)
	}
	if all := live(t, dir); len(all) != 1 {
		t.Errorf("%+v", all)
	}
	if names := left(t, dir); len(names) != 3 {
		t.Errorf("%v", names)
	}
}

func TestALivingInstanceWithoutASocketIsNamed(t *testing.T) {
	dir := t.TempDir()
	join(t, dir, nil)
	if err := live(t, dir)[0].Get(t.Context(), "/word", new(word)); !errors.Is(err, instance.ErrNoSocket) {
		t.Errorf("%v", err)
	}
}

func TestADataDirectoryLongerThanASocketAddressIsServed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long/", 60))
	i, err := instance.Join(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = i.Leave() }()
	if err := i.Answer(t.Context(), says("far"), slog.New(slog.DiscardHandler)); err != nil {
		if !canBeLong {
			t.Skipf("skipped: %v", err)
		}
		t.Fatal(err)
	}
	var got word
	if err := live(t, dir)[0].Get(t.Context(), "/word", &got); err != nil || got.Word != "far" {
		t.Errorf("%q, %v", got.Word, err)
	}
}

func TestASilentInstanceIsWaitedForAsLongAsTheCallerSays(t *testing.T) {
	dir := t.TempDir()
	i := join(t, dir, nil)
	t.Chdir(filepath.Join(dir, "instances")) // for a short address
	l, err := new(net.ListenConfig).Listen(t.Context(), "unix", string(i.ID())+".sock")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	ctx, giveUp := context.WithCancel(t.Context())
	connected := make(chan net.Conn, 1)
	go func() {
		c, err := l.Accept()
		if err == nil {
			connected <- c
		}
		giveUp()
	}()
	if err := live(t, dir)[0].Get(ctx, "/word", new(word)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	_ = (<-connected).Close()
}

func TestAnAnswerThatIsNoSuccessSaysWhy(t *testing.T) {
	dir := t.TempDir()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /fails", func(w http.ResponseWriter, _ *http.Request) {
		instance.Fail(w, http.StatusConflict, "it was decided already")
	})
	mux.HandleFunc("GET /never", func(w http.ResponseWriter, _ *http.Request) {
		instance.Fail(w, http.StatusForbidden, "not to you")
	})
	mux.HandleFunc("GET /odd", func(w http.ResponseWriter, _ *http.Request) { instance.Reply(w, func() {}) })
	mux.HandleFunc("GET /text", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("hello")) })
	mux.HandleFunc("GET /long", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 5<<20)) })
	join(t, dir, mux)
	m := live(t, dir)[0]
	for path, want := range map[string]string{
		"/fails": "status 409: it was decided already", "/nowhere": "status 404: Not Found", "/odd": "unsupported type",
		"/text": "read the answer", "/long": "longer than",
	} {
		if err := m.Get(t.Context(), path, new(word)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := m.Get(t.Context(), "/never", new(word)); !errors.Is(err, instance.ErrRefused) || !strings.Contains(err.Error(), "not to you") {
		t.Errorf("%v", err)
	}
}

func TestALongQuestionIsCutOff(t *testing.T) {
	dir := t.TempDir()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /", func(w http.ResponseWriter, r *http.Request) {
		if _, err := new(bytes.Buffer).ReadFrom(r.Body); err != nil {
			instance.Fail(w, http.StatusRequestEntityTooLarge, err.Error())
			return
		}
		instance.Reply(w, word{"read"})
	})
	i := join(t, dir, mux)
	t.Chdir(filepath.Join(dir, "instances"))
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", string(i.ID())+".sock")
	}}}
	for size, want := range map[int]int{64 << 10: http.StatusOK, 64<<10 + 1: http.StatusRequestEntityTooLarge} {
		r, err := client.Post("http://instance/", "text/plain", bytes.NewReader(make([]byte, size)))
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Body.Close()
		if r.StatusCode != want {
			t.Errorf("%d bytes: HTTP status %d", size, r.StatusCode)
		}
	}
}

func TestManyStartsAndLooksAtOnceGetInNobodysWay(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for range 24 {
		wg.Go(func() {
			i, err := instance.Join(dir)
			if err != nil {
				t.Error(err)
				return
			}
			if err := i.Answer(t.Context(), says("x"), slog.New(slog.DiscardHandler)); err != nil {
				t.Error(err)
			}
			all, err := instance.Live(dir)
			if err != nil {
				t.Error(err)
			}
			for _, m := range all {
				err := m.Get(t.Context(), "/word", new(word))
				if m.ID == i.ID() && err != nil {
					t.Error(err)
				}
			}
			if err := i.Leave(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if names := left(t, dir); len(names) != 0 {
		t.Errorf("%v", names)
	}
}

func TestALeaseThatSomebodyElseHoldsIsAlive(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "instances"), 0o700); err != nil {
		t.Fatal(err)
	}
	l := flock.New(filepath.Join(dir, "instances", "77-OTHER.lease"), flock.SetPermissions(0o600))
	if ok, err := l.TryLock(); !ok || err != nil {
		t.Fatal(ok, err)
	}
	defer func() { _ = l.Unlock() }()
	if all := live(t, dir); len(all) != 1 || all[0].ID.PID() != 77 {
		t.Errorf("%+v", all)
	}
}
