//go:build linux

package peers

import (
	"fmt"
	"strings"
	"testing"
)

// shells are the same reports in bash. They run as soon as the server runs bash.
func shells() map[string][]trial {
	sh := func(name, code string, w want) trial {
		return trial{name: "bash " + name, call: call{Code: strings.ReplaceAll(code, "MARK", marker(100)), Language: "bash"}, want: w}
	}
	fails := func(exit int) want {
		return want{status: "error", exit: exit, code: "EXIT", message: []string{fmt.Sprintf("the program exited with code %d", exit)}}
	}
	wedged := func(name, code string) trial {
		tr := sh(name, "echo before\n"+code, want{
			status: "timeout", exit: -1, code: "TIMEOUT", message: []string{"timed out after 1 second"},
			stdoutHas: []string{"before\n"}, stderrHas: []string{"Execution timed out after 1 second."}, then: inTime,
		})
		tr.call.Timeout = 1
		return tr
	}
	hi := want{stdout: "hi\n", then: gone(marker(100))}
	pipe := sh("reader and writer of a named pipe", "mkfifo p\n(while true; do echo child; sleep 1; done) > p &\ncat p; sleep MARK", want{
		status: "timeout", exit: -1, code: "TIMEOUT", message: []string{"timed out after 2 seconds"},
		stdoutHas: []string{"child\n"}, stderr: "Execution timed out after 2 seconds.", then: gone(marker(100)),
	})
	pipe.call.Timeout = 2
	given := sh("reads", "read a; cat; echo \"[$a]\"", want{stdout: "two\n[one]\n"})
	given.call.Stdin = "one\ntwo\n"
	endless := sh("yes", "yes 1234567890", want{
		status: "output_limit", exit: -1, code: "OUTPUT_LIMIT", message: []string{"printed more than 64 MiB"},
		stdoutHas: []string{"1234567890", notShown}, stderr: "Execution printed more than 64 MiB.", truncated: map[string]int64{"stdout": 0},
		then: func(t *testing.T, a answer) {
			if a.Truncated["stdout"].Total <= 64<<20 {
				t.Errorf("ended after %+v", a.Truncated)
			}
		},
	})
	endless.call.Timeout = 60
	return map[string][]trial{
		"01 OUT-BIG":  {sh("300 KB", "head -c 300000 /dev/zero | tr '\\0' x", want{stdoutHas: []string{"xxx", notShown, "xxx"}, truncated: map[string]int64{"stdout": 300_000}})},
		"02 OUT-INF":  {endless},
		"03 OUT-UTF8": {sh("bytes that are no text", `printf 'ok\377'`, want{stdout: "ok\ufffd", lossy: true})},
		"04 OUT-LOCALE": {
			sh("characters", "x='😀é'; echo \"$x ${#x}\"; touch \"$x\"; ls", want{stdout: "😀é 2\n😀é\n"}),
		},
		"05 OUT-STDERR": {sh("both streams", "echo out; echo err >&2", want{stdout: "out\n", stderr: "err\n"})},
		"06 OUT-ANSI":   {sh("colours", `printf '\033[31mred\033[0m\a\r'`, want{stdout: "\x1b[31mred\x1b[0m\a\r"})},
		"07 OUT-PROTO":  {sh("descriptors 3 to 20", `for f in {3..20}; do (eval "echo x >&$f") 2>/dev/null; done; echo end`, want{stdout: "end\n"})},
		"08 OUT-ORDER":  {sh("a pipeline", "seq 3 | sort -r; echo end", want{stdout: "3\n2\n1\nend\n"})},
		"09 EXIT": {
			sh("exit 3", "exit 3", fails(3)), sh("the last command's", "true; false", fails(1)), sh("set -e", "set -e; false; echo no", fails(1)),
			sh("true", "false; true", want{}),
			sh("SIGKILL", "kill -9 $$", want{status: "error", exit: 137, signal: "SIGKILL", code: "SIGKILL", message: []string{"SIGKILL"}, stderr: "The program was ended by the signal SIGKILL."}),
			sh("a file that is not there", ". ./nofile; echo $?", want{stdout: "1\n", stderrHas: []string{"nofile: No such file"}}),
			sh("trap on exit", "trap 'echo bye' EXIT; echo hi", want{stdout: "hi\nbye\n"}),
		},
		"10 TMO-WEDGE": {
			wedged("sleep", "sleep 30"), wedged("busy loop", "while :; do :; done"), wedged("signals ignored", "trap '' TERM INT HUP; while :; do sleep 5; done"),
			wedged("wait", "sleep 30 & wait"), wedged("stopped", "kill -STOP $$"), wedged("here-string of a substitution", "cat <<<\"$(sleep 30)\""),
		},
		"11 BG-PIPE": {
			sh("a job", "sleep MARK & echo hi", hi), sh("nohup", "nohup sleep MARK >/dev/null 2>&1 & echo hi", hi),
			sh("disown", "sleep MARK & disown; echo hi", hi), sh("two forks", "( (sleep MARK) & ) ; echo hi", hi),
			sh("coproc", "coproc sleep MARK; echo hi", hi), sh("process substitution", "exec 3> >(sleep MARK); echo hi", hi), pipe,
		},
		"12 FORKBOMB": {sh("the well-known one", ":(){ :|:& };:\necho started", want{stdout: "started\n", stderrHas: []string{}, truncated: map[string]int64{"stderr": 0}, perhaps: reached})},
		// At the limit of processes bash would say on its stderr that it tries again: it waits before.
		"13 ZOMBIE": {sh("1,000 orphans", "for i in $(seq 1000); do ( (exit 3) & )\nwhile p=(/proc/[0-9]*); ((${#p[@]} > 40)); do :; done; done; echo done", want{stdout: "done\n", perhaps: reached})},
		"16 STDIN":  {given, sh("none", "read x; echo \"$? [$x]\"", want{stdout: "1 []\n"})},
		"17 FD":     {sh("1 closed", "exec 1>&-; echo x; exit 0", want{stderrHas: []string{"write error"}}), sh("redirected and back", "exec 3>&1 1>log; echo kept; exec 1>&3; cat log", want{stdout: "kept\n"})},
		"20 SCOPE":  {sh("functions, arrays, locals", "f() { local n=$1; [ $n -le 1 ] && echo 1 || echo $((n * $(f $((n - 1))))); }\na=(1 2 3); declare -A m=([k]=v)\necho $(f 5) ${#a[@]} ${m[k]} ${n-unset}", want{stdout: "120 3 v unset\n"})},
		"22 TEXT":   {sh("CRLF", "echo a\r\nif true; then\r\n  echo b\r\nfi\r\n", want{stdout: "a\nb\n"}), sh("here-document", "cat <<'E'\n$x `y`\nE", want{stdout: "$x `y`\n"})},
		"23 HOME":   {sh("surroundings", "cd; pwd; whoami; echo $HOME; f=$(mktemp) && echo ok > $f && cat $f", want{stdout: "/workspace\nsandbox\n/workspace\nok\n"})},
	}
}
