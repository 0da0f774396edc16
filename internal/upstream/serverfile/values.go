package serverfile

import (
	"path/filepath"
	"regexp"
	"strings"
)

// variableName is the name of an environment variable, as shells have it.
var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// The other programs' ways to write a variable.
var (
	bareVariable  = regexp.MustCompile(`\$([A-Za-z_][A-Za-z0-9_]*)`)
	bracesInclude = regexp.MustCompile(`\{(env|file):([^{}]*)\}`)
)

// ours writes a value of another program in our own words.
func (r *serverReader) ours(f field, s string) string {
	if r.dialect.shell && strings.Contains(s, "$(") {
		r.fault(f, "%s: what stands in $(…) is run by a shell, which is not done here: put it into a variable and write ${NAME}", f.key)
	}
	if r.dialect.bareDollar {
		s = bareVariable.ReplaceAllString(s, "$${$1}")
	} else if m := bareVariable.FindString(s); m != "" && m == s {
		r.warn(f.line, "%s: %s is passed on as it is written: write ${%s} for the variable", f.key, s, s[1:])
	}
	if r.dialect.braces {
		s = bracesInclude.ReplaceAllStringFunc(s, func(m string) string {
			what, name, _ := strings.Cut(strings.Trim(m, "{}"), ":")
			if what == "file" {
				r.fault(f, "%s: {file:…} is not read here: put the text into a variable and write ${NAME}", f.key)
				return ""
			}
			return "${" + name + "}"
		})
	}
	if dir := r.file.project; dir != "" {
		s = strings.NewReplacer("${workspaceFolder}", escaped(dir), "${workspaceFolderBasename}", escaped(filepath.Base(dir))).Replace(s)
	}
	return s
}

// escaped is text that nothing is expanded in.
func escaped(s string) string { return strings.ReplaceAll(s, "${", "$${") }

// text is text in which nothing is expanded, value text in which something may be.
func (r *serverReader) text(f field) string {
	if f.value.shape != text {
		r.fault(f, "%s is %s and not text", f.key, f.value.shape)
		return ""
	}
	return f.value.text
}

func (r *serverReader) value(f field) string { return r.ours(f, r.text(f)) }

func (r *serverReader) truth(f field) bool {
	if f.value.shape != truth {
		// What cannot be understood starts nothing: disabled and enabled read it both ways.
		r.fault(f, "%s is %s and not true or false", f.key, f.value.shape)
	}
	return f.value.text == "true"
}

func (r *serverReader) texts(f field) []string {
	if f.value.shape != list {
		r.fault(f, "%s is %s and not a list", f.key, f.value.shape)
		return nil
	}
	out := make([]string, 0, len(f.value.items))
	for _, item := range f.value.items {
		if !item.scalar() {
			r.fault(field{f.key, item.line, item}, "%s holds %s where text is expected", f.key, item.shape)
			continue
		}
		out = append(out, item.text)
	}
	return out
}

func (r *serverReader) values(f field) []string {
	out := r.texts(f)
	for i := range out {
		out[i] = r.ours(f, out[i])
	}
	return out
}

// pairs reads names with texts into a map that may hold others already.
func (r *serverReader) pairs(f field, to *map[string]string) {
	if f.value.shape != object {
		r.fault(f, "%s is %s and not an object", f.key, f.value.shape)
		return
	}
	if len(f.value.fields) > maxKeys {
		r.fault(f, "%s has %d names: at most %d can be", f.key, len(f.value.fields), maxKeys)
		return
	}
	for _, one := range f.value.fields {
		if !one.value.scalar() {
			r.fault(one, "%s: %q is %s where text is expected", f.key, one.key, one.value.shape)
			continue
		}
		r.pair(f, to, one.key, r.ours(field{f.key + " " + one.key, one.line, one.value}, one.value.text))
	}
}

func (r *serverReader) pair(f field, to *map[string]string, name, value string) {
	if *to == nil {
		*to = map[string]string{}
	}
	for known := range *to {
		if known == name || to == &r.entry.Spec.Headers && strings.EqualFold(known, name) {
			r.fault(f, "%s: %q is set twice: keep one", f.key, name)
			return
		}
	}
	(*to)[name] = value
}

// path is a path, which counts from the project of the file, or else from its directory.
func (r *serverReader) path(f field) string {
	s := r.value(f)
	switch {
	case s == "" || filepath.IsAbs(s) || strings.HasPrefix(s, "${"):
		return s
	case s == "~" || strings.HasPrefix(s, "~/") || strings.HasPrefix(s, `~\`):
		return "${userHome}" + s[1:]
	}
	return filepath.Join(escaped(r.file.base()), s)
}

// variables reads a list of names of variables.
func (r *serverReader) variables(f field) []string {
	var out []string
	for _, name := range r.texts(f) {
		if r.variable(f, name) {
			out = append(out, name)
		}
	}
	return out
}

func (r *serverReader) variable(f field, name string) bool {
	if !variableName.MatchString(name) {
		r.fault(f, "%s has to name a variable, and does not", f.key) // it may hold the secret itself
		return false
	}
	return true
}

// envKeys are variables that the server needs, which Goose keeps in the system's keyring.
func (r *serverReader) envKeys(f field) {
	for _, name := range r.variables(f) {
		if _, said := r.entry.Spec.Env[name]; !said {
			r.pair(f, &r.entry.Spec.Env, name, "${"+name+"}")
		}
	}
}

// headerVariables are headers whose values stand in variables.
func (r *serverReader) headerVariables(f field) {
	var names map[string]string
	r.pairs(f, &names)
	for header, name := range names {
		if r.variable(f, name) {
			r.pair(f, &r.entry.Spec.Headers, header, "${"+name+"}")
		}
	}
}

func (r *serverReader) bearerVariable(f field) {
	if name := r.text(f); r.variable(f, name) {
		r.pair(f, &r.entry.Spec.Headers, "Authorization", "Bearer ${"+name+"}")
	}
}
