//go:build linux

package peers

import (
	"strings"
	"testing"
)

// output is what programs print, and how it comes out.
func output() map[string][]trial {
	return map[string][]trial{
		"01 OUT-BIG": big(), "02 OUT-INF": endless(), "03 OUT-UTF8": notUTF8(), "04 OUT-LOCALE": locale(),
		"05 OUT-STDERR": bothStreams(), "06 OUT-ANSI": terminal(), "07 OUT-PROTO": forged(), "08 OUT-ORDER": ordered(),
	}
}

const notShown = "are not shown here: read them with get_operation("

func big() []trial {
	return []trial{
		{name: "300 KB", call: call{Code: `print("x" * 300_000)`}, want: want{
			stdoutHas: []string{"xxxx", notShown, "xxxx\n"}, truncated: map[string]int64{"stdout": 300_001},
		}},
		{name: "50 MB in one print", call: call{Code: `print("x" * 50_000_000)`, Timeout: 30}, want: want{
			stdoutHas: []string{"xxxx", notShown, "xxxx\n"}, truncated: map[string]int64{"stdout": 50_000_001},
		}},
		{name: "200,000 lines", call: call{Code: "for i in range(200_000): print(i)", Timeout: 30}, want: want{
			stdoutHas: []string{"0\n1\n2\n", notShown, "199998\n199999\n"}, truncated: map[string]int64{"stdout": 1_288_890},
		}},
		{name: "both streams", call: call{Code: "import sys\nprint('o' * 40_000)\nprint('e' * 50_000, file=sys.stderr)"}, want: want{
			stdoutHas: []string{"oooo", notShown, `stream="stdout"`, "oooo\n"}, stderrHas: []string{"eeee", notShown, `stream="stderr"`, "eeee\n"},
			truncated: map[string]int64{"stdout": 40_001, "stderr": 50_001},
		}},
		{name: "just short enough", call: call{Code: `print("x" * 11_999)`}, want: want{stdout: strings.Repeat("x", 11_999) + "\n"}},
		{name: "a big value", call: call{Code: `"v" * 100_000`}, want: want{
			value: anyValue, valueType: "str", warnings: []string{"print or return the part that you need"}, then: bigValue,
		}},
		{name: "a big message", call: call{Code: `raise ValueError("m" * 300_000)`}, want: want{
			status: "error", exit: 1, code: "ValueError", message: []string{"mmmm", "left out", "mmmm"},
			stderrHas: []string{"Traceback", "ValueError: mmmm", "[… ", " of stderr ", "mmmm"}, truncated: map[string]int64{"stderr": 0},
		}},
		{name: "a bigger value", call: call{Code: `"v" * 300_000`}, want: want{
			value: anyValue, valueType: "str", warnings: []string{"too long"}, then: bigValue,
		}},
	}
}

// bigValue wants the beginning of the value and no more of it than an answer holds.
func bigValue(t *testing.T, a answer) {
	if len(a.Value) > 20_000 || !strings.HasPrefix(string(a.Value), `"`) || !strings.Contains(string(a.Value), "vvvv") {
		t.Errorf("the value is %d bytes: %.100s", len(a.Value), a.Value)
	}
}

func endless() []trial {
	limit := func(t *testing.T, a answer) {
		if a.Truncated["stdout"].Total+a.Truncated["stderr"].Total <= 64<<20 {
			t.Errorf("ended after %+v", a.Truncated)
		}
	}
	ended := want{
		status: "output_limit", exit: -1, code: "OUTPUT_LIMIT", message: []string{"printed more than 64 MiB"},
		stdoutHas: []string{"1234567890", notShown, "1234567890"}, stderr: "Execution printed more than 64 MiB.",
		truncated: map[string]int64{"stdout": 0}, then: limit,
	}
	return []trial{
		{name: "while True print", call: call{Code: "while True: print('1234567890' * 100)", Timeout: 60}, want: ended},
		{name: "by a subprocess", call: call{Code: "import subprocess\nsubprocess.run(['yes', '1234567890'])", Timeout: 60}, want: ended},
		{name: "by a program that ignores errors", call: call{Code: "while True:\n    try: print('1234567890' * 1000)\n    except BaseException: pass", Timeout: 60}, want: ended},
	}
}

