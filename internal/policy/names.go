package policy

import (
	"path"
	"slices"
	"strings"
)

// workspace is the working directory of every run: relative paths start there.
const workspace = "/workspace"

// pathGlob matches absolute, clean paths.
type pathGlob struct {
	g glob
	// fixed is the pattern up to its first wildcard.
	fixed string
}

func newPath(p string) (matcher, *RuleError) {
	switch {
	case strings.HasPrefix(p, "~"):
		return nil, broken("write the absolute path", "%q begins with ~, which has no meaning here", p)
	case !strings.HasPrefix(p, "/"):
		return nil, broken("begin it with /", "%q is not an absolute path", p)
	case p != path.Clean(p):
		return nil, broken("write "+path.Clean(p), "%q is not a clean path", p)
	case p == "/":
		return pathGlob{fixed: "/"}, nil
	}
	g, err := newGlob(p[1:], "/", false)
	if err != nil {
		return nil, err
	}
	return pathGlob{g, fixedPart(p)}, nil
}

func (m pathGlob) covers(target string) bool {
	if unknown(target) || strings.HasPrefix(target, "~") {
		return false
	}
	return m.g.match(pathSegments(target))
}

// touches takes a path below an unknown home for any path, and a target that is
// itself a pattern (glob.glob) for whatever begins as it does.
func (m pathGlob) touches(target string) bool {
	if unknown(target) || strings.HasPrefix(target, "~") || m.covers(target) {
		return true
	}
	fixed := fixedPart(cleanPath(target))
	if fixed == cleanPath(target) {
		return false
	}
	return strings.HasPrefix(fixed, m.fixed) || strings.HasPrefix(m.fixed, fixed)
}

func fixedPart(p string) string {
	if i := strings.IndexAny(p, "*?["); i >= 0 {
		return p[:i]
	}
	return p
}

func cleanPath(target string) string {
	if !path.IsAbs(target) {
		target = workspace + "/" + target
	}
	return path.Clean(target)
}

func pathSegments(target string) []string {
	clean := cleanPath(target)
	if clean == "/" {
		return nil
	}
	return strings.Split(clean[1:], "/")
}

// program matches a program by its base name or by its absolute path.
type program struct {
	name string
	g    glob // set for an absolute pattern
}

// programDirs are where a program that is granted by its base name is looked for.
func programDirs() []string { return []string{"/usr/bin", "/bin", "/usr/sbin", "/sbin"} }

func newProgram(p string) (matcher, *RuleError) {
	switch {
	case strings.ContainsAny(p, " \t"):
		return nil, broken("name the program only: rules do not look at arguments", "%q holds a space", p)
	case !strings.Contains(p, "/"):
		return program{name: p}, nil
	case !path.IsAbs(p) || p != path.Clean(p) || p == "/":
		return nil, broken("write the base name or a clean absolute path", "%q is neither a base name nor an absolute path", p)
	}
	g, err := newGlob(p[1:], "/", false)
	if err != nil {
		return nil, err
	}
	return program{name: path.Base(p), g: g}, nil
}

// covers: a base name also covers the same program where the system keeps its
// programs, and nothing of that name elsewhere.
func (m program) covers(target string) bool {
	switch {
	case unknown(target):
		return false
	case m.g != nil:
		return path.IsAbs(target) && m.g.match(pathSegments(target))
	case !strings.Contains(target, "/"):
		return matchSegment(m.name, target)
	}
	clean := path.Clean(target)
	return slices.Contains(programDirs(), path.Dir(clean)) && matchSegment(m.name, path.Base(clean))
}

// touches: a copy of a program is still that program to a rule that refuses it.
func (m program) touches(target string) bool {
	return open(target) || m.name == cross || matchSegment(m.name, path.Base(target))
}

// dotted matches names made of parts with dots between them, and everything under them, as
// a package covers its modules.
type dotted glob

func newDotted(p string) (matcher, *RuleError) {
	if strings.ContainsAny(p, " \t/:") {
		return nil, broken("write names with dots between them", "%q is not a name", p)
	}
	g, err := newGlob(p, ".", true)
	if err != nil {
		return nil, err
	}
	return dotted(g), nil
}

func (m dotted) covers(target string) bool {
	if unknown(target) {
		return false
	}
	return slices.Concat(glob(m), glob{cross}).match(strings.Split(target, "."))
}

func (m dotted) touches(target string) bool { return open(target) || m.covers(target) }

// requirement matches the name of a distribution, spelled as PEP 503 normalises it.
type requirement struct{ name string }

func newRequirement(p string) (matcher, *RuleError) {
	name, rest := cutRequirement(p)
	if rest != "" || name == "" {
		return nil, broken("name the distribution only, for example install(pandas)", "%q is not the name of a distribution", p)
	}
	return requirement{normaliseName(name)}, nil
}

// covers looks at the name only. A requirement that brings its own address
// (PEP 508 name @ URL) is not the distribution of that name.
func (m requirement) covers(target string) bool {
	if unknown(target) {
		return false
	}
	name, rest := cutRequirement(strings.TrimSpace(target))
	if name == "" || strings.Contains(rest, "@") || strings.Contains(rest, "/") || strings.Contains(rest, ":") {
		return false
	}
	return matchSegment(m.name, normaliseName(name))
}

// touches: the name alone is enough for a rule that refuses.
func (m requirement) touches(target string) bool {
	if open(target) || m.covers(target) {
		return true
	}
	name, rest := cutRequirement(strings.TrimSpace(target))
	direct := strings.ContainsAny(rest, "@/:")
	return direct && (matchSegment(m.name, normaliseName(name)) || strings.Contains(normaliseName(target), strings.Trim(m.name, "*")))
}

func cutRequirement(s string) (name, rest string) {
	i := strings.IndexFunc(s, func(r rune) bool {
		return r != '-' && r != '_' && r != '.' && r != '*' &&
			(r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
	if i < 0 {
		return s, ""
	}
	return s[:i], s[i:]
}

// normaliseName is PEP 503: lower case, runs of - _ . become one -.
func normaliseName(s string) string {
	var b strings.Builder
	dash := false
	for _, r := range strings.ToLower(s) {
		if r == '-' || r == '_' || r == '.' {
			dash = true
			continue
		}
		if dash && b.Len() > 0 {
			b.WriteByte('-')
		}
		dash = false
		b.WriteRune(r)
	}
	return b.String()
}

// word matches a name without parts.
type word string

func newWord(kind Kind, p string) (matcher, *RuleError) {
	if strings.ContainsAny(p, " \t=/") {
		return nil, broken("write one name, for example "+string(kind)+"("+example(kind)+")", "%q is not a name", p)
	}
	return word(p), nil
}

func example(kind Kind) string {
	if kind == Env {
		return "HTTP_PROXY"
	}
	return "eval"
}

func (m word) covers(target string) bool {
	return !unknown(target) && matchSegment(string(m), target)
}

func (m word) touches(target string) bool { return open(target) || m.covers(target) }
