//go:build linux && (amd64 || arm64)

package linux

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/gearbox-mcp/gearbox/internal/cpython"
	"github.com/gearbox-mcp/gearbox/internal/cpython/cpythontest"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/guest"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
)

// preloads are modules for the fork server, by the ends of their names. They lie beside
// the guest's own, which is where a fork server finds them at every level; those of an
// environment are in the tests of sidecar.
var preloads = map[string]string{
	"place": "import os, sys\npid, world, times = os.getpid(), os.readlink('/proc/self/ns/user'), globals().get('times', 0) + 1\n" +
		"path = list(sys.path)\nsys.path.append('/left-behind')\n",
	"prints":   "import sys\nsys.stdout.write('printed while imported, without an end of line')\n",
	"hostile":  "from gearbox_guest import kernel\nkernel.install_filter = kernel.drop_capabilities = lambda *_: None\n",
	"raises":   "raise ValueError('no model here')\n",
	"leaves":   "raise SystemExit(3)\n",
	"dies":     "import os\nos._exit(3)\n",
	"thread":   "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n",
	"process":  "import os\nif os.fork() == 0:\n" + sleeps,
	"detached": "import os\npid = os.fork()\nif pid == 0:\n  if os.fork() == 0:\n" + sleeps + "  os._exit(0)\nos.waitpid(pid, 0)\n",
	"ended":    "import os\nif os.fork() == 0: os._exit(0)\n",
	"joined":   "import threading\nt = threading.Thread(target=int)\nt.start()\nt.join()\n",
	"writes": "import os, pathlib, tempfile\nhome = pathlib.Path(os.environ['HOME'], '.cache', 'it')\nhome.mkdir(parents=True)\n" +
		"(home / 'kept').write_text('x')\nother = tempfile.mkdtemp()\n",
	"greedy": "import mmap\ntry: kept = mmap.mmap(-1, 1 << 30)\nexcept OSError: kept = None\n",
	"large":  "import mmap\nkept = mmap.mmap(-1, 600 << 20)\n",
	"signals": "import signal\nfor s in (signal.SIGCHLD, signal.SIGTERM, signal.SIGALRM): signal.signal(s, signal.SIG_IGN)\n" +
		"signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)\nsignal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})\n",
	"descriptor": "import os\nnumber = os.open('/dev/null', os.O_RDONLY)\nos.set_inheritable(number, True)\n",
}

// sleeps is what a process does that a module leaves. It is found by its name.
var (
	sleeper = fmt.Sprintf("left-%d", os.Getpid())
	sleeps  = "    import _thread, time\n    _thread.set_name('" + sleeper + "')\n    time.sleep(600)\n"
)

// sleepers are the processes of this machine that a module has left.
func sleepers(t *testing.T) (found []string) {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/comm")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range paths {
		if text, err := os.ReadFile(p); err == nil && strings.TrimSpace(string(text)) == sleeper {
			found = append(found, p)
		}
	}
	return found
}

const preloadPrefix = guest.Package + ".preloaded_"