func notUTF8() []trial {
	lost := []string{"lone surrogates"}
	return []trial{
		{name: "bytes that are no text", call: call{Code: "import sys\n_ = sys.stdout.buffer.write(b'ok\\xff\\xfe\\x00\\xed\\xa0\\x80')"}, want: want{
			stdoutHas: []string{"ok\ufffd", "\x00\ufffd"}, lossy: true,
		}},
		{name: "bytes that are no text on stderr", call: call{Code: "import sys\n_ = sys.stderr.buffer.write(b'\\xc3\\x28 end')"}, want: want{stderr: "\ufffd( end", lossy: true}},
		{name: "half a character at the end", call: call{Code: "import os\n_ = os.write(1, b'ok\\xe2\\x82')"}, want: want{stdout: "ok\ufffd", lossy: true}},
		{name: "one character in three writes", call: call{Code: "import os\nfor b in '€'.encode(): os.write(1, bytes([b]))"}, want: want{stdout: "€"}},
		{name: "UTF-16", call: call{Code: "import sys\n_ = sys.stdout.buffer.write('hé'.encode('utf-16'))"}, want: want{stdout: "\ufffdh\x00\ufffd\x00", lossy: true}},
		{name: "every byte", call: call{Code: "import sys\n_ = sys.stdout.buffer.write(bytes(range(256)))"}, want: want{stdoutHas: []string{"\x00\x01", "0123", "xyz"}, lossy: true}},
		{name: "only a replacement character of the program's own", call: call{Code: `print("\ufffd")`}, want: want{stdout: "\ufffd\n"}},
		cutInside("€", 0), cutInside("€", 1), cutInside("€", 2), cutInside("\U0001f600", 0), cutInside("\U0001f600", 3),
		{name: "lone surrogate as value", call: call{Code: `"a\ud800b"`}, want: want{value: `"a\ufffdb"`, valueType: "str", warnings: lost}},
		{name: "lone surrogates inside a value", call: call{Code: `{"\ud800": ["\udfff", 1]}`}, want: want{value: `{"\ufffd": ["\ufffd", 1]}`, valueType: "dict", warnings: lost}},
		{name: "two surrogates that make one character", call: call{Code: `"\ud83d\ude00"`}, want: want{value: "\"\U0001f600\"", valueType: "str"}},
		{name: "lone surrogate printed", call: call{Code: `print("\ud800")`}, want: want{stdout: "\\ud800\n"}},
		{name: "lone surrogate in an error", call: call{Code: `raise ValueError("x\udcff")`}, want: want{
			status: "error", exit: 1, code: "ValueError", message: []string{`x\udcff`}, stderrHas: []string{"ValueError: x"},
		}},
		{name: "value of bytes", call: call{Code: `b"\xff\x00"`}, want: want{value: `"b'\\xff\\x00'"`, valueType: "bytes"}},
	}
}

// cutInside prints characters of several bytes so that a cut falls inside one.
func cutInside(char string, shift int) trial {
	code := `import sys` + "\n" + `_ = sys.stdout.write("a" * ` + string(rune('0'+shift)) + ` + "` + char + `" * 200_000)`
	total := int64(shift + 200_000*len(char))
	return trial{
		name: "cut inside " + char + " shifted by " + string(rune('0'+shift)), call: call{Code: code},
		want: want{
			stdoutHas: []string{char, notShown, char}, truncated: map[string]int64{"stdout": total},
			then: func(t *testing.T, a answer) {
				if strings.Contains(a.Stdout, "\ufffd") {
					t.Error("a character was broken")
				}
			},
		},
	}
}

