//go:build linux && (amd64 || arm64)

package seccomp

import (
	"encoding/binary"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Offsets in struct seccomp_data (linux/seccomp.h). Both supported machines are
// little-endian, so that the low word of an argument comes first.
const (
	offsetNumber = 0
	offsetArch   = 4
	offsetArgs   = 16
)

const (
	verdictAllow = unix.SECCOMP_RET_ALLOW
	verdictKill  = unix.SECCOMP_RET_KILL_PROCESS
)

// verdict refuses with an error number.
func verdict(errno unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(errno) }

// Program is a filter in the form that prctl(PR_SET_SECCOMP) takes.
type Program []bpf.RawInstruction

// Bytes is the program as an array of struct sock_filter.
func (p Program) Bytes() []byte {
	b := make([]byte, 0, 8*len(p))
	for _, in := range p {
		b = binary.LittleEndian.AppendUint16(b, in.Op)
		b = append(b, in.Jt, in.Jf)
		b = binary.LittleEndian.AppendUint32(b, in.K)
	}
	return b
}

// test is how a condition looks at its argument.
type test int

const (
	anyBit  test = iota // refuse when a bit of value is set
	missing             // refuse when no bit of value is set
	differs             // refuse when the argument is none of values
	equals              // refuse when the argument is one of values
)

// condition refuses a call by one argument. Only the low 32 bits are looked at:
// the kernel itself ignores the rest of every argument that a condition names.
type condition struct {
	number uint32
	arg    uint32
	test   test
	values []uint32
	errno  unix.Errno
	// also is asked when this condition does not refuse.
	also *condition
}

// compile returns the instructions that decide the call; each path returns.
func (c condition) compile() []bpf.Instruction {
	refuse := bpf.RetConstant{Val: verdict(c.errno)}
	allow := bpf.RetConstant{Val: verdictAllow}
	out := []bpf.Instruction{bpf.LoadAbsolute{Off: offsetArgs + 8*c.arg, Size: 4}}
	match, otherwise := refuse, allow // a test that is met refuses
	jump := bpf.JumpEqual
	switch c.test {
	case anyBit:
		jump = bpf.JumpBitsSet
	case missing:
		jump, match, otherwise = bpf.JumpBitsSet, allow, refuse
	case differs:
		match, otherwise = allow, refuse
	case equals:
	}
	for i, v := range c.values {
		// A match skips the remaining tests and the return for no match.
		out = append(out, bpf.JumpIf{Cond: jump, Val: v, SkipTrue: uint8(len(c.values) - i)})
	}
	if c.also == nil {
		return append(out, otherwise, match)
	}
	if match == refuse {
		out = append(out, bpf.Jump{Skip: 1}, refuse)
	} else {
		out = append(out, refuse)
	}
	return append(out, c.also.compile()...)
}

// segment says that numbers from first on, up to the next segment, get verdict.
type segment struct {
	first   uint32
	verdict uint32
}

// tree is a binary search over segments, which start at number zero.
func tree(s []segment) []bpf.Instruction {
	if len(s) == 1 {
		return []bpf.Instruction{bpf.RetConstant{Val: s[0].verdict}}
	}
	middle := len(s) / 2
	low, high := tree(s[:middle]), tree(s[middle:])
	// A conditional jump reaches 255 instructions, an unconditional one any.
	out := []bpf.Instruction{
		bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: s[middle].first, SkipFalse: 1},
		bpf.Jump{Skip: uint32(len(low))},
	}
	return append(append(out, low...), high...)
}

// policy is what a program is compiled from.
type policy struct {
	// verdict decides a number that has no condition.
	verdict    func(number uint32) uint32
	conditions []condition
}

func (p policy) compile() Program {
	out := []bpf.Instruction{
		bpf.LoadAbsolute{Off: offsetArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: auditArch, SkipTrue: 1},
		bpf.RetConstant{Val: verdictKill},
		bpf.LoadAbsolute{Off: offsetNumber, Size: 4},
	}
	for _, c := range p.conditions {
		block := c.compile()
		out = append(out, bpf.JumpIf{Cond: bpf.JumpEqual, Val: c.number, SkipFalse: uint8(len(block))})
		out = append(out, block...)
	}
	raw, err := bpf.Assemble(append(out, tree(p.segments())...))
	if err != nil {
		// Only an instruction of this file can be at fault, and the tests
		// compile every program there is.
		panic("seccomp: " + err.Error())
	}
	return raw
}

// segments merges neighbours with one verdict.
func (p policy) segments() []segment {
	out := []segment{{0, p.verdict(0)}}
	for n := uint32(1); n <= newest+1; n++ {
		if v := p.verdict(n); v != out[len(out)-1].verdict {
			out = append(out, segment{n, v})
		}
	}
	return append(out, segment{foreignNumbers, verdict(unix.ENOSYS)})
}

// foreignNumbers is the first number of the x32 calls (x32 ABI: bit 30 set). No
// number that high exists on other machines.
const foreignNumbers = 0x40000000
