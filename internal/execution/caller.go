package execution

import (
	"context"
	"slices"
)

// Caller is in whose name a call is made, and what of the server it may use. Only
// what has authenticated a request makes one; nothing that a client says of itself
// goes into it.
type Caller struct {
	Principal Principal
	// Tools are the tools that it may call; empty means all.
	Tools []string
	// Languages are those that its code may be in; empty means all.
	Languages []Language
}

// MayCall reports whether the caller may use the tool.
func (c Caller) MayCall(tool string) bool {
	return len(c.Tools) == 0 || slices.Contains(c.Tools, tool)
}

// MayWrite reports whether the caller's code may be in the language.
func (c Caller) MayWrite(l Language) bool {
	return len(c.Languages) == 0 || slices.Contains(c.Languages, l)
}

// Equal reports whether both are the same caller with the same rights.
func (c Caller) Equal(d Caller) bool {
	return c.Principal == d.Principal && slices.Equal(c.Tools, d.Tools) && slices.Equal(c.Languages, d.Languages)
}

type callerKey struct{}

// WithCaller is a context of calls made by c.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerOf is the caller of a context, if one was set.
func CallerOf(ctx context.Context) (c Caller, ok bool) {
	c, ok = ctx.Value(callerKey{}).(Caller)
	return c, ok && c.Principal != ""
}