func locale() []trial {
	smile := "\U0001f600"
	return []trial{
		{name: "in the code and the output", call: call{Code: "print('" + smile + "', len('" + smile + "'))\n'" + smile + "'"}, want: want{
			stdout: smile + " 1\n", value: `"` + smile + `"`, valueType: "str",
		}},
		{name: "in stdin", call: call{Code: "input()", Stdin: smile + "é\n"}, want: want{value: `"` + smile + `é"`, valueType: "str"}},
		{name: "in the name of a given file", call: call{
			Code:  "import os\nprint(open('" + smile + "/ü.txt').read(), os.listdir('.'), os.listdir(b'.') == ['" + smile + "'.encode()])",
			Files: []file{{Path: smile + "/ü.txt", Text: "naïve"}},
		}, want: want{stdout: "naïve ['" + smile + "'] True\n"}},
		{name: "in the name and content of a written file", call: call{
			Code: "from pathlib import Path\nPath('" + smile + "').write_text('☃')\nprint([p.name for p in Path().iterdir()], Path('" + smile + "').read_bytes())",
		}, want: want{stdout: "['" + smile + "'] b'\\xe2\\x98\\x83'\n"}},
		{name: "in the environment of a subprocess", call: call{
			Code: "import os, subprocess\nos.environ['E'] = '" + smile + "'\nsubprocess.run(['sh', '-c', 'printf %s \"$E\"'], check=True)\nNone",
		}, want: want{stdout: smile}},
		{name: "in arguments and output of a subprocess", call: call{
			Code: "import subprocess\nsubprocess.run(['echo', '" + smile + "'], capture_output=True, text=True).stdout",
		}, want: want{value: `"` + smile + `\n"`, valueType: "str"}},
		{name: "in variables", call: call{Code: "v['é'] + '!'", Variables: map[string]any{"v": map[string]string{"é": smile}}}, want: want{value: `"` + smile + `!"`, valueType: "str"}},
		{name: "in an error", call: call{Code: "raise ValueError('" + smile + "')"}, want: want{
			status: "error", exit: 1, code: "ValueError", message: []string{smile}, stderrHas: []string{"raise ValueError('" + smile + "')", "ValueError: " + smile},
		}},
		{name: "every encoding is UTF-8", call: call{
			Code: "import locale, sys\nprint(sys.stdin.encoding, sys.stdout.encoding, sys.stderr.encoding, sys.getfilesystemencoding(), locale.getpreferredencoding(), open('f', 'w').encoding)",
		}, want: want{stdoutHas: []string{"utf-8 utf-8 utf-8 utf-8 utf-8 "}, then: func(t *testing.T, a answer) {
			if !strings.HasSuffix(strings.ToLower(a.Stdout), " utf-8\n") {
				t.Errorf("files are opened as %q", a.Stdout)
			}
		}}},
		{name: "the server's own environment stays out", call: call{Code: "import os\n'EMOJI' in os.environ"}, want: want{value: "false", valueType: "bool"}},
	}
}

func bothStreams() []trial {
	return []trial{
		{name: "a warning is no failure", call: call{Code: "import warnings\nwarnings.warn('x')\nprint('ok')"}, want: want{
			stdout: "ok\n", stderr: "<cell>:2: UserWarning: x\n  warnings.warn('x')\n",
		}},
		{name: "a warning at compile time", call: call{Code: `print("\d")`}, want: want{stdout: "\\d\n", stderrHas: []string{"<cell>:1: SyntaxWarning", `print("\d")`}}},
		{name: "a deprecation of the program's own", call: call{Code: "import warnings\nwarnings.warn('old', DeprecationWarning)"}, want: want{stderrHas: []string{"<cell>:2: DeprecationWarning: old"}}},
		{name: "text on stderr alone", call: call{Code: "import sys\nprint('e', file=sys.stderr)"}, want: want{stderr: "e\n"}},
		{name: "logging", call: call{Code: "import logging\nlogging.warning('careful')"}, want: want{stderr: "WARNING:root:careful\n"}},
		{name: "of a subprocess", call: call{Code: "import subprocess\nsubprocess.run(['sh', '-c', 'echo out; echo err >&2'])\nNone"}, want: want{stdout: "out\n", stderr: "err\n"}},
		{name: "a subprocess that fails is no failure of the program", call: call{Code: "import subprocess\nsubprocess.run(['false']).returncode"}, want: want{value: "1", valueType: "int"}},
	}
}
