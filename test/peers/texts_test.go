//go:build linux

package peers

import "strings"

// texts are the spellings of source, and what a program finds around it.
func texts() map[string][]trial {
	return map[string][]trial{"22 TEXT": spellings(), "23 HOME": surroundings()}
}

func spellings() []trial {
	refused := func(name, code, message string) trial {
		return trial{name: name, call: call{Code: code}, want: want{
			status: "rejected", exit: -1, code: "INVALID_ARGUMENT", message: []string{message}, stderrHas: []string{"code: ", message},
		}}
	}
	filename := raises("a filename that is no text", `open("\udcff.txt", "w").write("x")`+"\nimport os\nos.listdir(b'.')", "", "")
	filename.want = want{value: `"[b'\\xff.txt']"`, valueType: "list"}
	return []trial{
		prints("byte order mark", "\ufeffprint('bom')", "bom\n"),
		prints("CRLF", "print('a')\r\nif True:\r\n    print('b')\r\n", "a\nb\n"),
		prints("CR", "print('a')\rprint('b')", "a\nb\n"),
		prints("line ends of all kinds", "print(1)\r\nprint(2)\rprint(3)\nprint(4)", "1\n2\n3\n4\n"),
		value("CRLF inside a string", "'''a\r\nb\rc'''", `"a\nb\nc"`, "str"),
		value("CRLF behind a backslash", "x = 1 + \\\r\n    2\nx", "3", "int"),
		raises("the line of an error behind CRLF", "a = 1\r\n\r\n1 / 0\r\n", "ZeroDivisionError", "division by zero"),
		prints("no line's end", "print(1)", "1\n"),
		prints("many empty lines", "\n\n\nprint(1)\n\n\n", "1\n"),
		prints("tabs", "if True:\n\tprint('tab')\n\tif True:\n\t\tprint('two')", "tab\ntwo\n"),
		raises("tabs and spaces", "if 1:\n        print(1)\n\tprint(2)", "TabError", "inconsistent use of tabs and spaces"),
		raises("an indented program", "  print(1)\n  print(2)", "IndentationError", "unexpected indent"),
		raises("a fence around it", "```python\nprint(1)\n```", "SyntaxError", "invalid syntax"),
		raises("a prompt before it", ">>> print(1)", "SyntaxError", "invalid syntax"),
		raises("typographic quotes", "print(“x”)", "SyntaxError", "invalid character '“' (U+201C)"),
		raises("a no-break space", "x =\u00a01", "SyntaxError", "invalid non-printable character U+00A0"),
		raises("a zero width space", "x = 1\u200b", "SyntaxError", "invalid non-printable character U+200B"),
		raises("a full-width parenthesis", "print（1）", "SyntaxError", "invalid character '（' (U+FF08)"),
		refused("form feed", "print(1)\n\fprint(2)", "control character U+000C in line 2"),
		refused("NUL", "print(1)\nx = '\x00'", "control character U+0000 in line 2"),
		refused("vertical tab", "x = 1\v", "control character U+000B in line 1"),
		refused("next line, U+0085", "x = 'a\u0085b'", "control character U+0085 in line 1"),
		refused("delete", "x = 1 \x7f", "control character U+007F"),
		refused("nothing", "", "empty"),
		refused("only white space", " \n\t\r\n ", "empty"),
		prints("only a comment", "# nothing", ""),
		refused("more than a megabyte", strings.Repeat("#", 1<<20+1), "1048577 bytes of source: at most 1048576"),
		value("line and paragraph separators are no line's end", "x = 'a\u2028b\u2029c'\nlen(x), len(x.splitlines())", `"(5, 3)"`, "tuple"),
		{name: "the line of an error behind U+2028", call: call{Code: "x = 'a\u2028b'\n1 / 0"}, want: want{
			status: "error", exit: 1, code: "ZeroDivisionError", message: []string{"division by zero"}, stderrHas: []string{"line 2, in <module>\n    1 / 0\n    ~~^~~\n"},
		}},
		value("characters beyond the basic plane", "'\U0001f600\U00020000'.encode('utf-16-le').hex()", `"3dd800de40d800dc"`, "str"),
		value("identifiers of all scripts", "π = 3; имя = 4; 変数 = 5; 𝒳 = 6\nπ + имя + 変数 + X", "18", "int"),
		value("one identifier composed and decomposed", "caf\u00e9 = 1\ncafe\u0301", "1", "int"),
		value("strings are not normalised", "'\u00e9' == 'e\u0301', len('e\u0301')", `"(False, 2)"`, "tuple"),
		value("compatibility characters in an identifier", "ﬁ = 2\nfi", "2", "int"),
		value("an emoji sequence", "len('👩‍👩‍👧')", "5", "int"),
		raises("an emoji as an identifier", "😀 = 1", "SyntaxError", "invalid character '😀' (U+1F600)"),
		value("text that runs the other way", "'\u202eabc\u202c'[1]", `"a"`, "str"),
		value("a line of a megabyte", "x = '"+strings.Repeat("é", 500_000)+"'\nlen(x)", "500000", "int"),
		value("an expression of many terms", strings.Repeat("1 + ", 3_000)+"0", "3000", "int"),
		value("4,000 lines", strings.Repeat("x = 1\n", 4_000)+"x", "1", "int"),
		value("a list of 10,000 numbers", "len(["+strings.Repeat("1,", 10_000)+"])", "10000", "int"),
		value("a cookie for Latin-1 is a comment", "# -*- coding: latin-1 -*-\nascii('é')", `"'\\xe9'"`, "str"),
		value("a cookie for UTF-7 is a comment", "# coding: utf-7\n'+AOk-'", `"+AOk-"`, "str"),
		value("a cookie that does not exist", "# coding: no-such-codec\n1", "1", "int"),
		prints("a first line for the shell", "#!/usr/bin/env python3\nprint(1)", "1\n"),
		raises("Python 2", "print 'x'", "SyntaxError", "Missing parentheses in call to 'print'"),
		raises("a string that does not end", "x = 'abc", "SyntaxError", "unterminated string literal"),
		raises("brackets that do not end", "x = (1,\n2", "SyntaxError", "'(' was never closed"),
		raises("return at the top", "return 5", "SyntaxError", "'return' outside function"),
		value("a backslash at the end of the text", "x = 1\n\\\n\nx", "1", "int"),
		value("escapes", `'\N{SNOWMAN}\u00e9\U0001f600\x41\101\0' == '☃é😀AA' + chr(0)`, "true", "bool"),
		value("raw, byte, formatted and template strings", `rb'\x', f'{1 + 1!r:>3}', f"{'a' + "b"}"`, `"(b'\\\\x', '  2', 'ab')"`, "tuple"),
		value("a number too long for text", "len(str(10 ** 4299))", "4300", "int"),
		raises("a number longer than the interpreter's guard", "str(10 ** 5000)", "ValueError", "Exceeds the limit (4300 digits)"),
		value("numbers that JSON does not have", "[float('nan'), float('inf'), 2 ** 60, 1j]", `"[nan, inf, 1152921504606846976, 1j]"`, "list"),
		value("the largest whole number of JSON", "[2 ** 53, -2 ** 53]", "[9007199254740992, -9007199254740992]", "list"),
		value("a whole number beyond it", "2 ** 53 + 1", `"9007199254740993"`, "int"),
		value("keys that are no text", "{1: 'a'}", `"{1: 'a'}"`, "dict"),
		value("a value that contains itself", "l = [1]\nl.append(l)\nl", `"[1, [...]]"`, "list"),
		value("NUL in a value", `"a\0b"`, `"a\u0000b"`, "str"),
		prints("NUL in the output", `print("a\0b")`, "a\x00b\n"),
		raises("NUL in a file name", `open("a\0b")`, "ValueError", "embedded null"),
		filename,
		{name: "a filename that is no text, from bytes", call: call{Code: "import os\nos.close(os.open(b'\\xff.txt', os.O_CREAT | os.O_WRONLY))\nos.listdir('.')"}, want: want{
			value: `["\ufffd.txt"]`, valueType: "list", warnings: []string{"lone surrogates"},
		}},
		prints("a filename that is no text, printed", "import os\nos.close(os.open(b'\\xff.txt', os.O_CREAT | os.O_WRONLY))\nprint(os.listdir('.')[0])", "\\udcff.txt\n"),
		value("the longest file name", "open('n' * 255, 'w').close()\nimport os\nlen(os.listdir('.')[0])", "255", "int"),
		raises("a file name that is too long", "open('n' * 256, 'w')", "OSError", "File name too long"),
		value("names with blanks, quotes and line ends", "import os\nfor n in ('a b', 'q\"\\'', 'l\\nl', '-rf', '*'): open(n, 'w').close()\nsorted(os.listdir('.'))", `["*", "-rf", "a b", "l\nl", "q\"'"]`, "list"),
	}
}

