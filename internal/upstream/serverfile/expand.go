package serverfile

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/gearbox-mcp/gearbox/internal/upstream"
)

// maxValue bounds what one value expands to. Linux passes no longer argument.
const maxValue = 128 << 10

// expander replaces variables by what they hold.
type expander struct {
	options Options
	env     map[string]string // of the env files
	inputs  map[string]string // descriptions of what users are asked for, by id
	taken   *[]string         // values of variables that may be credentials; nil to keep none
}

// lookup is a variable. The environment is the stronger place.
func (x expander) lookup(name string) (string, bool) {
	if x.options.Lookup != nil {
		if v, ok := x.options.Lookup(name); ok {
			return v, true
		}
	}
	v, ok := x.env[name]
	return v, ok
}

// expand replaces what stands in ${…}. Errors name variables, and no value.
func (x expander) expand(s string) (string, error) {
	var out strings.Builder
	var errs []error
	for {
		before, rest, found := strings.Cut(s, "${")
		if literal, escaped := strings.CutSuffix(before, "$"); found && escaped {
			out.WriteString(literal + "${")
			s = rest
			continue
		}
		out.WriteString(before)
		if !found {
			break
		}
		inside, after, closed := strings.Cut(rest, "}")
		if !closed {
			errs = append(errs, errors.New("a ${ is not closed: write $${ for the characters themselves"))
			break
		}
		value, err := x.value(inside)
		errs = append(errs, err)
		out.WriteString(value)
		if s = after; out.Len() > maxValue {
			break
		}
	}
	switch {
	case out.Len() > maxValue:
		errs = append(errs, fmt.Errorf("is longer than %d bytes", maxValue))
	case strings.ContainsRune(out.String(), 0):
		errs = append(errs, errors.New("holds a zero byte"))
	}
	return out.String(), errors.Join(errs...)
}

// value is what the inside of one ${…} stands for.
func (x expander) value(inside string) (string, error) {
	if strings.Contains(inside, "${") {
		return "", errors.New("a ${…} inside another is not expanded: close the first one, or write the inner one out")
	}
	switch inside {
	case "userHome":
		return known(inside, x.options.Home)
	case "workspaceFolder":
		return known(inside, x.options.Workspace)
	case "workspaceFolderBasename":
		dir, err := known(inside, x.options.Workspace)
		return filepath.Base(dir), err
	case "pathSeparator", "/":
		return string(filepath.Separator), nil
	}
	if id, ok := strings.CutPrefix(inside, "input:"); ok {
		return x.input(id)
	}
	name, fallback, optional := strings.Cut(strings.TrimPrefix(inside, "env:"), ":-")
	switch {
	case !variableName.MatchString(name):
		return "", fmt.Errorf("${%s} is not known here: only variables, userHome, workspaceFolder and input:… are", inside)
	}
	v, set := x.lookup(name)
	switch {
	case optional && v == "":
		return fallback, nil
	case !set:
		return "", fmt.Errorf("${%s} is not set: set the variable where Gearbox is started or in a file of --env-file, or write ${%s:-…}", name, name)
	}
	if x.taken != nil && !upstream.Public(name, v) && !slices.Contains(*x.taken, v) {
		*x.taken = append(*x.taken, v)
	}
	return v, nil
}

func known(name, value string) (string, error) {
	if value == "" {
		return "", fmt.Errorf("${%s} is not known", name)
	}
	return value, nil
}

// input is what other programs ask their user for, and Gearbox takes from a variable.
func (x expander) input(id string) (string, error) {
	name := "INPUT_" + strings.Map(func(c rune) rune {
		if c < unicode.MaxASCII && (unicode.IsLetter(c) || unicode.IsDigit(c)) {
			return unicode.ToUpper(c)
		}
		return '_'
	}, id)
	if v, ok := x.lookup(name); ok {
		if x.taken != nil && !slices.Contains(*x.taken, v) {
			*x.taken = append(*x.taken, v)
		}
		return v, nil
	}
	about := ""
	if d := x.inputs[id]; d != "" {
		about = fmt.Sprintf(" (%s)", d)
	}
	return "", fmt.Errorf("${input:%s}%s: nobody is asked for it here: set the variable %s", id, about, name)
}

// spec is an entry with everything expanded and checked.
func (x expander) spec(e Entry) (upstream.Spec, []Warning) {
	x.inputs = e.inputs
	b := &expansion{expander: x, entry: e, spec: e.Spec}
	b.taken = &b.spec.Secrets
	b.all()
	if b.spec.Fault == "" {
		b.check()
	}
	return b.spec, b.warnings
}

// expansion is one entry becoming a Spec.
type expansion struct {
	expander

	entry    Entry
	spec     upstream.Spec
	warnings []Warning
}

func (b *expansion) fault(format string, args ...any) {
	b.spec.Fault = together(b.spec.Fault, b.entry.Place()+": "+fmt.Sprintf(format, args...))
}

// one expands a value, which what names.
func (b *expansion) one(what, s string) string {
	v, err := b.expand(s)
	if err == nil {
		return v
	}
	for _, line := range strings.Split(err.Error(), "\n") {
		b.fault("%s: %s", what, line)
	}
	return ""
}

func (b *expansion) many(what string, from map[string]string) map[string]string {
	if from == nil {
		return nil
	}
	to := make(map[string]string, len(from))
	for _, name := range slices.Sorted(maps.Keys(from)) {
		to[name] = b.one(what+" "+name, from[name])
	}
	return to
}

// all expands every value of the entry.
func (b *expansion) all() {
	s := &b.spec
	s.Command = slices.Clone(s.Command)
	for i, word := range s.Command {
		what := "args"
		if i == 0 {
			what = "command"
		}
		s.Command[i] = b.one(what, word)
	}
	s.Env = b.many("env", s.Env)
	s.Dir, s.URL = b.one("cwd", s.Dir), b.one("url", s.URL)
	s.Headers = b.many("headers", s.Headers)
	if s.OAuth != nil {
		o := *s.OAuth
		o.ClientID, o.ClientSecret = b.one("oauth client_id", o.ClientID), b.one("oauth client_secret", o.ClientSecret)
		s.OAuth = &o
	}
	if s.Sandbox != nil {
		box := *s.Sandbox
		box.Allow = slices.Clone(box.Allow)
		for i, rule := range box.Allow {
			box.Allow[i] = b.one("sandbox allow", rule)
		}
		s.Sandbox = &box
	}
	b.moreVariables()
}

// moreVariables adds those of the server's env file and those that it takes from ours,
// where env says nothing.
func (b *expansion) moreVariables() {
	env := map[string]string{}
	for _, name := range b.entry.EnvVars {
		if v, ok := b.lookup(name); ok {
			env[name] = v
		}
	}
	if path := b.one("env_file", b.entry.EnvFile); path != "" && !b.spec.Disabled {
		read, warnings, err := readEnv(path)
		if err != nil {
			b.fault("env_file: %v", err)
		}
		b.warnings = append(b.warnings, warnings...)
		maps.Copy(env, read)
	}
	maps.Copy(env, b.spec.Env)
	if len(env) > 0 {
		b.spec.Env = env
	}
}
