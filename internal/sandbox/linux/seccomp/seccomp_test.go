//go:build linux && (amd64 || arm64)

package seccomp

import (
	"encoding/binary"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// call is one system call as a filter sees it.
type call struct {
	number uint32
	args   [6]uint64
	arch   uint32 // 0 is that of this machine
}

// run interprets a program. The interpreter reads big-endian packets where the
// kernel reads words of struct seccomp_data, so that each word is stored turned.
func run(t testing.TB, p Program, c call) uint32 {
	t.Helper()
	var instructions []bpf.Instruction
	for _, raw := range p {
		instructions = append(instructions, raw.Disassemble())
	}
	vm, err := bpf.NewVM(instructions)
	if err != nil {
		t.Fatal(err)
	}
	if c.arch == 0 {
		c.arch = auditArch
	}
	var data [64]byte
	binary.BigEndian.PutUint32(data[offsetNumber:], c.number)
	binary.BigEndian.PutUint32(data[offsetArch:], c.arch)
	for i, a := range c.args {
		binary.BigEndian.PutUint32(data[offsetArgs+8*i:], uint32(a))
		binary.BigEndian.PutUint32(data[offsetArgs+8*i+4:], uint32(a>>32))
	}
	v, err := vm.Run(data[:])
	if err != nil {
		t.Fatal(err)
	}
	return uint32(v)
}

const allow = uint32(verdictAllow)

func TestCellDecidesEachCall(t *testing.T) {
	eperm, enosys, noFamily := verdict(unix.EPERM), verdict(unix.ENOSYS), verdict(unix.EAFNOSUPPORT)
	const high = 0xffffffff00000000
	for name, c := range map[string]struct {
		call
		want uint32
	}{
		"read":                        {call{number: unix.SYS_READ}, allow},
		"openat":                      {call{number: unix.SYS_OPENAT}, allow},
		"execve":                      {call{number: unix.SYS_EXECVE}, allow},
		"futex":                       {call{number: unix.SYS_FUTEX}, allow},
		"mmap":                        {call{number: unix.SYS_MMAP}, allow},
		"pidfd_open":                  {call{number: unix.SYS_PIDFD_OPEN}, allow},
		"seccomp":                     {call{number: unix.SYS_SECCOMP}, allow},
		"mount":                       {call{number: unix.SYS_MOUNT}, eperm},
		"open_tree":                   {call{number: unix.SYS_OPEN_TREE}, eperm},
		"unshare":                     {call{number: unix.SYS_UNSHARE}, eperm},
		"setns":                       {call{number: unix.SYS_SETNS}, eperm},
		"ptrace":                      {call{number: unix.SYS_PTRACE}, eperm},
		"process_vm_readv":            {call{number: unix.SYS_PROCESS_VM_READV}, eperm},
		"pidfd_getfd":                 {call{number: unix.SYS_PIDFD_GETFD}, eperm},
		"bpf":                         {call{number: unix.SYS_BPF}, eperm},
		"io_uring_setup":              {call{number: unix.SYS_IO_URING_SETUP}, eperm},
		"keyctl":                      {call{number: unix.SYS_KEYCTL}, eperm},
		"userfaultfd":                 {call{number: unix.SYS_USERFAULTFD}, eperm},
		"perf_event_open":             {call{number: unix.SYS_PERF_EVENT_OPEN}, eperm},
		"open_by_handle_at":           {call{number: unix.SYS_OPEN_BY_HANDLE_AT}, eperm},
		"memfd_create":                {call{number: unix.SYS_MEMFD_CREATE}, eperm},
		"memfd_secret":                {call{number: unix.SYS_MEMFD_SECRET}, eperm},
		"shmget":                      {call{number: unix.SYS_SHMGET}, eperm},
		"shmat":                       {call{number: unix.SYS_SHMAT}, eperm},
		"msgget":                      {call{number: unix.SYS_MSGGET}, eperm},
		"mq_open":                     {call{number: unix.SYS_MQ_OPEN}, eperm},
		"chroot":                      {call{number: unix.SYS_CHROOT}, eperm},
		"init_module":                 {call{number: unix.SYS_INIT_MODULE}, eperm},
		"clone3":                      {call{number: unix.SYS_CLONE3}, enosys},
		"newest known":                {call{number: newest}, eperm},
		"newer than known":            {call{number: newest + 1}, enosys},
		"far away":                    {call{number: 0x3fffffff}, enosys},
		"first x32":                   {call{number: foreignNumbers}, enosys},
		"x32 read":                    {call{number: foreignNumbers | unix.SYS_READ}, enosys},
		"x32 execve":                  {call{number: foreignNumbers | 520}, enosys},
		"minus one":                   {call{number: 0xffffffff}, enosys},
		"fork by clone":               {call{number: unix.SYS_CLONE, args: [6]uint64{uint64(unix.SIGCHLD)}}, allow},
		"thread":                      {call{number: unix.SYS_CLONE, args: [6]uint64{unix.CLONE_VM | unix.CLONE_THREAD | unix.CLONE_SIGHAND}}, allow},
		"clone newuser":               {call{number: unix.SYS_CLONE, args: [6]uint64{unix.CLONE_NEWUSER | uint64(unix.SIGCHLD)}}, eperm},
		"clone newns":                 {call{number: unix.SYS_CLONE, args: [6]uint64{unix.CLONE_NEWNS}}, eperm},
		"clone newpid":                {call{number: unix.SYS_CLONE, args: [6]uint64{unix.CLONE_NEWPID}}, eperm},
		"clone newnet":                {call{number: unix.SYS_CLONE, args: [6]uint64{unix.CLONE_NEWNET}}, eperm},
		"clone newipc":                {call{number: unix.SYS_CLONE, args: [6]uint64{unix.CLONE_NEWIPC}}, eperm},
		"clone newuts":                {call{number: unix.SYS_CLONE, args: [6]uint64{unix.CLONE_NEWUTS}}, eperm},
		"clone newcgroup":             {call{number: unix.SYS_CLONE, args: [6]uint64{unix.CLONE_NEWCGROUP}}, eperm},
		"clone flags above 32 bits":   {call{number: unix.SYS_CLONE, args: [6]uint64{high | unix.CLONE_NEWUSER}}, eperm},
		"socket unix":                 {call{number: unix.SYS_SOCKET, args: [6]uint64{unix.AF_UNIX}}, allow},
		"socket inet":                 {call{number: unix.SYS_SOCKET, args: [6]uint64{unix.AF_INET}}, noFamily},
		"socket inet6":                {call{number: unix.SYS_SOCKET, args: [6]uint64{unix.AF_INET6}}, noFamily},
		"socket netlink":              {call{number: unix.SYS_SOCKET, args: [6]uint64{unix.AF_NETLINK}}, noFamily},
		"socket vsock":                {call{number: unix.SYS_SOCKET, args: [6]uint64{unix.AF_VSOCK}}, noFamily},
		"socket inet in high bits":    {call{number: unix.SYS_SOCKET, args: [6]uint64{high | unix.AF_INET}}, noFamily},
		"setsockopt SO_REUSEADDR":     {call{number: unix.SYS_SETSOCKOPT, args: [6]uint64{0, unix.SOL_SOCKET, unix.SO_REUSEADDR}}, allow},
		"setsockopt SO_SNDBUF":        {call{number: unix.SYS_SETSOCKOPT, args: [6]uint64{0, unix.SOL_SOCKET, unix.SO_SNDBUF}}, verdict(0)},
		"setsockopt SO_RCVBUFFORCE":   {call{number: unix.SYS_SETSOCKOPT, args: [6]uint64{0, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE}}, verdict(0)},
		"ioctl TCGETS":                {call{number: unix.SYS_IOCTL, args: [6]uint64{0, unix.TCGETS}}, allow},
		"ioctl TIOCSTI":               {call{number: unix.SYS_IOCTL, args: [6]uint64{0, unix.TIOCSTI}}, eperm},
		"ioctl TIOCSTI in high bits":  {call{number: unix.SYS_IOCTL, args: [6]uint64{0, high | unix.TIOCSTI}}, eperm},
		"ioctl TIOCLINUX":             {call{number: unix.SYS_IOCTL, args: [6]uint64{0, unix.TIOCLINUX}}, eperm},
		"prlimit64 of itself":         {call{number: unix.SYS_PRLIMIT64}, allow},
		"prlimit64 of another":        {call{number: unix.SYS_PRLIMIT64, args: [6]uint64{1}}, eperm},
		"personality query":           {call{number: unix.SYS_PERSONALITY, args: [6]uint64{personalityQuery}}, allow},
		"personality linux":           {call{number: unix.SYS_PERSONALITY}, allow},
		"personality no random":       {call{number: unix.SYS_PERSONALITY, args: [6]uint64{0x0040000}}, eperm},
		"mknodat fifo":                {call{number: unix.SYS_MKNODAT, args: [6]uint64{0, 0, unix.S_IFIFO | 0o600}}, allow},
		"mknodat character device":    {call{number: unix.SYS_MKNODAT, args: [6]uint64{0, 0, unix.S_IFCHR | 0o600}}, eperm},
		"mknodat block device":        {call{number: unix.SYS_MKNODAT, args: [6]uint64{0, 0, unix.S_IFBLK | 0o600}}, eperm},
		"read of a foreign machine":   {call{number: unix.SYS_READ, arch: unix.AUDIT_ARCH_I386}, verdictKill},
		"unknown of another machine":  {call{number: 0xffffffff, arch: unix.AUDIT_ARCH_ARM}, verdictKill},
		"socket of a foreign machine": {call{number: unix.SYS_SOCKET, args: [6]uint64{unix.AF_UNIX}, arch: unix.AUDIT_ARCH_MIPS}, verdictKill},
	} {
		if got := run(t, Cell(), c.call); got != c.want {
			t.Errorf("%s: verdict %#x, want %#x", name, got, c.want)
		}
	}
}

// TestCellAgreesWithItsLists walks through every branch of the search tree.
func TestCellAgreesWithItsLists(t *testing.T) {
	allowed, conditional := set(allowedEverywhere, allowedHere), conditionNumbers()
	p := Cell()
	for n := uint32(0); n <= newest+8; n++ {
		if conditional[n] {
			if allowed[n] {
				t.Errorf("call %d is in a list and has a condition", n)
			}
			continue
		}
		if got := run(t, p, call{number: n}); (got == allow) != allowed[n] {
			t.Errorf("call %d: verdict %#x", n, got)
		}
	}
}

func conditionNumbers() map[uint32]bool {
	out := map[uint32]bool{}
	for _, c := range cellConditions() {
		out[c.number] = true
	}
	return out
}

func TestReaperMayOnlyWait(t *testing.T) {
	allowed := set(reaperCalls)
	p := Reaper()
	for n := uint32(0); n <= newest+8; n++ {
		if got := run(t, p, call{number: n}); (got == allow) != allowed[n] {
			t.Errorf("call %d: verdict %#x", n, got)
		}
	}
	for _, n := range []uint32{unix.SYS_WRITE, unix.SYS_EXECVE, unix.SYS_CLONE, unix.SYS_KILL, unix.SYS_PRCTL} {
		if allowed[n] {
			t.Errorf("the reaper may call %d", n)
		}
	}
}

func TestStackedFiltersRefuseOnlyTheirCalls(t *testing.T) {
	vfork := uint64(unix.CLONE_VM | unix.CLONE_VFORK | int(unix.SIGCHLD))
	for name, c := range map[string]struct {
		program Program
		call
		want uint32
	}{
		"no fork: fork by clone": {NoFork(), call{number: unix.SYS_CLONE, args: [6]uint64{uint64(unix.SIGCHLD)}}, verdict(unix.EPERM)},
		"no fork: posix_spawn":   {NoFork(), call{number: unix.SYS_CLONE, args: [6]uint64{vfork}}, verdict(unix.EPERM)},
		"no fork: thread":        {NoFork(), call{number: unix.SYS_CLONE, args: [6]uint64{unix.CLONE_VM | unix.CLONE_THREAD}}, allow},
		"no fork: clone3":        {NoFork(), call{number: unix.SYS_CLONE3}, verdict(unix.ENOSYS)},
		"no fork: execve":        {NoFork(), call{number: unix.SYS_EXECVE}, allow},
		"no fork: x32":           {NoFork(), call{number: foreignNumbers | 57}, verdict(unix.ENOSYS)},
		"no fork: foreign":       {NoFork(), call{number: unix.SYS_READ, arch: unix.AUDIT_ARCH_I386}, verdictKill},
		"no exec: execve":        {NoExec(), call{number: unix.SYS_EXECVE}, verdict(unix.EACCES)},
		"no exec: execveat":      {NoExec(), call{number: unix.SYS_EXECVEAT}, verdict(unix.EACCES)},
		"no exec: x32 execve":    {NoExec(), call{number: foreignNumbers | 520}, verdict(unix.ENOSYS)},
		"no exec: clone":         {NoExec(), call{number: unix.SYS_CLONE}, allow},
		"no exec: foreign":       {NoExec(), call{number: unix.SYS_READ, arch: unix.AUDIT_ARCH_I386}, verdictKill},
	} {
		if got := run(t, c.program, c.call); got != c.want {
			t.Errorf("%s: verdict %#x, want %#x", name, got, c.want)
		}
	}
	for _, n := range forkCallsHere {
		if got := run(t, NoFork(), call{number: n}); got != verdict(unix.EPERM) {
			t.Errorf("no fork: call %d: verdict %#x", n, got)
		}
	}
}

func TestBytesAreTheKernelsForm(t *testing.T) {
	for name, p := range map[string]Program{"cell": Cell(), "reaper": Reaper(), "no fork": NoFork(), "no exec": NoExec()} {
		b := p.Bytes()
		// BPF_MAXINSNS bounds a program.
		if len(b) != 8*len(p) || len(p) > 4096 {
			t.Errorf("%s: %d bytes for %d instructions", name, len(b), len(p))
		}
		first := p[0]
		if binary.LittleEndian.Uint16(b) != first.Op || b[2] != first.Jt || b[3] != first.Jf || binary.LittleEndian.Uint32(b[4:]) != first.K {
			t.Errorf("%s: first instruction %+v is % x", name, first, b[:8])
		}
	}
}

// FuzzCellNeverAllowsWhatIsNotListed: whatever the number, the machine and the
// arguments, a call is allowed only if a list or a condition says so.
func FuzzCellNeverAllowsWhatIsNotListed(f *testing.F) {
	f.Add(uint32(unix.SYS_READ), uint32(auditArch), uint64(0), uint64(0), uint64(0))
	f.Add(uint32(unix.SYS_CLONE), uint32(auditArch), uint64(unix.CLONE_NEWUSER), uint64(0), uint64(0))
	f.Add(uint32(foreignNumbers), uint32(auditArch), uint64(1), uint64(2), uint64(3))
	f.Add(uint32(unix.SYS_MOUNT), uint32(unix.AUDIT_ARCH_I386), uint64(0), uint64(0), uint64(0))
	f.Add(uint32(unix.SYS_IOCTL), uint32(auditArch), uint64(0), uint64(unix.TIOCSTI), uint64(0))
	allowed, conditional := set(allowedEverywhere, allowedHere), conditionNumbers()
	p := Cell()
	f.Fuzz(func(t *testing.T, number, arch uint32, a, b, c uint64) {
		got := run(t, p, call{number: number, arch: arch, args: [6]uint64{a, b, c}})
		switch {
		case arch != 0 && arch != auditArch:
			if got != verdictKill {
				t.Errorf("machine %#x: verdict %#x", arch, got)
			}
		case got == allow && !allowed[number] && !conditional[number]:
			t.Errorf("call %d is allowed", number)
		case got == allow && number == unix.SYS_CLONE && uint32(a)&namespaceFlags != 0:
			t.Errorf("clone with flags %#x is allowed", a)
		case got == allow && number == unix.SYS_SOCKET && uint32(a) != unix.AF_UNIX:
			t.Errorf("socket of family %d is allowed", a)
		case got == verdictKill:
			t.Errorf("call %d kills", number)
		}
	})
}
