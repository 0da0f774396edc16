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

// fillPending is one process that fills connections which nobody accepts, and keeps
// no descriptor of them.
const fillPending = `import socket
n = 0
while True:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"/tmp/{n}")
    listener.listen(4096)
    for _ in range(4096):
        c = socket.socket(socket.AF_UNIX)
        c.setblocking(False)
        try:
            c.connect(f"/tmp/{n}")
            while True: c.send(bytes(65000))
        except OSError: pass
        c.close()
    n += 1`

func TestMemoryInSocketsIsBounded(t *testing.T) {
	limits := execution.DefaultLimits()
	limits.Memory = 128 << 20
	for name, code := range map[string]string{"pairs": fillSockets, "connections": fillPending} {
		t.Run(name, func(t *testing.T) {
			out := drive(t, open(t, sandbox.Shape{}), sandboxtest.Program{Code: code, Arm: sandbox.Arm{Limits: limits}})
			if out.Ended.Cause != sandbox.CauseMemory {
				t.Errorf("%+v\n%s", out.Ended, out.Stderr)
			}
		})
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