// guestWithPreloads is the guest with [preloads] beside it.
func guestWithPreloads(t testing.TB) fstest.MapFS {
	t.Helper()
	out := fstest.MapFS{}
	err := fs.WalkDir(guest.Files, guest.Package, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(guest.Files, path)
		out[path] = &fstest.MapFile{Data: data}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, source := range preloads {
		out[strings.ReplaceAll(preloadPrefix+name, ".", "/")+".py"] = &fstest.MapFile{Data: []byte(source)}
	}
	return out
}

// preloading is a template with some of [preloads].
func preloading(names ...string) sandbox.Template {
	for i, n := range names {
		names[i] = preloadPrefix + n
	}
	return sandbox.Template{Language: execution.Python, Preload: strings.Join(names, ",")}
}

func openTemplate(t *testing.T, b *Backend, tpl sandbox.Template) sandbox.Source {
	t.Helper()
	s, err := b.Open(t.Context(), tpl)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestPreloadedModulesAreImportedOnceByTheForkServer(t *testing.T) {
	s := openTemplate(t, backend(t, guestWithPreloads(t)), preloading("place"))
	const code = `
import os, sys
m = sys.modules["gearbox_guest.preloaded_place"]
[m.pid, m.times, os.getpid(), m.world != os.readlink("/proc/self/ns/user")]`
	for range 2 {
		if got := value[[]any](t, s, code); !slices.Equal(got, []any{1.0, 1.0, 2.0, true}) {
			t.Errorf("process, imports, own process, own user namespace: %v", got)
		}
	}
}

func TestProgramsFindTheSamePathWithAndWithoutPreloading(t *testing.T) {
	in := interpreter(t)
	in.Path = []string{"/site/first", "/site/second"}
	backend(t, nil) // skips where there is no sandbox
	b := New(Config{
		Interpreters: func(context.Context, execution.Digest) (sandbox.Interpreter, error) { return in, nil },
		Guest:        guestWithPreloads(t),
	})
	with, without := openTemplate(t, b, preloading("place")), openTemplate(t, b, preloading())
	const path = "import sys\nsys.path"
	was := value[[]string](t, without, path)
	if got := value[[]string](t, with, path); !slices.Equal(got, was) || !slices.Contains(got, in.Path[1]) {
		t.Errorf("with %v, without %v", got, was)
	}
	seen := value[[]string](t, with, "import sys\nsys.modules['gearbox_guest.preloaded_place'].path")
	if n := len(seen); n < 2 || !slices.Equal(seen[n-2:], in.Path) {
		t.Errorf("the module was imported with %v", seen)
	}
}

func TestModulesThatCannotBePreloadedAreNamed(t *testing.T) {
	b := backend(t, guestWithPreloads(t))
	for name, want := range map[string]string{
		"absent":   "ModuleNotFoundError: No module named",
		"raises":   "ValueError: no model here",
		"leaves":   "SystemExit: 3",
		"dies":     "the fork server ended",
		"thread":   "leaves threads running (",
		"process":  "leaves processes running (" + sleeper,
		"detached": "leaves processes running (" + sleeper,
		"large":    "memory limit of the gear",
	} {
		_, err := b.Open(t.Context(), preloading("joined", name))
		var failed *sandbox.PreloadError
		if !errors.As(err, &failed) || !strings.Contains(failed.Reason, preloadPrefix+name) || !strings.Contains(failed.Reason, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestThreadsAndProcessesThatEndedDoNotKeepAModuleFromBeingPreloaded(t *testing.T) {
	s := openTemplate(t, backend(t, guestWithPreloads(t)), preloading("joined", "ended"))
	if out := run(t, s, "print(1)"); out.Stdout != "1\n" {
		t.Errorf("%+v", out)
	}
}

// noted is a writer for a logger.
type noted struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (n *noted) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.Write(p)
}

func (n *noted) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.String()
}

func TestDescriptorsThatAPreloadedModuleLeavesDoNotReachPrograms(t *testing.T) {
	b, log := backend(t, guestWithPreloads(t)), &noted{}
	b.config.Logger = slog.New(slog.NewTextHandler(log, nil))
	s := openTemplate(t, b, preloading("descriptor"))
	const code = `
import os, sys
try: os.fstat(sys.modules["gearbox_guest.preloaded_descriptor"].number)
except OSError as e: found = e.errno
found`
	if got, closed := value[int](t, s, code), 9; got != closed { // EBADF
		t.Errorf("the program found %d", got)
	}
	if !strings.Contains(log.String(), preloadPrefix+"descriptor: it leaves descriptor") {
		t.Errorf("log %s", log)
	}
}

// TestAPreloadedModuleCannotDisturbTheForkServer: it waits for its children by signals, and
// programs begin with those of a fresh interpreter.
func TestAPreloadedModuleCannotDisturbTheForkServer(t *testing.T) {
	s := openTemplate(t, backend(t, guestWithPreloads(t)), preloading("signals"))
	const code = "import signal\n" +
		"[signal.getsignal(s) == signal.SIG_IGN for s in (signal.SIGCHLD, signal.SIGTERM, signal.SIGALRM)] + " +
		"[signal.getitimer(signal.ITIMER_REAL)[1] > 0, signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())]"
	for range 5 {
		if got := value[[]bool](t, s, code); slices.Contains(got, true) {
			t.Errorf("ignored, timed, blocked: %v", got)
		}
	}
}

// TestPreloadedModulesFindTheMemoryLimit: an allocator that reserved what it likes would
// leave no address space to programs.
func TestPreloadedModulesFindTheMemoryLimit(t *testing.T) {
	s := openTemplate(t, backend(t, guestWithPreloads(t)), preloading("greedy"))
	const code = "import mmap, sys\nm = mmap.mmap(-1, 64 << 20)\nsys.modules['gearbox_guest.preloaded_greedy'].kept is None"
	if !value[bool](t, s, code) {
		t.Error("the module had a gigabyte")
	}
}

func TestWhatPreloadedModulesWriteIsGone(t *testing.T) {
	s := openTemplate(t, backend(t, guestWithPreloads(t)), preloading("writes"))
	const code = "import os, sys\nm = sys.modules['gearbox_guest.preloaded_writes']\n" +
		"[os.listdir('.'), os.listdir('/tmp'), str(m.home), os.path.exists(m.other)]"
	if got := value[[]any](t, s, code); len(got[0].([]any)) != 0 || len(got[1].([]any)) != 0 || got[2] != workspace+"/.cache/it" || got[3] != false {
		t.Errorf("found %v", got)
	}
}

func TestWhatAPreloadedModulePrintsIsNotInTheOutputOfPrograms(t *testing.T) {
	s := openTemplate(t, backend(t, guestWithPreloads(t)), preloading("prints"))
	if out := run(t, s, "print('own')"); out.Stdout != "own\n" || out.Stderr != "" {
		t.Errorf("stdout %q, stderr %q", out.Stdout, out.Stderr)
	}
}

// TestAPreloadedModuleThatPatchesTheSealingIsCaughtFromOutside: trusted or not, a child
// that is not tight is not given away.
func TestAPreloadedModuleThatPatchesTheSealingIsCaughtFromOutside(t *testing.T) {
	s := openTemplate(t, backend(t, guestWithPreloads(t)), preloading("hostile"))
	child, err := s.Start(bounded(t), false)
	if err == nil {
		child.Kill(sandbox.CauseAbandoned)
		t.Fatal("the child was given away")
	}
	if !strings.Contains(err.Error(), "not sealed") {
		t.Errorf("got %v", err)
	}
	<-s.Done()
}

// TestForcedLevelPreloads: where threads and processes are found, and as whom modules are imported,
// depends on the level.
func TestForcedLevelPreloads(t *testing.T) {
	_, b := forced(t)
	b.config.Guest = guestWithPreloads(t)
	s := openTemplate(t, b, preloading("joined", "ended", "prints"))
	if out := run(t, s, "import sys\nprint('gearbox_guest.preloaded_joined' in sys.modules)"); out.Stdout != "True\n" {
		t.Errorf("%+v", out)
	}
	running := "leaves processes running (" + sleeper
	for name, want := range map[string]string{"raises": "ValueError", "thread": "leaves threads running (", "process": running, "detached": running} {
		_, err := b.Open(t.Context(), preloading(name))
		var failed *sandbox.PreloadError
		if !errors.As(err, &failed) || !strings.Contains(failed.Reason, want) {
			t.Errorf("%s: %v", name, err)
		}
		if left := sleepers(t); len(left) > 0 {
			t.Errorf("%s: %v outlived the fork server", name, left)
		}
	}
}

// fromEnvironment is a backend over an operator's virtual environment.
func fromEnvironment(t testing.TB, dir string) *Backend {
	t.Helper()
	i, err := cpython.FromPath(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(i.Release)
	in := sandbox.Interpreter{Digest: i.Digest, Version: i.Version, Executable: i.Executable, Root: i.Root, Mounts: i.Mounts, Path: i.Path}
	backend(t, nil) // skips where there is no sandbox
	return New(Config{Interpreters: func(context.Context, execution.Digest) (sandbox.Interpreter, error) { return in, nil }})
}

func TestChildrenShareNoRandomnessOfPreloadedLibraries(t *testing.T) {
	s := openTemplate(t, fromEnvironment(t, cpythontest.Libraries(t)), sandbox.Template{Language: execution.Python, Preload: "numpy,pandas,sklearn.utils"})
	const code = `
import os, random, ssl, sys
found = sorted({"numpy", "pandas"} & set(sys.modules))
import numpy, pandas, sklearn.utils
r, w = os.pipe()
if os.fork() == 0:
    os.write(w, ssl.RAND_bytes(16).hex().encode())
    os._exit(0)
[str(found), str(numpy.random.random()), str(pandas.Series(range(10**6)).sample(3, replace=True).tolist()),
 str(sklearn.utils.check_random_state(None).random()), str(numpy.random.default_rng().random()), str(random.random()),
 ssl.RAND_bytes(16).hex(), os.read(r, 32).decode()]`
	first, second := value[[]string](t, s, code), value[[]string](t, s, code)
	if first[0] != "['numpy', 'pandas']" {
		t.Errorf("found imported: %s", first[0])
	}
	for i := 1; i < len(first); i++ {
		if first[i] == second[i] {
			t.Errorf("value %d is the same in two children: %s", i, first[i])
		}
	}
}

func TestProgramsThatWarmUpLibrariesWork(t *testing.T) {
	s := openTemplate(t, fromEnvironment(t, cpythontest.Libraries(t)), sandbox.Template{Language: execution.Python, Preload: "numpy,pandas"})
	const code = `
import sys
w = sys.modules["gearbox_guest.warmup_libraries"]
for source in (*w.broad(), *w.brief()): exec(source, {})
[len(w.broad()), len(w.brief())]`
	if got := value[[]int](t, s, code); !slices.Equal(got, []int{2, 1}) {
		t.Errorf("programs for the fork server and for a child: %v", got)
	}
}
