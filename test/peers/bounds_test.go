//go:build linux

package peers

import "testing"

// bounds are programs that want more than there is.
func bounds() map[string][]trial {
	return map[string][]trial{"12 FORKBOMB": bombs(), "15 OOM": hungry()}
}

// reached is what a run is warned of that met the limit while somebody looked.
const reached = "the limit of 64 processes and threads was met"

func bombs() []trial {
	full := want{status: "process_limit", exit: 1, code: "PROCESS_LIMIT", stderrHas: []string{"Traceback"}, truncated: map[string]int64{"stderr": 0}, perhaps: reached}
	bomb := full
	bomb.message, bomb.stderrHas = []string{"64"}, []string{"BlockingIOError: [Errno 11] Resource temporarily unavailable"}
	threads := full
	threads.message = []string{"can't start new thread", "64"}
	return []trial{
		{name: "while True fork", call: call{Code: "import os\nwhile True: os.fork()"}, want: bomb},
		{name: "fork until it fails, children asleep", call: call{Code: "import os, time\nwhile True:\n    if os.fork() == 0: time.sleep(60)"}, want: bomb},
		{name: "subprocesses until it fails", call: call{Code: "import subprocess\nwhile True: subprocess.Popen(['sleep', '60'])"}, want: bomb},
		{name: "100,000 threads", call: call{Code: "import threading, time\nfor i in range(100_000): threading.Thread(target=time.sleep, args=(60,), daemon=True).start()"}, want: threads},
		{name: "the program sees EAGAIN and goes on", call: call{Code: "import errno, os, time\nn = 0\ntry:\n    while True:\n        if os.fork() == 0: time.sleep(60)\n        n += 1\nexcept OSError as e:\n    print(e.errno == errno.EAGAIN, 30 < n < 64)"}, want: want{
			stdout: "True True\n", perhaps: reached,
		}},
		{name: "many processes one after the other", call: call{Code: "import os\nfor i in range(500):\n    if os.fork() == 0: os._exit(0)\n    os.wait()\nprint('done')", Timeout: 60}, want: want{stdout: "done\n"}},
		{name: "many threads one after the other", call: call{Code: "import threading\nfor i in range(500):\n    t = threading.Thread(target=int)\n    t.start()\n    t.join()\nprint('done')", Timeout: 60}, want: want{stdout: "done\n"}},
		{name: "as many threads as honest programs use", call: call{Code: "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(32) as p: print(sum(p.map(abs, range(1000))))"}, want: want{stdout: "499500\n"}},
	}
}

func hungry() []trial {
	inside := want{status: "memory_limit", exit: 1, code: "MEMORY_LIMIT", message: []string{"512 MiB"}, stderrHas: []string{"MemoryError"}}
	grown := inside
	grown.then = peak(300 << 20)
	killed := want{
		status: "memory_limit", exit: -1, code: "MEMORY_LIMIT", message: []string{"used more than 512 MiB of memory"},
		stderr: "Execution used more than 512 MiB of memory.", then: peak(300 << 20),
	}
	full := want{status: "disk_limit", exit: 1, code: "DISK_LIMIT", message: []string{"64 MiB"}, stderrHas: []string{"OSError: [Errno "}}
	fullAtEnd := full
	fullAtEnd.perhaps = "the scratch space of 64 MiB"
	return []trial{
		{name: "one string that is far too long", call: call{Code: "b = 'x' * 10 ** 10"}, want: inside},
		{name: "a list that grows", call: call{Code: "l = []\nwhile True: l.append(bytearray(10 ** 6))", Timeout: 60}, want: grown},
		{name: "small objects that grow", call: call{Code: "l = []\nwhile True: l.append(object())", Timeout: 60}, want: grown},
		{name: "the program catches it and goes on", call: call{Code: "try:\n    b = bytearray(10 ** 10)\nexcept MemoryError:\n    print('smaller then')"}, want: want{stdout: "smaller then\n"}},
		{name: "several processes together", call: call{Code: "import os, time\nfor i in range(6):\n    if os.fork() == 0: b = b'x' * (150 << 20); time.sleep(30)\ntime.sleep(30)", Timeout: 60}, want: killed},
		{name: "a child", call: call{Code: "import os\npid = os.fork()\nif pid == 0:\n    try: bytearray(10 ** 10)\n    except MemoryError: os._exit(5)\nos.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])"}, want: want{value: "5", valueType: "int"}},
		{name: "shared memory that is mapped", call: call{Code: "import mmap\nm = [mmap.mmap(-1, 100 << 20) for i in range(9)]\nfor x in m:\n    for i in range(0, len(x), 4096): x[i] = 1", Timeout: 60}, want: want{
			status: "memory_limit", exit: 1, code: "MEMORY_LIMIT", message: []string{"Cannot allocate memory"}, stderrHas: []string{"OSError: [Errno 12]"},
		}},
		{name: "/dev/shm", call: call{Code: "f = open('/dev/shm/x', 'wb')\nwhile True: f.write(b'x' * 10 ** 6)"}, want: fullAtEnd},
		{name: "/tmp", call: call{Code: "import os\nwhile True: open(f'/tmp/{len(os.listdir(\"/tmp\"))}', 'wb').write(b'x' * 10 ** 6)"}, want: fullAtEnd},
		{name: "a temporary file", call: call{Code: "import tempfile\nf = tempfile.TemporaryFile()\nwhile True: f.write(b'x' * 10 ** 6)"}, want: full},
		{name: "/workspace", call: call{Code: "from pathlib import Path\nfor i in range(99): Path(str(i)).write_bytes(b'x' * 10 ** 6)"}, want: fullAtEnd},
		{name: "files without content", call: call{Code: "for i in range(9999): open(f'/tmp/{i}', 'w').close()"}, want: fullAtEnd},
		{name: "a full disk that the program handles", call: call{Code: "import os\ntry:\n    with open('big', 'wb') as f:\n        while True: f.write(b'x' * 10 ** 6)\nexcept OSError:\n    os.unlink('big')\nprint(open('small', 'w').write('fits'))"}, want: want{stdout: "4\n"}},
	}
}

// peak wants the answer to tell that at least so much memory was in use.
func peak(least int64) func(*testing.T, answer) {
	return func(t *testing.T, a answer) {
		if a.MemoryPeak < least || a.MemoryPeak > 1<<30 {
			t.Errorf("memory_peak_bytes is %d", a.MemoryPeak)
		}
	}
}
