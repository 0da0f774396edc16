package policy

import (
	"fmt"
	"strings"
)

// explainRule says in a sentence what a rule did. certain is false when the rule
// only may hold.
func explainRule(d Decision, who string, certain bool) string {
	rule := d.Rule
	what := describe(d.Permission)
	if !certain {
		return fmt.Sprintf("%s %s %s, and %s may turn out to be that.", capital(who), verb(d.Effect), rule, what)
	}
	switch d.Effect {
	case Allow:
		return fmt.Sprintf("%s allows %s.", capital(who), rule)
	case Ask:
		return fmt.Sprintf("%s wants a human to approve %s.", capital(who), what)
	default:
		return fmt.Sprintf("%s denies %s.", capital(who), rule)
	}
}

// operator names the operator as the author of a rule, and the rule's place.
func (r Rule) operator() string {
	if r.place == "" {
		return "the operator"
	}
	return "the operator's " + r.place
}

func verb(e Effect) string {
	if e == Ask {
		return "asks for"
	}
	return "denies"
}

// explainDefault says what it means that no rule covers the permission.
func explainDefault(d Decision, who string) string {
	what := describe(d.Permission)
	switch {
	case d.Effect == Allow:
		return fmt.Sprintf("%s has no rule for %s and refuses nothing; outside the sandbox that grants nothing.", capital(who), what)
	case IsPrivate(d.Permission):
		return fmt.Sprintf("%s does not name %s, and private or local addresses are reached only where a private(…) rule names them.", capital(who), what)
	case d.Effect == Ask:
		return fmt.Sprintf("%s has no rule for %s, so a human has to approve it.", capital(who), what)
	}
	return fmt.Sprintf("%s does not list %s.", capital(who), what)
}

// describe names a permission in plain words.
func describe(p Permission) string {
	if unknown(p.Target) {
		return describeUnknown(p.Kind)
	}
	switch p.Kind {
	case Import:
		return "the module " + p.Target
	case Read:
		return "reading " + p.Target
	case Write:
		return "writing " + p.Target
	case Net:
		return "a connection to " + p.Target
	case Run:
		return "the program " + p.Target
	case Env:
		return "the environment variable " + p.Target
	case Install:
		return "installing " + p.Target
	case Tool:
		return "the tool " + p.Target
	case Unsafe:
		return "the construct " + p.Target
	}
	return p.String()
}

func describeUnknown(k Kind) string {
	switch k {
	case Import:
		return "a module whose name is computed"
	case Read:
		return "reading a path that is computed"
	case Write:
		return "writing to a path that is computed"
	case Net:
		return "a connection to a host that is computed"
	case Run:
		return "a program whose name is computed"
	case Env:
		return "the whole environment"
	case Install:
		return "installing something whose name is computed"
	case Tool:
		return "a tool whose name is computed"
	default:
		return "a construct that cannot be judged"
	}
}

// WithoutPrograms is what an author is told who wants to start a program.
const WithoutPrograms = "Do it in Python, without starting a program."

// hint says what the author of the code could do instead.
func hint(d Decision) string {
	if d.Effect == Allow {
		return ""
	}
	if unknown(d.Permission.Target) && d.Permission.Kind != Env {
		return "Write the target as a constant, so that it can be judged by itself."
	}
	switch d.Permission.Kind {
	case Import:
		return "Use a module that the gear lists; list_packages and the resource env://gear say which."
	case Read:
		return "Pass the file with the call (files), or work on data in /workspace or /tmp."
	case Write:
		return "Write below /workspace or /tmp instead."
	case Net:
		return "Pass the data with the call (files, variables or stdin), or go on without the network."
	case Run:
		return WithoutPrograms
	case Env:
		return "Pass the value with the call (variables)."
	case Install:
		return "Use the packages that list_packages shows."
	case Tool:
		return "Go on without this tool, or use one that the gear allows."
	case Unsafe:
		return unsafeHint(d.Permission.Target)
	}
	return ""
}

func unsafeHint(what string) string {
	switch what {
	case "eval", "exec", "compile":
		return "Write the code out; for data use json.loads or ast.literal_eval."
	case "ctypes", "native":
		return "Use pure Python instead of native calls."
	case "pickle":
		return "Exchange data as JSON or CSV."
	case "dynamic_import", "__import__":
		return "Import modules by their names, at the top."
	case "dynamic_code":
		return "Write the commands out instead of putting them together at run time."
	case "environment":
		return "Leave PATH, LD_PRELOAD and what else decides which code runs as it is."
	case "unanalysable":
		return "Write the program shorter or simpler, so that it can be analysed."
	}
	return "Write it in plain Python: names and attributes as they are, imports at the top."
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
