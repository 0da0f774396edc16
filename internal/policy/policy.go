// Package policy decides. It holds permissions, the rules that match them, and
// one pure function, [Evaluate], from rules and a permission to a decision. It
// knows no files, no clock and no particular gear: gear reads the files, authz asks.
//
// What is left open is decided against the program: a rule that denies or asks
// applies as soon as it may hold ([Rule.Touches]), one that allows only when it
// certainly holds ([Rule.Match]). Addresses that are not the public internet are
// covered by no wildcard and no default ask: private(…) rules alone reach them.
package policy

// Kind is a kind of effect.
type Kind string

// The kinds of design.
const (
	Import  Kind = "import"
	Read    Kind = "read"
	Write   Kind = "write"
	Net     Kind = "net"
	Run     Kind = "run"
	Env     Kind = "env"
	Install Kind = "install"
	Tool    Kind = "tool"
	Unsafe  Kind = "unsafe"
)

// Permission is a kind of effect on a target, for example net(api.github.com:443),
// with the place in the source that calls for it. Line and Column count from 1
// and are 0 when there is no place.
type Permission struct {
	Kind   Kind
	Target string
	// Via is the call or statement that needs it, for example "subprocess.run".
	Via    string
	Line   int
	Column int
	// ReadOnly tells of a tool that its server says it only reads, and that the operator
	// trusts the server. What nothing but a default asks about is then allowed.
	ReadOnly bool
}

// String is the written form, without the place.
func (p Permission) String() string { return string(p.Kind) + "(" + p.Target + ")" }

// Effect is what is decided. The zero Effect is not a decision and is treated
// as Deny everywhere.
type Effect string

// The effects.
const (
	Allow Effect = "allow"
	Ask   Effect = "ask"
	Deny  Effect = "deny"
)

// Decision is what the policy says of one permission.
type Decision struct {
	Permission Permission
	Effect     Effect
	// Rule is the rule that decided, reduced to the pattern that held, or
	// "default", or "sandbox" for what every sandbox has of its own.
	Rule string
	// Named is true when a rule names the target, false when a default decided:
	// a default grants nothing outside the sandbox.
	Named bool
	// Layer is where the decision was made.
	Layer Layer
	// Reason is a sentence for a person or a model; Hint, when there is one, is
	// what the author of the code could do instead.
	Reason string
	Hint   string
}
