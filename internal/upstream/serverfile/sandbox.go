package serverfile

import (
	"github.com/gearbox-mcp/gearbox/internal/policy"
	"github.com/gearbox-mcp/gearbox/internal/upstream"
)

// sandbox reads what the program of a server runs in: true, or an object. What is not
// understood starts nothing, because it may have meant less.
func (r *serverReader) sandbox(f field) {
	s := &r.entry.Spec
	switch f.value.shape {
	case truth:
		if r.truth(f) {
			s.Sandbox = &upstream.Sandbox{}
		}
		return
	case object:
		s.Sandbox = &upstream.Sandbox{}
	case nothing, text, number, list:
		r.fault(f, "sandbox is %s: write true, or {gear: …, allow: […]}", f.value.shape)
		return
	}
	for _, inner := range f.value.fields {
		switch inner.key {
		case "gear":
			if s.Sandbox.Gear = r.text(inner); s.Sandbox.Gear == "" {
				r.fault(inner, "sandbox: gear is empty: name one, or take it out")
			}
		case "allow":
			s.Sandbox.Allow = r.values(inner)
		default:
			r.fault(inner, "sandbox: the key %q is unknown: gear and allow are", inner.key)
		}
	}
}

// checkSandbox finds rules that cannot be, and such as a server's sandbox has no means for.
func (b *expansion) checkSandbox() {
	if b.spec.Sandbox == nil {
		return
	}
	for _, text := range b.spec.Sandbox.Allow {
		rule, err := policy.ParseRule(policy.ExpandHome(text, b.options.Home))
		switch {
		case err != nil:
			b.fault("sandbox: allow: %v", err)
		case rule.Kind() == policy.Net:
			b.fault("sandbox: allow: %s: a server in a sandbox has no network: take the rule out, or the sandbox", rule)
		case rule.Kind() != policy.Run && rule.Kind() != policy.Read && rule.Kind() != policy.Env:
			b.fault("sandbox: allow: %s: only run(…), read(…) and env(…) can be allowed to a server", rule)
		}
	}
}