func surroundings() []trial {
	return []trial{
		prints("home", "import os\nfrom pathlib import Path\nprint(Path.home(), os.path.expanduser('~'), os.environ['HOME'], os.getcwd())", "/workspace /workspace /workspace /workspace\n"),
		value("home can be written", "import os\np = os.environ['HOME'] + '/.config/app/x'\nos.makedirs(os.path.dirname(p))\nopen(p, 'w').write('1')", "1", "int"),
		value("~ is the program's own home", "from pathlib import Path\np = Path('~/.config/app/x').expanduser()\np.parent.mkdir(parents=True)\np.write_text('1')", "1", "int"),
		value("Path.home()", "from pathlib import Path\n(Path.home() / 'x').write_text('1')", "1", "int"),
		value("the user has a name", "import getpass, os, pwd\np = pwd.getpwuid(os.getuid())\n[getpass.getuser(), p.pw_name, p.pw_dir, os.getuid() == p.pw_uid != 0, os.access(p.pw_shell, os.X_OK)]", `["sandbox", "sandbox", "/workspace", true, true]`, "list"),
		value("the group has a name", "import grp, os\ngrp.getgrgid(os.getgid()).gr_name", `"sandbox"`, "str"),
		value("temporary files", "import tempfile\nwith tempfile.NamedTemporaryFile('w+', delete=False) as f: f.write('t')\nwith tempfile.TemporaryDirectory() as d: pass\n[tempfile.gettempdir(), open(f.name).read(), d.startswith('/tmp/')]", `["/tmp", "t", true]`, "list"),
		value("a spooled temporary file and mkstemp", "import os, tempfile\nwith tempfile.SpooledTemporaryFile(10) as f: f.write(b'x' * 99); f.seek(0); n = len(f.read())\nfd, p = tempfile.mkstemp(dir='.')\nos.close(fd)\nn", "99", "int"),
		value("shared memory", "from multiprocessing import shared_memory\ns = shared_memory.SharedMemory(create=True, size=64)\ns.buf[0] = 7\nr = s.buf[0]\ns.close(); s.unlink()\nr", "7", "int"),
		value("locks between processes", "import multiprocessing as mp\nl = mp.Lock()\nv = mp.Value('i', 0)\ndef f():\n    for _ in range(50):\n        with l: v.value += 1\nps = [mp.Process(target=f) for _ in range(3)]\n[p.start() for p in ps]; [p.join() for p in ps]\nv.value", "150", "int"),
		value("time zones", "import datetime as d\nfrom zoneinfo import ZoneInfo, available_timezones\nt = d.datetime(2026, 7, 1, 12, tzinfo=ZoneInfo('Europe/Zurich'))\n[t.isoformat(), len(available_timezones()) > 400, d.datetime.now().astimezone().tzname()]", `["2026-07-01T12:00:00+02:00", true, "UTC"]`, "list"),
		value("the clock", "import time\n2_000_000_000 > time.time() > 1_700_000_000, time.monotonic() > 0, time.tzname[0]", `"(True, True, 'UTC')"`, "tuple"),
		value("another time zone by environment", "import os, time\nos.environ['TZ'] = 'Asia/Tokyo'\ntime.tzset()\ntime.strftime('%Z', time.localtime(0))", `"JST"`, "str"),
		value("TLS", "import ssl\nc = ssl.create_default_context()\n[c.verify_mode == ssl.CERT_REQUIRED, ssl.OPENSSL_VERSION.startswith('OpenSSL 3')]", "[true, true]", "list"),
		value("random bytes", "import os, random, secrets, uuid\n[len(os.urandom(8)), 0 <= random.random() < 1, len(secrets.token_hex(4)), uuid.uuid4().version, len(open('/dev/urandom', 'rb').read(4))]", "[8, true, 8, 4, 4]", "list"),
		value("devices", "import os\nopen('/dev/null', 'w').write('x')\nopen('/dev/full', 'wb', 0)\n[open('/dev/zero', 'rb').read(2) == bytes(2), sorted(set(os.listdir('/dev')) & {'null', 'zero', 'full', 'random', 'urandom', 'shm', 'fd', 'stdin', 'stdout', 'stderr'})]", `[true, ["fd", "full", "null", "random", "shm", "stderr", "stdin", "stdout", "urandom", "zero"]]`, "list"),
		value("host name", "import socket, platform\n[socket.gethostname() != '', platform.node() == socket.gethostname(), platform.system()]", `[true, true, "Linux"]`, "list"),
		value("processors", "import os\nos.cpu_count() >= 1, len(os.sched_getaffinity(0)) >= 1, os.process_cpu_count() >= 1", `"(True, True, True)"`, "tuple"),
		value("a local server of its own", "import socket, threading\ns = socket.socket(socket.AF_UNIX)\ns.bind('/tmp/s'); s.listen()\nthreading.Thread(target=lambda: s.accept()[0].sendall(b'hi')).start()\nc = socket.socket(socket.AF_UNIX)\nc.connect('/tmp/s')\nc.recv(2).decode()", `"hi"`, "str"),
		raises("no network, said at once", "import socket\nsocket.socket()", "OSError", "Address family not supported by protocol"),
		value("sqlite3 in a file and in memory", "import sqlite3\nfor n in (':memory:', 'x.db'):\n    c = sqlite3.connect(n)\n    c.execute('create table t (a)'); c.execute('insert into t values (3)'); c.commit()\nc.execute('select a from t').fetchone()[0]", "3", "int"),
		value("dbm, shelve and mmap", "import mmap, shelve\nwith shelve.open('s') as s: s['k'] = [1]\nwith shelve.open('s') as s: v = s['k']\nwith open('m', 'w+b') as f:\n    f.write(b'abcd'); f.flush()\n    with mmap.mmap(f.fileno(), 0) as m: m[0:1] = b'X'\nv, open('m').read()", `"([1], 'Xbcd')"`, "tuple"),
		value("compiled files can be written", "open('mod_x.py', 'w').write('A = 1')\nimport mod_x, py_compile\npy_compile.compile('mod_x.py') is not None", "true", "bool"),
		value("file locks, links and modes", "import fcntl, os\nf = open('l', 'w')\nfcntl.flock(f, fcntl.LOCK_EX)\nos.symlink('l', 's'); os.link('l', 'h'); os.chmod('l', 0o600); os.utime('l', (1, 2))\n[os.readlink('s'), os.stat('h').st_nlink, oct(os.stat('l').st_mode)[-3:], os.stat('l').st_mtime]", `["l", 2, "600", 2.0]`, "list"),
		value("the system cannot be written", "import os\nout = []\nfor p in ('/x', '/usr/x', '/etc/x', '/python/x', '/proc/x', '/dev/x'):\n    try: os.close(os.open(p, os.O_CREAT | os.O_WRONLY)); out.append(p)\n    except OSError: pass\nout", "[]", "list"),
		value("zip, tar and hashes", "import hashlib, io, tarfile, zipfile\nb = io.BytesIO()\nwith zipfile.ZipFile(b, 'w', zipfile.ZIP_DEFLATED) as z: z.writestr('a', 'b' * 99)\nwith tarfile.open('t.tar.xz', 'w:xz') as t: t.addfile(tarfile.TarInfo('e'))\n[zipfile.ZipFile(b).namelist(), tarfile.open('t.tar.xz').getnames(), hashlib.sha256(b'').hexdigest()[:8]]", `[["a"], ["e"], "e3b0c442"]`, "list"),
		value("locale", "import locale\nlocale.setlocale(locale.LC_ALL, '') in ('C.UTF-8', 'LC_CTYPE=C.UTF-8;LC_NUMERIC=C;LC_TIME=C;LC_COLLATE=C;LC_MONETARY=C;LC_MESSAGES=C')", "true", "bool"),
		value("the environment holds nothing of the host", "import os\nsorted(k for k in os.environ if k.startswith(('PYTHON', 'LD_', 'GEARBOX', 'AWS_', 'SSH', 'XDG', 'EMOJI')))", "[]", "list"),
		value("the interpreter names itself", "import subprocess, sys\n[sys.version_info >= (3, 14), sys.executable != '', sys.prefix != '', sys.flags.utf8_mode]", "[true, true, true, 1]", "list"),
		{name: "the interpreter starts another", call: call{Code: "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'print(6 * 7)'], capture_output=True, text=True, check=True).stdout"}, want: want{value: `"42\n"`, valueType: "str"}},
	}
}
