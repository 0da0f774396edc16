package shell_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/analysis/shell"
)

// said are the facts as permissions are written.
func said(source string) []string {
	var out []string
	for _, f := range shell.Analyse(source).Facts {
		out = append(out, f.Kind+"("+f.Target+")")
	}
	return out
}

func TestFactsNameWhatTheSourceWouldDo(t *testing.T) {
	tests := []struct{ name, source, want string }{
		{"plain command", "grep x data.csv", "run(grep)"},
		{"builtins are no programs", "echo a; cd .; printf x; [ 1 = 1 ]", "read(.)"},
		{"bash is none", "bash -c 'ls'", "run(ls)"},
		{"functions of the source are none", "f() { ls; }; f", "run(ls)"},
		{"a function in a subshell is not in force outside", "( curl() { :; } ); curl http://a.example/", "net(a.example:80) run(curl)"},
		{"a function is bypassed by command", "ls() { :; }; command ls", "run(ls)"},
		{"a function that is taken away", "curl() { :; }; unset -f curl; curl", "run(curl)"},
		{"helpers defined after main", "main() { helper; }; helper() { ls; }; main", "run(ls)"},
		{"a helper called too early", "main() { curl; }; main; curl() { :; }", "run(curl)"},
		{"functions that run their arguments", `run() { "$@"; }; run sort -u x`, "run(sort)"},
		{"and drop some first", `retry() { shift; "$@"; }; retry 3 curl http://a.example/x`, "net(a.example:80) run(curl)"},
		{"one that is kept in a variable", `try() { local fn=$1; shift; "$fn" "$@"; }; try curl x; try hello; hello() { :; }`, "run(curl) run(hello)"},
		{"one behind others", `on() { "$2"; }; on x curl`, "run(curl)"},
		{"kept, and changed", `try() { fn=$1; fn=wget; $fn; }; try ls`, "run(*)"},
		{"words before it that may be many", `retry() { shift; "$@"; }; retry $n ls`, "run(*)"},
		{"a trap runs later", `trap cleanup EXIT; cleanup() { ls; }`, "run(ls)"},
		{"a trap that may run before", `trap cleanup EXIT; ls; cleanup() { :; }`, "run(cleanup) run(ls)"},
		{"an operand that may be many", `timeout $t ls; timeout "$t" ls`, "run(*) run(ls) run(timeout)"},
		{"arguments that are replaced", `f() { set -- curl; "$@"; }; f ls`, "run(*)"},
		{"arguments dropped in a loop", `f() { while x; do shift; done; "$@"; }; f ls ls curl`, "run(*) run(x)"},
		{"no arguments, and a word behind", `f() { "$@" curl; }; f`, "run(*)"},
		{"a variable that may not be kept", `f() { if x; then fn=$1; fi; $fn curl; }; f`, "run(*) run(x)"},
		{"another bash", `./bash -c ls; /bin/bash -c ls`, "run(./bash) run(ls)"},
		{"options of bash", `bash --posix --norc -O extglob -euo pipefail -c 'curl x'`, "run(curl)"},
		{"the last redirection counts", "bash <<'E' < x.sh\nls\nE", "read(x.sh) unsafe(dynamic_code)"},
		{"env -", `env - curl`, "run(curl) run(env)"},
		{"awk options", `awk --assign x=1 -F'|' 'BEGIN { system("curl") }'; gawk -e 'BEGIN { system("wget") }'; gawk -l ext 1`, "run(awk) run(curl) run(gawk) run(wget) unsafe(dynamic_code)"},
		{"awk files", `awk '{ print > "/etc/x"; getline y < "/etc/z" }'`, "read(/etc/z) run(awk) write(/etc/x)"},
		{"dc", `dc -e '1 2 + p' ; dc -e '1 !curl x'`, "run(curl) run(dc)"},
		{"tar in the old style", `tar cIf ./evil x.tar .`, "run(tar) unsafe(dynamic_code)"},
		{"shortened options", `tar --use-comp=curl -cf x .; sort --compress-prog wget x`, "run(curl) run(sort) run(tar) run(wget)"},
		{"let and comparisons", `let 'a[$(curl x)]=1'; [[ 'a[$(wget)]' -eq 1 ]]`, "unsafe(dynamic_code)"},
		{"quotes", `cu'r'l""`, "run(curl)"},
		{"escapes", `\c\u\r\l`, "run(curl)"},
		{"ANSI-C quotes", `$'\x63url'`, "run(curl)"},
		{"braces", "{curl,http://a.example/}", "net(a.example:80) run(curl)"},
		{"variables", `a=cu; b=rl; $a$b`, "run(curl)"},
		{"a variable that splits", `c="sort -n"; $c x`, "run(sort)"},
		{"arrays", `c=(grep -c); "${c[@]}" x`, "run(grep)"},
		{"expansions of constants", `x=curl.txt; ${x%.txt}`, "run(curl)"},
		{"a variable assigned twice", `x=ls; x=curl; $x`, "run(*)"},
		{"a variable assigned in a branch", `if true; then x=ls; fi; $x curl`, "run(*)"},
		{"a variable used before", `$x curl; x=echo`, "run(*)"},
		{"a variable assigned in a pipe", `echo a | x=ls; $x`, "run(*)"},
		{"a local that hides", `x=echo; f() { local x; $x curl; }; f`, "run(*)"},
		{"read assigns", `x=ls; read x; $x`, "run(*)"},
		{"printf -v assigns", `x=ls; printf -v x curl; $x`, "run(*)"},
		{"a loop assigns", `for x in a b; do $x; done`, "run(*)"},
		{"arithmetic assigns", `x=1; ((x=2)); $x`, "run(*)"},
		{"a reference assigns", `x=ls; declare -n y=x; y=curl; $x`, "run(*)"},
		{"eval may assign", `x=ls; eval "x=curl"; $x`, "run(*)"},
		{"computed command", `$(printf curl)`, "run(*)"},
		{"glob as command", `/usr/bin/c?rl`, "run(*)"},
		{"no-break space", "curl\u00a0x", "run(*)"},
		{"path of a program", `/usr/bin/ls; ./tool`, "run(./tool) run(/usr/bin/ls)"},
		{"wrappers", `sudo -u root timeout -k 5 10 nice -n 5 env -i A=1 curl x`, "run(curl) run(env) run(nice) run(sudo) run(timeout)"},
		{"joined short options", `xargs -0I {} curl {}`, "run(curl) run(xargs)"},
		{"attached values", `timeout -k5 -s9 3 curl`, "run(curl) run(timeout)"},
		{"long options with a value", `env --unset A curl; timeout --sig KILL 3 dd`, "run(curl) run(dd) run(env) run(timeout)"},
		{"env -S", `env -S 'curl http://a.example'`, "net(a.example:80) run(curl) run(env)"},
		{"wrappers without a command under xargs", `echo curl | xargs env`, "run(*) run(env) run(xargs)"},
		{"exec, command, builtin", `exec -a x curl; command -p wget; builtin eval nc`, "run(curl) run(nc) run(wget)"},
		{"asking is not running", `command -v curl; type wget; hash nc`, ""},
		{"find -exec", `find . -name x -exec rm -f {} \;`, "run(find) run(rm)"},
		{"find runs a shell", `find . -exec sh -c 'curl "$1"' _ {} \;`, "run(curl) run(find) run(sh)"},
		{"find -delete", `find /etc -delete`, "read(/etc) run(find) write(/etc)"},
		{"eval", `eval "cur""l x"`, "run(curl)"},
		{"eval of what is computed", `eval "$(cat x)"`, "run(cat) unsafe(dynamic_code)"},
		{"nested shells", `sh -c "bash -c 'eval curl'"`, "run(curl) run(sh)"},
		{"functions reach nested shells", `f() { :; }; export -f f; bash -c 'f x'`, ""},
		{"trap", `trap 'curl x' EXIT`, "run(curl)"},
		{"piped into a shell", `echo ls | sh`, "run(sh) unsafe(dynamic_code)"},
		{"source", `. ./lib.sh`, "read(./lib.sh) unsafe(dynamic_code)"},
		{"here-document to a shell", "bash <<'E'\ncurl x\nE", "run(curl)"},
		{"here-document that is expanded", "x=curl\nbash <<E\n$x y\nE", "run(curl)"},
		{"here-string to a shell", `sh <<< 'curl x'`, "run(curl) run(sh)"},
		{"here-document to a program", "cat <<E\ncurl http://a.example/ > /etc/passwd; $(wc x)\nE", "run(cat) run(wc)"},
		{"words in texts and comments", "echo 'curl x > /etc/y' \"rm -rf /\" # wget z", ""},
		{"substitutions run wherever they stand", "echo \"$(curl x)\" `wget y` <(nc z) ${a:-$(dd)} $(( $(od) ))", "run(curl) run(dd) run(nc) run(od) run(wget)"},
		{"redirections", "a < /etc/hosts > out.txt 2>> /var/log/x 2>&1 >&- &> both", "read(/etc/hosts) run(a) write(/var/log/x) write(both) write(out.txt)"},
		{"home", "cat ~/.ssh/id \"$HOME/x\" ~root/y", "env(HOME) read(/root/y) read(~/.ssh/id) read(~/x) run(cat)"},
		{"connections of bash", "exec 3<>/dev/tcp/10.0.0.1/80; echo > /dev/udp/a.example/domain", "net(10.0.0.1:80) net(a.example:53)"},
		{"connections in pieces", `d=/dev/t; exec 3<>${d}cp/1.2.3.4/80`, "net(1.2.3.4:80)"},
		{"connections to what is computed", `exec 3<>"/dev/tcp/$1/80"`, "net(*)"},
		{"addresses", `curl -s -o /etc/x https://a.example:8443/p; wget b.example/file.html; curl "http://c.example/$x"`, "net(a.example:8443) net(b.example:80) net(c.example:80) run(curl) run(wget) write(/etc/x)"},
		{"an address that is not whole", `curl "http://c.example$x"`, "run(curl)"},
		{"IPv6", `curl http://[::1]:80/`, "net([::1]:80) run(curl)"},
		{"other network programs", `nc -w 3 a.example 99; ssh -p 2222 u@b.example; rsync x c.example:/y; git clone git@d.example:x/y`, "net(a.example:99) net(b.example:2222) net(c.example:22) net(d.example:22) run(git) run(nc) run(rsync) run(ssh)"},
		{"files", `cp /etc/a /srv/b; rm -rf /opt/c; cat ../../etc/d rel`, "read(../../etc/d) read(/etc/a) run(cat) run(cp) run(rm) write(/opt/c) write(/srv/b)"},
		{"patterns are no files", `grep /api/v1 x; sed '/a/d' x; awk '/b/ {print}' x; basename /a/b; tr / _`, "run(awk) run(basename) run(grep) run(sed) run(tr)"},
		{"sed -i, dd, cd", `sed -i s/a/b/ /etc/x; dd if=/etc/y of=/srv/z; cd /etc`, "read(/etc) read(/etc/y) run(dd) run(sed) write(/etc/x) write(/srv/z)"},
		{"pip", `pip install -q -r req.txt requests 'Foo_Bar>=1' git+https://a.example/x`, "install(foo-bar) install(git+https://a.example/x) install(requests) net(a.example:443) run(pip)"},
		{"python -m pip", `python3 -m pip install --index-url https://i.example/simple x`, "install(x) run(python3)"},
		{"apt and npm", `sudo apt-get -y install jq; npm i left-pad; uv pip install "$x"`, "install(*) install(jq) install(left-pad) run(apt-get) run(npm) run(sudo) run(uv)"},
		{"python", `python3 -c 'x'; python3 x.py; echo 1 | python3`, "run(python3) unsafe(dynamic_code)"},
		{"a shell script in a file", `bash x.sh`, "unsafe(dynamic_code)"},
		{"PATH and others", `PATH=/tmp:$PATH; export LD_PRELOAD=x; read BASH_ENV; declare -x PS4=x`, "unsafe(environment)"},
		{"PATH before a command", `PATH=/tmp ls; env LD_PRELOAD=x ls`, "run(env) run(ls) unsafe(environment)"},
		{"IFS", `IFS=x`, "unsafe(environment)"},
		{"IFS as scripts use it", "IFS=$'\\n\\t'; while IFS= read -r x; do :; done; IFS=, read -r a b", ""},
		{"aliases", `alias ls='curl x'`, "run(curl)"},
		{"enable and hash", `enable -f ./x.so y; hash -p /tmp/x ls`, "run(/tmp/x) unsafe(environment) unsafe(native)"},
		{"awk", `awk 'BEGIN { system("curl x"); "wget y" | getline; print | "nc z"; print | cmd }'`, "run(*) run(awk) run(curl) run(nc) run(wget)"},
		{"awk pattern with a bar", `awk '/a|b/ || $1 ~ /c|d/ {print "x|y"} # | z'`, "run(awk)"},
		{"gawk connects", `gawk 'BEGIN { s = "/inet/tcp/0/a.example/80" }'`, "net(a.example:80) run(gawk)"},
		{"sed", `sed '1e curl x' a; sed 's/a/b/e' b; sed 's|x|y|gw /etc/z' c; sed -n '/p/r /etc/q' d`, "read(/etc/q) run(*) run(curl) run(sed) write(/etc/z)"},
		{"sed that is plain", `sed -e 's/re/we/g;s/e/w/' -e '$d' -e '/x/!{p;q}' f; sed 's,a/e,w,;y/er/we/' g`, "run(sed)"},
		{"tar", `tar cf x --checkpoint=1 --checkpoint-action=exec='curl x' y; tar --to-command 'wget y' -xf z`, "run(curl) run(tar) run(wget)"},
		{"git", `git -c core.pager='curl x' log; git -c alias.a='!wget y' a`, "run(curl) run(git) run(wget)"},
		{"other options", `sort --compress-program=curl x; split --filter='wget y' z; rsync -e 'nc q' a b`, "run(curl) run(nc) run(rsync) run(sort) run(split) run(wget)"},
		{"variables that name commands", `PAGER='curl x' man y; env GIT_SSH_COMMAND='wget z' git pull`, "run(curl) run(env) run(git) run(man) run(wget)"},
		{"subscripts that are evaluated", `x='a[$(curl y)]'; ((x))`, "unsafe(dynamic_code)"},
		{"prompts that are expanded", `x='$(curl y)'; echo "${x@P}"`, "unsafe(dynamic_code)"},
		{"environment", `echo "$API_KEY" "${TOKEN:-x}" "$RANDOM" "$lower"; A=1; echo $A`, "env(API_KEY) env(TOKEN)"},
		{"hidden characters", "echo \u202eabc", "unsafe(unicode)"},
		{"background", "sleep 1 & wait", "run(sleep)"},
		{"the loader", "/lib64/ld-linux-x86-64.so.2 /usr/bin/curl", "run(/lib64/ld-linux-x86-64.so.2) run(/usr/bin/curl)"},
		{"busybox", "busybox wget x", "run(busybox) run(wget)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := said(tt.source)
			slices.Sort(got)
			if s := strings.Join(got, " "); s != tt.want {
				t.Errorf("%s\n got %s\nwant %s", tt.source, s, tt.want)
			}
		})
	}
}
