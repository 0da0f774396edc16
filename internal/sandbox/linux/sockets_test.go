//go:build linux && (amd64 || arm64)

package linux

import (
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
	"github.com/gearbox-mcp/gearbox/internal/sandbox/sandboxtest"
)

// fillSockets is a program of a few processes that fill sockets which nobody reads.
const fillSockets = `import os, socket, time
for _ in range(8):
    if os.fork() == 0:
        keep = []
        while True:
            for s in socket.socketpair():
                keep.append(s)
                s.setblocking(False)
                s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22)
                try:
                    while True: s.send(bytes(65536))
                except BlockingIOError: pass
time.sleep(600)`

func TestMemoryInSocketsIsBounded(t *testing.T) {
	limits := execution.DefaultLimits()
	limits.Memory = 128 << 20
	out := drive(t, open(t, sandbox.Shape{}), sandboxtest.Program{Code: fillSockets, Arm: sandbox.Arm{Limits: limits}})
	if out.Ended.Cause != sandbox.CauseMemory {
		t.Errorf("%+v\n%s", out.Ended, out.Stderr)
	}
}

func TestABufferOfASocketStaysAsItIs(t *testing.T) {
	out := run(t, open(t, sandbox.Shape{}), `import socket
a, b = socket.socketpair()
before = a.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
a.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22)
a.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
a.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) == before`)
	if out.Result == nil || string(out.Result.Value) != "true" {
		t.Errorf("%+v\n%s", out.Result, out.Stderr)
	}
}
