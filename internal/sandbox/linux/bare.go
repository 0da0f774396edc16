//go:build linux && (amd64 || arm64)

package linux

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
)

const (
	// landlockForBare is the version of Landlock that keeps signals inside. Before
	// it nothing would keep a program without a pid namespace from ending the
	// operator's processes.
	landlockForBare = 6
	// bareProcesses bounds processes until a run is armed, which is when the
	// limit of the run is known: before that no program is there.
	bareProcesses = 1 << 20
)

// openBare starts a fork server without namespaces.
func (b *Backend) openBare(ctx context.Context, in sandbox.Interpreter, t sandbox.Template) (_ *source, err error) {
	if err := requireLandlock(); err != nil {
		return nil, err
	}
	home, err := newShelter(b.identity)
	if err != nil {
		return nil, &StepError{Step: stepShelter, Detail: err.Error(), Errno: errnoOf(err)}
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, home.close())
		}
	}()
	c, err := b.bareConfig(home, in, t)
	if err != nil {
		return nil, &StepError{Step: stepShelter, Detail: err.Error(), Errno: errnoOf(err)}
	}
	s, err := launch(ctx, c)
	if err != nil {
		return nil, err
	}
	return newSource(b, s, execution.LevelNoUserns, t.Shape, c.server.sealed(), home)
}

// bareConfig moves into home what a sandbox has in a root of its own elsewhere, and
// lists what may be read of the rest.
func (b *Backend) bareConfig(home *shelter, in sandbox.Interpreter, t sandbox.Template) (launchConfig, error) {
	in, err := home.reachable(in)
	if err != nil {
		return launchConfig{}, err
	}
	p, err := newPlan(in, t.Shape, b.config.Guest)
	if err != nil {
		return launchConfig{}, fmt.Errorf("plan the sandbox: %w", err)
	}
	guestDir, err := home.install(p.Files)
	if err != nil {
		return launchConfig{}, err
	}
	bin, err := home.link(p, in.Executable)
	if err != nil {
		return launchConfig{}, err
	}
	server := newServerConfig(execution.LevelNoUserns, in, t)
	server.Processes = bareProcesses
	server.Readable = append(p.readable(), guestDir, bin)
	return launchConfig{
		init: initConfig{
			Level: execution.LevelNoUserns,
			UID:   b.identity.uid, GID: b.identity.gid, ChangeUser: b.identity.root,
			Argv: interpreterCommand(in.Executable, guestDir),
			Env:  withPath(environment(t.Shape), bin),
		},
		server:     server,
		attributes: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
		logger:     b.config.Logger,
	}, nil
}

// withPath puts a directory before the others in which programs are looked for.
func withPath(env []string, dir string) []string {
	for i, v := range env {
		if rest, ok := strings.CutPrefix(v, "PATH="); ok {
			env[i] = "PATH=" + dir + ":" + rest
		}
	}
	return env
}

// readable lists what of the host's files stands for the mounts of a plan. Of the
// files that the plan writes only those are there that say nothing but where
// libraries are and which time it is.
func (p plan) readable() []string {
	var out []string
	for _, m := range p.Mounts {
		if !m.Device {
			out = append(out, m.Source)
		}
	}
	for _, name := range []string{"/etc/ld.so.cache", "/etc/localtime", "/dev/random", "/dev/urandom"} {
		if _, err := os.Stat(name); err == nil {
			out = append(out, name)
		}
	}
	return out
}

func requireLandlock() error {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	switch {
	case errno != 0:
		return &StepError{Step: stepLandlock, Detail: "Landlock is not in force: " + errno.Error(), Errno: errno}
	case version < landlockForBare:
		return &StepError{
			Step: stepLandlock, Errno: unix.ENOTSUP,
			Detail: fmt.Sprintf("version %d of Landlock does not confine signals, which version %d does", version, landlockForBare),
		}
	default:
		return nil
	}
}

// shedPrivileges makes init the user of the sandbox, for good: the bounding set goes
// while that is allowed, then identity, then every capability.
func shedPrivileges(c initConfig) error {
	parent := unix.Getppid()
	if err := emptyBoundingSet(); err != nil {
		return err
	}
	if c.ChangeUser {
		if err := becomeUser(c.UID, c.GID); err != nil {
			return err
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("clear ambient capabilities: %w", err)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	// A change of user has cleared it (prctl(2), PR_SET_PDEATHSIG).
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("set parent death signal: %w", err)
	}
	if unix.Getppid() != parent {
		return errors.New("the host has ended")
	}
	return nil
}

// emptyBoundingSet needs CAP_SETPCAP. Without it the set stays, which matters to user
// 0 alone, whom exec gives what is in it; the outside check refuses such a one.
func emptyBoundingSet() error {
	for c := uintptr(0); ; c++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		switch {
		case errors.Is(err, unix.EPERM):
			return nil
		case errors.Is(err, unix.EINVAL) && c > unix.CAP_SETFCAP:
			return nil // beyond the last one that this kernel knows
		case err != nil:
			return fmt.Errorf("drop capability %d: %w", c, err)
		}
	}
}

// becomeUser changes all identities of this thread, which is the one that execs.
func becomeUser(uid, gid int) error {
	if _, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, 0, 0, 0); errno != 0 {
		return fmt.Errorf("drop supplementary groups: %w", errno)
	}
	if err := unix.Setresgid(gid, gid, gid); err != nil {
		return fmt.Errorf("become group %d: %w", gid, err)
	}
	if err := unix.Setresuid(uid, uid, uid); err != nil {
		return fmt.Errorf("become user %d: %w", uid, err)
	}
	return nil
}

// isReachable reports whether somebody without any right can get to path.
func isReachable(path string) bool {
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	for dir := resolved; ; dir = filepath.Dir(dir) {
		st, err := os.Stat(dir)
		if err != nil || st.Mode()&0o001 == 0 {
			return false
		}
		if dir == filepath.Dir(dir) {
			return true
		}
	}
}

// amongOthers is the process limit of a run whose user namespace is not its own: the
// kernel counts every task of the user, so that those of now come on top (setrlimit(2)).
func (s *source) amongOthers(l execution.Limits) int64 {
	own := l.Processes
	if own <= 0 {
		own = s.shape.Processes
	}
	return int64(own + tasksOf(s.backend.identity.uid))
}

// tasksOf counts the tasks of a user that can be seen.
func tasksOf(uid int) int {
	names, _ := filepath.Glob("/proc/[0-9]*/status")
	tasks := 0
	for _, name := range names {
		status, err := os.ReadFile(name)
		if err != nil {
			continue // it ended meanwhile
		}
		if id, _, _ := strings.Cut(field(status, "Uid"), "\t"); id == strconv.Itoa(uid) {
			n, _ := strconv.Atoi(field(status, "Threads"))
			tasks += n
		}
	}
	return tasks
}

// outlast waits for the keeper of a child whose fork server is dead: it is no process of
// the kernel's that would be gone with a namespace.
func (c *child) outlast() {
	if !c.source.outside.bare || c.reaper == nil {
		return
	}
	c.signal()
	if !c.reaper.hasEnded(startTimeout) {
		c.source.backend.config.Logger.Error("the keeper of a child does not end", "child", c.id)
	}
}
