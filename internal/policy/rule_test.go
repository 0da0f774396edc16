package policy_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/policy"
)

func rule(t testing.TB, s string) policy.Rule {
	t.Helper()
	r, err := policy.ParseRule(s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// permission reads kind(target) as it stands.
func permission(t testing.TB, s string) policy.Permission {
	t.Helper()
	kind, rest, ok := strings.Cut(s, "(")
	target, closed := strings.CutSuffix(rest, ")")
	if !ok || !closed {
		t.Fatalf("not a permission: %q", s)
	}
	return policy.Permission{Kind: policy.Kind(kind), Target: target}
}

func TestRuleCovers(t *testing.T) {
	for _, row := range []struct{ rule, yes, no string }{
		{"import(numpy)", "import(numpy) import(numpy.linalg) import(numpy.a.b)", "import(numpyx) import(num) import(*) env(numpy)"},
		{"import(urllib.parse)", "import(urllib.parse)", "import(urllib) import(urllib.request)"},
		{"import(x*)", "import(xml) import(xml.etree)", "import(yxml)"},
		{"import(*)", "import(os) import(a.b.c) import(*)", "run(os)"},
		{"import(a.*.c)", "import(a.b.c) import(a.b.c.d)", "import(a.c) import(a.b.b.c)"},
		{"import(a.**.c)", "import(a.b.c) import(a.b.b.c)", "import(a.c)"},

		{"read(/data/*.csv)", "read(/data/a.csv) read(/data/./a.csv) read(/data/b/../a.csv)", "read(/data/x/a.csv) write(/data/a.csv) read(/data/a.txt)"},
		{"read(/data/**)", "read(/data) read(/data/a) read(/data/a/b)", "read(/database) read(/data/../etc/passwd) read(~/data) read(*)"},
		{"read(/home/**/.ssh/**)", "read(/home/.ssh/id) read(/home/a/b/.ssh/id)", "read(/home/a/ssh/id)"},
		{"read(/workspace/in/*)", "read(in/a.txt) read(./in/a.txt)", "read(out/a.txt) read(../in/a.txt)"},
		{"read(/a b/(1).txt)", "read(/a b/(1).txt)", "read(/a b/1.txt)"},
		{"write(*)", "write(/a) write(/a/b) write(*)", "read(/a)"},

		{"run(git)", "run(git) run(/usr/bin/git) run(/bin/git)", "run(/tmp/git) run(./git) run(gitk) run(*)"},
		{"run(/opt/x/bin/tool)", "run(/opt/x/bin/tool)", "run(tool) run(/opt/x/bin/tool2)"},
		{"run(*)", "run(git) run(./a.sh) run(*)", "import(git)"},

		{"env(AWS_*)", "env(AWS_KEY)", "env(aws_key) env(HOME) env(*)"},
		{"tool(github.*)", "tool(github.create_issue) tool(github.a.b) tool(github.a/b) tool(github.)", "tool(gitlab.x) tool(github) tool(github2.x) tool(a.github.x)"},
		{"tool(github.get_*)", "tool(github.get_a) tool(github.get_a.b/c)", "tool(github.set_a) tool(github.a.get_b)"},
		{"tool(github.a/b:c d)", "tool(github.a/b:c d)", "tool(github.a)"},
		{"tool(s.a?b)", "tool(s.a,b) tool(s.a{b) tool(s.aéb)", "tool(s.ab) tool(s.a..b)"},
		{"tool(*.echo)", "tool(any.echo)", "tool(any.x.echo) tool(echo)"},
		{"tool(a.b.*)", "tool(a.b.c) tool(a.b.c.d)", "tool(a.b) tool(a.c.b)"},
		{"tool(github.**)", "tool(github.create_issue) tool(github.a.b)", "tool(github)"},
		{"install(scikit_learn)", "install(scikit-learn) install(Scikit.Learn==1.0) install(scikit-learn[x]>=1,<2) install(scikit-learn ; python_version>'3')", "install(scikit) install(scikit-learn @ https://evil.example/x.whl) install(git+https://github.com/a/scikit-learn)"},
		{"install(*)", "install(x) install(git+https://github.com/a/b)", "import(x)"},
		{"unsafe(eval)", "unsafe(eval)", "unsafe(exec)"},

		{"net(api.github.com)", "net(api.github.com) net(api.github.com:443) net(API.GitHub.com.:22)", "net(github.com:443) net(xapi.github.com:443) net(api.github.com.evil.example:443) net(*)"},
		{"net(api.github.com:443)", "net(api.github.com:443)", "net(api.github.com:80) net(api.github.com)"},
		{"net(h.example:{80,443})", "net(h.example:80) net(h.example:443)", "net(h.example:8080)"},
		{"net(h.example:8000-8100)", "net(h.example:8000) net(h.example:8100)", "net(h.example:7999) net(h.example:8101)"},
		{"net({a,b}.example.com)", "net(a.example.com:1) net(b.example.com:1)", "net(c.example.com:1)"},
		{"net(*.example.com)", "net(a.example.com:1)", "net(example.com:1) net(a.b.example.com:1) net(1.2.3.4:1)"},
		{"net(**.example.com)", "net(a.example.com:1) net(a.b.example.com:1)", "net(example.com:1)"},
		{"net(bücher.example)", "net(bücher.example:1) net(xn--bcher-kva.example:1) net(BÜCHER.example:1)", "net(bucher.example:1)"},
		{"net(1.1.1.1:53)", "net(1.1.1.1:53)", "net(16843009:53) net(0x1010101:53) net(1.1.1.1)"},
		{"net([2606:4700::1111]:443)", "net([2606:4700::1111]:443) net([2606:4700:0:0::1111]:443)", "net([2606:4700::1112]:443)"},
		{"net(*)", "net(a.example:1) net(1.1.1.1:1) net([2606:4700::1]:1) net(*)", "net(localhost:1) net(db:1)"},
		{"net(*:443)", "net(a.example:443)", "net(a.example:80) net(a.example) net(*)"},

		{"private(127.0.0.1:8080)", "net(127.0.0.1:8080) net(2130706433:8080) net(0x7f.1:8080) net([::ffff:127.0.0.1]:8080)", "net(127.0.0.1:80) net(localhost:8080) net(127.0.0.2:8080)"},
		{"private(localhost:8080)", "net(localhost:8080) net(LOCALHOST.:8080)", "net(127.0.0.1:8080)"},
		{"private(10.0.0.0/8:443)", "net(10.1.2.3:443)", "net(11.1.2.3:443) net(10.1.2.3:80) net(x.internal:443)"},
		{"private([fd00::/8]:443)", "net([fd12::1]:443)", "net([fe80::1]:443)"},
		{"private(*.corp.internal:443)", "net(git.corp.internal:443)", "net(corp.internal:443) net(10.0.0.1:443)"},
		{"private(10.0.0.1:1-65535)", "net(10.0.0.1:1) net(10.0.0.1:65535)", "net(10.0.0.2:1)"},
	} {
		r := rule(t, row.rule)
		for _, s := range permissions(row.yes) {
			if !r.Match(permission(t, s)) {
				t.Errorf("%s does not cover %s", row.rule, s)
			}
			if !r.Touches(permission(t, s)) {
				t.Errorf("%s covers %s without touching it", row.rule, s)
			}
		}
		for _, s := range permissions(row.no) {
			if r.Match(permission(t, s)) {
				t.Errorf("%s covers %s", row.rule, s)
			}
		}
	}
}

// permissions splits at the spaces that stand between two permissions.
func permissions(s string) []string {
	var out []string
	for s != "" {
		i := strings.Index(s, ") ")
		if i < 0 {
			return append(out, s)
		}
		for i+2 < len(s) && !startsPermission(s[i+2:]) {
			j := strings.Index(s[i+2:], ") ")
			if j < 0 {
				return append(out, s)
			}
			i += 2 + j
		}
		out, s = append(out, s[:i+1]), s[i+2:]
	}
	return out
}

func startsPermission(s string) bool {
	for _, k := range policy.Kinds() {
		if strings.HasPrefix(s, string(k)+"(") {
			return true
		}
	}
	return false
}

func TestRuleThatRefusesTouchesWhatIsLeftOpen(t *testing.T) {
	for _, row := range []struct{ rule, touches, not string }{
		{"net(evil.example:443)", "net(*) net(evil.example) net(*.example:443) net()", "net(good.example) net(evil.example:80)"},
		{"run(rm)", "run(*) run(/tmp/rm) run(./rm)", "run(ls)"},
		{"run(/usr/bin/rm)", "run(rm) run(*)", "run(ls)"},
		{"read(/root/**)", "read(*) read(~/.ssh/id) read() read(/*) read(/r*/x) read(/root/*.key)", "read(/etc/passwd) read(/etc/*)"},
		{"read(/data/secret.csv)", "read(/data/*.csv) read(/data/s?cret.csv)", "read(/data/sub/*.csv)"},
		{"tool(github.delete)", "tool(github.*) tool(*)", "tool(github.list)"},
		{"tool(evil.*)", "tool(evil.a.b/c) tool(evil.x,y)", "tool(good.evil.x)"},
		{"tool(*.delete)", "tool(my.server.delete) tool(s.x.delete)", "tool(s.delete_one)"},
		{"env(TOKEN)", "env(*)", "env(HOME)"},
		{"install(evil)", "install(*) install(evil @ https://x.example/evil.whl) install(git+https://x.example/evil)", "install(good)"},
		{"import(os)", "import(*) import(os.path)", "import(ossaudiodev)"},
	} {
		r := rule(t, row.rule)
		for _, s := range permissions(row.touches) {
			if !r.Touches(permission(t, s)) {
				t.Errorf("%s does not touch %s", row.rule, s)
			}
		}
		for _, s := range permissions(row.not) {
			if r.Touches(permission(t, s)) {
				t.Errorf("%s touches %s", row.rule, s)
			}
		}
	}
}

// hidden are spellings of what no wildcard may reach.
func hidden() []string {
	return []string{
		"localhost", "LOCALHOST", "localhost.", "a.localhost", "printer.local", "metadata.google.internal", "db", "metadata",
		"router.lan", "x.home.arpa", "127.0.0.1", "127.1", "0", "0.0.0.0", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1",
		"169.254.169.254", "100.100.100.200", "168.63.129.16", "224.0.0.1", "255.255.255.255", "240.0.0.1", "198.18.0.1",
		"2130706433", "0x7f000001", "0x7f.0.0.1", "0177.0.0.1", "127.0.0.01", "0xa9fea9fe", "2852039166", "0251.0376.0251.0376",
		"１２７.0.0.1", "127。0。0。1", "16843009", "1.1", "1.2.3.4.5", "1.1.1.256", "foo.1", "0x",
		"[::1]", "[::]", "[::ffff:10.0.0.1]", "[::ffff:1.1.1.1]", "[64:ff9b::a00:1]", "[2002:a00:1::]", "[2001:0:a00:1::]", "[fd00::1]",
		"[fe80::1]", "[fe80::1%eth0]", "[fec0::1]", "[ff02::1]", "[fd00:ec2::254]", "[::127.0.0.1]",
	}
}

func TestNoWildcardReachesWhatIsNotPublic(t *testing.T) {
	for _, pattern := range []string{"*", "**", "*:80", "*.*", "**.*", "*.*.*.*", "127.*.*.*", "*.local", "*.internal", "l*.*", "**.arpa"} {
		r := rule(t, "net("+pattern+")")
		for _, host := range hidden() {
			for _, target := range []string{host, host + ":80"} {
				p := policy.Permission{Kind: policy.Net, Target: target}
				if r.Match(p) || (r.Touches(p) && policy.IsPrivate(p)) {
					t.Errorf("%s reaches %s", r, target)
				}
			}
		}
	}
}

func TestHiddenHostsAreKnownAsPrivate(t *testing.T) {
	for _, host := range hidden() {
		if !policy.IsPrivate(policy.Permission{Kind: policy.Net, Target: host + ":80"}) {
			t.Errorf("%s counts as public", host)
		}
	}
	for _, host := range []string{"example.com", "1.1.1.1", "[2606:4700::1]", "local.example.com", "10.example.com", "xn--bcher-kva.example"} {
		if policy.IsPrivate(policy.Permission{Kind: policy.Net, Target: host + ":80"}) {
			t.Errorf("%s counts as private", host)
		}
	}
}

func TestBrokenRuleSaysWhatToWrite(t *testing.T) {
	for _, row := range []struct{ rule, message, hint string }{
		{"", "not of the form", "net(api.github.com:443)"},
		{"net", "not of the form", "net(api.github.com:443)"},
		{"net(a.example", "not of the form", ""},
		{"imprt(os)", `unknown kind "imprt"`, "did you mean import?"},
		{"privat(localhost:1)", `unknown kind "privat"`, "did you mean private?"},
		{"telephone(x)", "unknown kind", "use one of import, read, write"},
		{"import()", "an empty pattern", "write *"},
		{"import(a,)", "an empty pattern", "write *"},
		{"import({a,{b}})", "braces inside braces", ""},
		{"import({a)", "without its }", ""},
		{"import(a})", "without its {", ""},
		{"import(a b)", "is not a name", "dots between"},
		{"import(a..b)", "an empty part", ""},
		{"read(data/x)", "not an absolute path", "begin it with /"},
		{"read(~/x)", "begins with ~", "absolute path"},
		{"read(/a/../b)", "not a clean path", "write /b"},
		{"read(/a/x**)", "** inside a part", "put it between two /"},
		{"run(rm -rf)", "holds a space", "do not look at arguments"},
		{"run(./a)", "neither a base name nor", ""},
		{"tool(github)", "names no tool", "tool(github.*)"},
		{"install(pandas>=2)", "not the name of a distribution", "install(pandas)"},
		{"env(A=b)", "is not a name", "env(HTTP_PROXY)"},
		{"net(https://api.github.com/)", "is a URL", "net(api.github.com:443)"},
		{"net(a.example:99999)", "is not a port", "8000-8100"},
		{"net(a.example:90-80)", "is not a port", ""},
		{"net(a.example:)", "is not host and port", ""},
		{"net(localhost:80)", "private, local", "private(localhost:80)"},
		{"net(10.0.0.1)", "private, local", "private(10.0.0.1:443)"},
		{"net(16843009)", "unusual spelling", "private("},
		{"net(10.0.0.0/8)", "is a range", "private(10.0.0.0/8:443)"},
		{"net(::1)", "without its brackets", "[::1]"},
		{"private(*)", "names no port", "1-65535"},
		{"private(*:80)", "names no host", "private(10.0.0.0/8:443)"},
		{"private(*.*:80)", "names no host", ""},
		{"private(10.0.0.1)", "names no port", "private(10.0.0.1:443)"},
		{"private(0.0.0.0/0:80)", "wider than any", "smaller"},
		{"private(10.1.0.0/8:80)", "bits beyond", "10.0.0.0/8"},
		{"private(1.2.3:80)", "not an address", "four decimal numbers"},
		{"private(0x7f.1:80)", "not an address", "four decimal numbers"},
		{"import(o\u200bs)", "which nobody can see", "remove it"},
		{"import(os\n)", "which nobody can see", ""},
	} {
		_, err := policy.ParseRule(row.rule)
		var e *policy.RuleError
		if !errors.As(err, &e) || !strings.Contains(e.Message, row.message) || !strings.Contains(e.Hint, row.hint) || e.Rule != row.rule {
			t.Errorf("%q: %v", row.rule, err)
		}
	}
}

func TestRuleIsWrittenAsItWasRead(t *testing.T) {
	for in, want := range map[string]string{
		"net( a.example:443 ,b.example )":     "net(a.example:443, b.example)",
		" import(os) ":                        "import(os)",
		"net(h.example:{80, 443}, c.example)": "net(h.example:{80, 443}, c.example)",
		"private(10.0.0.0/8:443)":             "private(10.0.0.0/8:443)",
	} {
		if got := rule(t, in).String(); got != want {
			t.Errorf("%q became %q", in, got)
		}
	}
	if (policy.Rule{}).String() != "" || !(policy.Rule{}).IsZero() || (policy.Rule{}).Match(policy.Permission{}) {
		t.Error("the zero rule is something")
	}
}

func TestNamesOfARule(t *testing.T) {
	names, all, open := rule(t, "run(git, py{thon,py}, z*)").Names()
	if strings.Join(names, " ") != "git python pypy" || all || strings.Join(open, " ") != "z*" {
		t.Error(names, all, open)
	}
	if _, all, _ := rule(t, "run(*)").Names(); !all {
		t.Error("* does not name all")
	}
}

func TestHomeIsExpandedInPathsOnly(t *testing.T) {
	for in, want := range map[string]string{
		"read(~/x, /y)": "read(/home/u/x, /y)",
		"write(~)":      "write(/home/u)",
		"read(~u/x)":    "read(~u/x)",
		"run(~/x)":      "run(~/x)",
		"read(~/x":      "read(~/x",
	} {
		if got := policy.ExpandHome(in, "/home/u"); got != want {
			t.Errorf("%q became %q", in, got)
		}
	}
	if got := policy.ExpandHome("read(~/x)", ""); got != "read(~/x)" {
		t.Errorf("without a home: %q", got)
	}
}

func TestGrantingRuleGrants(t *testing.T) {
	for in, want := range map[string]string{
		"net(api.github.com:443)": "net(api.github.com:443)",
		"net(api.github.com)":     "net(api.github.com)",
		"net(*)":                  "net(*)",
		"net(10.0.0.1:80)":        "private(10.0.0.1:80)",
		"net(0x7f.1:80)":          "private(127.0.0.1:80)",
		"net(localhost)":          "private(localhost:1-65535)",
		"net([::1]:80)":           "private([::1]:80)",
		"net(1.2.3.4.5:80)":       "",
		"run(git)":                "run(git)",
		"run(./a.sh)":             "",
		"install(pandas>=2)":      "install(pandas)",
		"read(../etc/passwd)":     "read(/etc/passwd)",
		"read(~/x)":               "",
		"read(/a,b)":              "",
		"env(TOKEN)":              "env(TOKEN)",
		"import(subprocess)":      "import(subprocess)",
		"unsafe(eval)":            "unsafe(eval)",
		"net(*.example:80)":       "",
	} {
		if got := policy.Granting(permission(t, in)); got != want {
			t.Errorf("%s is granted by %q, want %q", in, got, want)
		}
	}
}
