//go:build linux

package peers

import "strings"

// streams are standard input and descriptors.
func streams() map[string][]trial {
	return map[string][]trial{"16 STDIN": stdin(), "17 FD": descriptors()}
}

func stdin() []trial {
	const five = 5 << 20
	bulk := strings.Repeat("0123456789abcde\n", five/16)
	ended := want{status: "error", exit: 1, code: "EOFError", message: []string{"EOF when reading a line"}, stderrHas: []string{"EOFError: EOF when reading a line"}}
	prompted := ended
	prompted.stdout = "Name? "
	return []trial{
		{name: "none: input() ends", call: call{Code: "input()"}, want: ended},
		{name: "none: a prompt is printed first", call: call{Code: "input('Name? ')"}, want: prompted},
		{name: "none: read() is empty, again and again", call: call{Code: "import sys\n[sys.stdin.read(), sys.stdin.readline(), sys.stdin.read(), list(sys.stdin)]"}, want: want{value: `["", "", "", []]`, valueType: "list"}},
		{name: "none: a subprocess does not wait", call: call{Code: "import subprocess\nsubprocess.run(['cat']).returncode"}, want: want{value: "0", valueType: "int"}},
		{name: "none: a breakpoint does not hang", call: call{Code: "x = 1\nbreakpoint()\nprint('after')"}, want: want{
			status: "error", exit: 1, code: "SystemExit", message: []string{"code 1"}, stdoutHas: []string{"(Pdb)", "Quit anyway?"},
		}},
		{name: "none: a password", call: call{Code: "import getpass\ngetpass.getpass()"}, want: want{
			status: "error", exit: 1, code: "EOFError", stderrHas: []string{"EOFError"},
		}},
		{name: "none: help()", call: call{Code: "help()"}, want: want{stdoutHas: []string{"Welcome to Python"}}},
		{name: "none: an interactive console", call: call{Code: "import code\ncode.interact(banner='b', exitmsg='e')"}, want: want{stdout: ">>> ", stderr: "b\n\ne\n"}},
		{name: "lines by input()", call: call{Code: "int(input()) + int(input())", Stdin: "1\n2\n"}, want: want{value: "3", valueType: "int"}},
		{name: "input() until the end", call: call{Code: "n = 0\nwhile True:\n    try: n += len(input())\n    except EOFError: break\nn", Stdin: "ab\n\ncde"}, want: want{value: "5", valueType: "int"}},
		{name: "too few lines", call: call{Code: "input(), input()", Stdin: "one\n"}, want: ended},
		{name: "a last line without an end", call: call{Code: "import sys\nsys.stdin.readlines()", Stdin: "a\nb"}, want: want{value: `["a\n", "b"]`, valueType: "list"}},
		{name: "line by line", call: call{Code: "import sys\nfor line in sys.stdin: print(line.strip()[::-1])", Stdin: "ab\ncd\n"}, want: want{stdout: "ba\ndc\n"}},
		{name: "CRLF and lone CR as text", call: call{Code: "import sys\nsys.stdin.read()", Stdin: "a\r\nb\rc"}, want: want{value: `"a\nb\nc"`, valueType: "str"}},
		{name: "CRLF as bytes", call: call{Code: "import sys\nsys.stdin.buffer.read()", Stdin: "a\r\nb"}, want: want{value: `"b'a\\r\\nb'"`, valueType: "bytes"}},
		{name: "an empty line is not the end", call: call{Code: "[input(), input()]", Stdin: "\nx\n"}, want: want{value: `["", "x"]`, valueType: "list"}},
		{name: "NUL and control characters", call: call{Code: "import sys\nsys.stdin.read()", Stdin: "a\x00\x1b\x04\x1ab"}, want: want{value: `"a\u0000\u001b\u0004\u001ab"`, valueType: "str"}},
		{name: "a byte order mark is kept", call: call{Code: "import sys\nsys.stdin.buffer.read()[:3] == b'\\xef\\xbb\\xbf'", Stdin: "\ufeffa"}, want: want{value: "true", valueType: "bool"}},
		{name: "characters of four bytes", call: call{Code: "import sys\nlen(sys.stdin.read()), len(input.__name__)", Stdin: "\U0001f600\u0301"}, want: want{value: `"(2, 5)"`, valueType: "tuple"}},
		{name: "5 MB read at once", call: call{Code: "import sys\nlen(sys.stdin.read())", Stdin: bulk}, want: want{value: "5242880", valueType: "int"}},
		{name: "5 MB read in pieces", call: call{Code: "import os\nn = 0\nwhile b := os.read(0, 1000): n += len(b)\nn", Stdin: bulk}, want: want{value: "5242880", valueType: "int"}},
		{name: "5 MB given to a subprocess", call: call{Code: "import subprocess\nsubprocess.run(['wc', '-c'], capture_output=True, text=True).stdout.strip()", Stdin: bulk}, want: want{value: `"5242880"`, valueType: "str"}},
		{name: "5 MB that nobody reads", call: call{Code: "print('ignored')", Stdin: bulk}, want: want{stdout: "ignored\n"}},
		{name: "5 MB of which one line is read", call: call{Code: "input()", Stdin: bulk}, want: want{value: `"0123456789abcde"`, valueType: "str"}},
		{name: "5 MB and an endless run", call: call{Code: "while True: pass", Stdin: bulk, Timeout: 1}, want: want{
			status: "timeout", exit: -1, code: "TIMEOUT", message: []string{"timed out"}, stderr: "Execution timed out after 1 second.", then: inTime,
		}},
		{name: "more than is accepted", call: call{Code: "1", Stdin: strings.Repeat("x", 8<<20+1)}, want: want{
			status: "rejected", exit: -1, code: "INVALID_ARGUMENT", message: []string{"at most 8388608"}, stderr: "stdin: 8388609 bytes: at most 8388608 are accepted",
		}},
		{name: "closed early", call: call{Code: "import sys\nsys.stdin.close()\nprint('on')", Stdin: bulk}, want: want{stdout: "on\n"}},
		{name: "descriptor 0 closed early", call: call{Code: "import os\nos.close(0)\nprint('on')", Stdin: bulk}, want: want{stdout: "on\n"}},
		{name: "read after it was closed", call: call{Code: "import sys\nsys.stdin.close()\ninput()"}, want: want{
			status: "error", exit: 1, code: "ValueError", message: []string{"closed file"}, stderrHas: []string{"ValueError"},
		}},
		{name: "open(0), /dev/stdin and select", call: call{Code: "import select\nready = select.select([0], [], [], 5)[0]\nf = open(0, closefd=False)\n[ready, f.readline(), open('/dev/stdin').read() in ('b\\n', '')]", Stdin: "a\nb\n"}, want: want{value: `[[0], "a\n", true]`, valueType: "list"}},
		{name: "asyncio", call: call{Code: "import asyncio, sys\nr = asyncio.StreamReader()\nawait asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(r), sys.stdin)\n(await r.read()).decode()", Stdin: "in a loop"}, want: want{value: `"in a loop"`, valueType: "str"}},
		{name: "asyncio.to_thread(input)", call: call{Code: "import asyncio\nawait asyncio.to_thread(input)", Stdin: "t\n"}, want: want{value: `"t"`, valueType: "str"}},
		{name: "fileinput", call: call{Code: "import fileinput\n[l.strip() for l in fileinput.input()]", Stdin: "x\ny\n"}, want: want{value: `["x", "y"]`, valueType: "list"}},
		{name: "replaced by the program", call: call{Code: "import io, sys\nsys.stdin = io.StringIO('mine')\ninput()", Stdin: "theirs"}, want: want{value: `"mine"`, valueType: "str"}},
	}
}

func descriptors() []trial {
	bad := func(name, code string) trial {
		return trial{name: name, call: call{Code: code}, want: want{
			status: "error", exit: 1, code: "OSError", message: []string{"Bad file descriptor"}, stderrHas: []string{"Bad file descriptor"},
		}}
	}
	silent := bad("0, 1 and 2 closed, then print", "import os\nfor f in (0, 1, 2): os.close(f)\nprint('x')")
	silent.want.stderrHas = nil
	return []trial{
		{name: "only three and the guest's own are open", call: call{Code: "import os\nfds = [int(f) for f in os.listdir('/proc/self/fd')]\nlow = [f for f in fds if f < 3]\nprint(sorted(low), len(fds) <= 6)"}, want: want{stdout: "[0, 1, 2] True\n"}},
		{name: "a subprocess gets three", call: call{Code: "import subprocess\nsubprocess.run(['ls', '/proc/self/fd'], capture_output=True, text=True, close_fds=False).stdout.split()[:3]"}, want: want{value: `["0", "1", "2"]`, valueType: "list"}},
		{name: "a subprocess gets nothing of the guest", call: call{Code: "import subprocess\nlen(subprocess.run(['ls', '/proc/self/fd'], capture_output=True, text=True, close_fds=False).stdout.split())"}, want: want{value: "4", valueType: "int"}},
		bad("1 closed, then print", "import os\nos.close(1)\nprint('x')"),
		silent,
		{name: "2 closed, then an error", call: call{Code: "import os\nos.close(2)\n1 / 0"}, want: want{status: "error", exit: 1, code: "ZeroDivisionError", message: []string{"division by zero"}}},
		{name: "every descriptor closed", call: call{Code: "import os\nprint('x')\nos.closerange(0, 256)"}, want: want{stdout: "x\n"}},
		{name: "every descriptor but three closed, and a value", call: call{Code: "import os\nos.closerange(3, 256)\n5"}, want: want{value: "5", valueType: "int"}},
		{name: "every descriptor overwritten", call: call{Code: "import os\nfor f in range(3, 256): os.dup2(1, f)\nprint('x')"}, want: want{stdout: "x\n"}},
		{name: "stdout and stderr into a file", call: call{Code: "import os\nf = os.open('log', os.O_CREAT | os.O_RDWR)\nkeep = os.dup(1)\nos.dup2(f, 1)\nos.dup2(f, 2)\nprint('hidden')\nos.system('echo also; echo both >&2')\nos.dup2(keep, 1)\nopen('log').read()"}, want: want{value: `"hidden\nalso\nboth\n"`, valueType: "str"}},
		{name: "stdout and stderr exchanged", call: call{Code: "import os\nk = os.dup(1)\nos.dup2(2, 1)\nos.dup2(k, 2)\nprint('out')"}, want: want{stderr: "out\n"}},
		{name: "stderr into stdout", call: call{Code: "import os, sys\nos.dup2(1, 2)\nprint('e', file=sys.stderr)\n1 / 0"}, want: want{status: "error", exit: 1, code: "ZeroDivisionError", message: []string{"division by zero"}, stdoutHas: []string{"e\n", "Traceback", "ZeroDivisionError"}}},
		{name: "too many files", call: call{Code: "fs = []\nwhile True: fs.append(open('/dev/null'))"}, want: want{
			status: "error", exit: 1, code: "OSError", message: []string{"Too many open files"}, stderrHas: []string{"Too many open files"},
		}},
		{name: "too many sockets and pipes, and then none", call: call{Code: "import os, socket\nn, keep = 0, []\ntry:\n    while True: keep += [os.pipe(), socket.socketpair()]\nexcept OSError as e: print(e.errno)\nkeep.clear()\nfor i in range(3, 256):\n    try: i > 200 or os.fstat(i)\n    except OSError: pass\nprint('on')"}, want: want{stdout: "24\non\n"}},
		{name: "200 files are no trouble", call: call{Code: "fs = [open(f'{i}', 'w') for i in range(200)]\nprint(len(fs))"}, want: want{stdout: "200\n"}},
		{name: "files opened and forgotten", call: call{Code: "for i in range(2_000): open('/dev/null')\nprint('done')"}, want: want{stdout: "done\n"}},
		{name: "the limit cannot be raised", call: call{Code: "import resource\nsoft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)\ntry: resource.setrlimit(resource.RLIMIT_NOFILE, (hard + 1, hard + 1))\nexcept (ValueError, OSError): print('held', hard)"}, want: want{stdout: "held 256\n"}},
		{name: "sys.stdout closed, then print", call: call{Code: "import sys\nsys.stdout.close()\nprint('x')"}, want: want{
			status: "error", exit: 1, code: "ValueError", message: []string{"closed file"}, stderrHas: []string{"ValueError: I/O operation on closed file"},
		}},
		{name: "sys.stdout None", call: call{Code: "import sys\nsys.stdout = None\nprint('x')\n3"}, want: want{value: "3", valueType: "int"}},
		{
			name: "sys.stdout and sys.stderr deleted, then an error", call: call{Code: "import sys\ndel sys.stdout, sys.stderr\n1 / 0"},
			want: want{status: "error", exit: 1, code: "ZeroDivisionError", message: []string{"division by zero"}},
		},
		{name: "output kept by redirect_stdout", call: call{Code: "import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()) as f: print('kept')\nf.getvalue()"}, want: want{value: `"kept\n"`, valueType: "str"}},
		{name: "a stream of another encoding", call: call{Code: "import io, sys\nsys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding='latin-1')\nprint('é')"}, want: want{stdout: "\ufffd\n", lossy: true}},
		{name: "reconfigure", call: call{Code: "import sys\nsys.stdout.reconfigure(line_buffering=True, errors='strict')\nprint('é')"}, want: want{stdout: "é\n"}},
		{name: "a second owner of descriptor 1 that closes it", call: call{Code: "import os\nwith os.fdopen(1, 'w') as f: f.write('w')\nprint('x')"}, want: want{
			status: "error", exit: 1, code: "OSError", message: []string{"Bad file descriptor"}, stdout: "w", stderrHas: []string{"Bad file descriptor"},
		}},
		{name: "descriptors passed to a child", call: call{Code: "import os, subprocess\nr, w = os.pipe()\nos.dup2(w, 9)\nsubprocess.run('echo via >&9', shell=True, pass_fds=[9])\nos.close(9)\nos.close(w)\nopen(r).read() == 'via\\n'"}, want: want{value: "true", valueType: "bool"}},
		{name: "not blocking", call: call{Code: "import os, sys\nos.set_blocking(1, False)\nfor i in range(3): print('n' * 1000)"}, want: want{stdout: strings.Repeat(strings.Repeat("n", 1000)+"\n", 3)}},
		{name: "epoll, eventfd and timerfd exist", call: call{Code: "import os, select\nselect.epoll().close()\nfor f in (os.eventfd(1), os.timerfd_create(1)): os.close(f)\nprint('there')"}, want: want{stdout: "there\n"}},
		{name: "standard streams have no terminal", call: call{Code: "import os\ntry: os.ttyname(0)\nexcept OSError: print('none')\ntry: open('/dev/tty')\nexcept OSError: print('none')"}, want: want{stdout: "none\nnone\n"}},
	}
}
