package config_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/gearbox-mcp/gearbox/internal/config"
	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// all has a setting of each kind.
type all struct {
	name, path, word, fixed string
	on                      bool
	number                  *int
	wait                    *time.Duration
	size                    *execution.Bytes
	list, commas            []string
	items                   []config.Item
}

func (a *all) table() config.Table {
	long := config.Named("a name", func(s string) error {
		if strings.HasPrefix(s, "bad") {
			return errors.New("this is bad: write good")
		}
		return nil
	})
	return config.Table{
		{Key: "name", Flag: "name", Value: config.Text(&a.name, long), Default: "none", Usage: "a `NAME`", Reload: true},
		{Key: "path", Flag: "path", Value: config.Text(&a.path, config.AnyPath()), Default: "none", Usage: "a `PATH`"},
		{Key: "word", Flag: "word", Value: config.Text(&a.word, config.OneOf("one", "two", "three")), Default: "one", Usage: "a `WORD`", Foreign: &config.Foreign{Variable: "OTHER", Words: map[string]string{"1": "one", "2": "two"}}},
		{Key: "on", Flag: "on", Value: config.Switch(&a.on), Default: "false", Usage: "whether"},
		{Key: "deep.number", Flag: "number", Value: config.Number(&a.number, -1, 10), Default: "5", Usage: "a `N`", Reload: true},
		{Key: "deep.er.wait", Flag: "wait", Value: config.Duration(&a.wait, time.Second, time.Hour), Default: "1m", Usage: "a `TIME`", Reload: true},
		{Key: "deep.er.size", Flag: "size", Value: config.Size(&a.size, execution.KiB, execution.GiB), Default: "1 MiB", Usage: "a `SIZE`"},
		{Key: "list", Flag: "list", Value: config.List(&a.list, config.OneOf("a", "b", "c")), Default: "none", Usage: "some `WORDS`"},
		{Key: "commas", Flag: "commas", Value: config.CommaList(&a.commas, long), Default: "none", Usage: "some `NAMES`"},
		{Key: "items", Flag: "items", Value: config.Items(long, func(i []config.Item) { a.items = i }), Default: "none", Usage: "some `NAMES`", Adds: true},
		{Flag: "fixed", Value: config.Text(&a.fixed, long), Default: "none", Usage: "a `NAME`"},
		{Flag: config.FlagFile, Value: config.Text(new(string), config.AnyPath()), Default: "x", Usage: "a `FILE`"},
		{Flag: config.FlagDataDir, Value: config.Text(new(string), config.AnyPath()), Default: "x", Usage: "a `DIR`"},
	}
}

// load reads a command line and variables, and no file.
func load(t *testing.T, environ []string, args ...string) (*config.Resolved, error) {
	t.Helper()
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	given := (&all{}).table().Declare(fs, nil)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	return (&all{}).table().Load(config.Sources{Given: given, Environ: environ, DataDir: func(string) (string, error) { return t.TempDir(), nil }})
}

func TestEachKindIsReadFromEachPlace(t *testing.T) {
	want := all{
		name: "n", path: "/p", word: "two", on: true, number: new(7), wait: new(90 * time.Second), size: new(2 * execution.MiB),
		list: []string{"a", "c"}, commas: []string{"x", "y", "z"},
	}
	file := "name: n\npath: /p\nword: two\non: true\ndeep: {number: 7, er: {wait: 90s, size: 2 MiB}}\nlist: [a, c]\ncommas: [x, y, z]\nitems: [i, j]\n"
	fromFile, err := (&all{}).table().Parse("/etc/f.yaml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	environ := []string{
		"GEARBOX_NAME=n", "GEARBOX_PATH=/p", "GEARBOX_WORD=two", "GEARBOX_ON=1", "GEARBOX_NUMBER=7", "GEARBOX_WAIT=1m30s", "GEARBOX_SIZE=2m",
		"GEARBOX_LIST=a, c", "GEARBOX_COMMAS=x,y\nignored", "GEARBOX_COMMAS=x\ny\nz\n", "GEARBOX_ITEMS=i,j",
	}
	fromVariables, err := load(t, environ)
	if err != nil {
		t.Fatal(err)
	}
	fromFlags, err := load(t, nil, "--name", "n", "--path=/p", "--word", "two", "--on", "--number=7", "--wait", "90s", "--size", "2048k",
		"--list", "a", "--list", "c", "--commas", "x,y", "--commas", "z", "--items", "i", "--items", "j")
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]*config.Resolved{"file": (&all{}).table().Holding(fromFile), "variables": fromVariables, "flags": fromFlags} {
		var got all
		r.Fill(got.table())
		if len(got.items) != 2 || got.items[0].Text+got.items[1].Text != "ij" || got.items[0].From.Source == "" {
			t.Errorf("%s: items %+v", name, got.items)
		}
		got.items = nil
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

func TestWhatAKindRefusesNamesTheSettingAndWhatIsAccepted(t *testing.T) {
	for arg, want := range map[string]string{
		"--name=":          "--name is empty: name a name, or leave it out",
		"--name=badly":     `--name "badly": this is bad: write good`,
		"--name=a\nb":      `--name "a\nb": a line break or another control character is in it: remove it`,
		"--name=\xff":      `--name "\xff": this is no UTF-8`,
		"--path=":          "--path is empty: name a path, or leave it out",
		"--word=tree":      `--word "tree": not one of one, two, three: did you mean three?`,
		"--on=perhaps":     `--on "perhaps": write true or false`,
		"--number=11":      "--number 11: accepted are -1 to 10",
		"--number=1.5":     `--number "1.5": this is no number: accepted are -1 to 10`,
		"--wait=2h":        "--wait 2h0m0s: accepted are 1s to 1h0m0s",
		"--wait=7":         `--wait "7": this is no time such as 90s, 5m or 1h`,
		"--size=1":         "--size 1: accepted are 1 KiB to 1 GiB",
		"--size=large":     `--size "large": this is no size such as 64 MiB or 10g`,
		"--list=dddd":      `--list "dddd": not one of a, b, c`,
		"--commas=x,bad":   `--commas "bad": this is bad: write good`,
		"--name=" + longer: "--name is longer than 8192 bytes",
	} {
		if _, err := load(t, nil, arg); err == nil || err.Error() != want {
			t.Errorf("%.40s: %v, want %s", arg, err, want)
		}
	}
	_, err := load(t, []string{"GEARBOX_NUMBER=x", "GEARBOX_WORD=x"}, "--wait=x", "--size=1g")
	if err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("not every mistake is told at once: %v", err)
	}
}

var longer = strings.Repeat("x", 8193)

func TestAChangedSettingIsTakenUpOrWaitsForARestart(t *testing.T) {
	old, err := load(t, nil, "--name", "a", "--path", "/a", "--number", "1", "--list", "a", "--wait", "5s")
	if err != nil {
		t.Fatal(err)
	}
	now, err := load(t, nil, "--name", "b", "--path", "/b", "--wait", "5000ms", "--list", "a", "--fixed", "x")
	if err != nil {
		t.Fatal(err)
	}
	next, change := now.Update(old)
	if !slices.Equal(change.Taken, []string{"name", "deep.number"}) || !slices.Equal(change.Waiting, []string{"path", "--fixed"}) {
		t.Errorf("%+v", change)
	}
	var got all
	next.Fill(got.table())
	if got.name != "b" || got.path != "/a" || got.number != nil || got.fixed != "" || *got.wait != 5*time.Second {
		t.Errorf("%+v", got)
	}
	if next.Digest() == old.Digest() || next.Digest() == now.Digest() {
		t.Error("the digests do not tell the values apart")
	}
	if _, none := next.Update(next); none.Taken != nil || none.Waiting != nil {
		t.Errorf("nothing changed: %+v", none)
	}
}

// fault is an error about a setting.
type fault struct{ error, setting, value string }

func (f fault) Error() string   { return f.error }
func (f fault) Setting() string { return f.setting }
func (f fault) Value() string   { return f.value }

func TestErrorsAboutValuesSayWhereTheyStandInTheWordsOfThatPlace(t *testing.T) {
	table := (&all{}).table()
	layer, err := table.Parse("/etc/f.yaml", []byte("deep:\n  number: 7\nlist: [a, b]\n"))
	if err != nil {
		t.Fatal(err)
	}
	file := table.Holding(layer)
	variables, err := load(t, []string{"GEARBOX_NUMBER=7"})
	if err != nil {
		t.Fatal(err)
	}
	tooMuch := fault{"--number 7 is too much for --wait, see --other-thing", "number", ""}
	for _, c := range []struct {
		r    *config.Resolved
		err  error
		want string
	}{
		{file, tooMuch, "/etc/f.yaml:2:11: deep.number 7 is too much for deep.er.wait, see --other-thing"},
		{variables, tooMuch, "GEARBOX_NUMBER: GEARBOX_NUMBER 7 is too much for GEARBOX_WAIT, see --other-thing"},
		{file, fault{"--word is wrong", "word", ""}, "--word is wrong"},
		{file, fault{"it", "list", "b"}, "/etc/f.yaml:3:11: it"},
		{file, fault{"it", "list", "c"}, "it"},
		{file, errors.New("--number"), "--number"},
		{file, fmt.Errorf("start: %w", tooMuch), "/etc/f.yaml:2:11: start: deep.number 7 is too much for deep.er.wait, see --other-thing"},
		{file, errors.Join(errors.New("x"), errors.Join(tooMuch)), "x\n/etc/f.yaml:2:11: deep.number 7 is too much for deep.er.wait, see --other-thing"},
	} {
		if got := c.r.Explain(c.err); got.Error() != c.want {
			t.Errorf("%v: %v, want %s", c.err, got, c.want)
		}
	}
	if file.Explain(nil) != nil {
		t.Error("no error became one")
	}
}

// FuzzPrintedValues: whatever a setting accepts, its printed form reads back to.
func FuzzPrintedValues(f *testing.F) {
	for _, s := range []string{"x", "true", "~", "- a", "a: b", "# no comment", "'\"\\", "\u2028\u0085\ufeff", "0x1F", "1_000", "!!int 3", "&a *b", " lead", "|", "é😀", "2026-01-01", ".inf", "{}", "null", "<<"} {
		f.Add(s, s, int64(4096), 3, "90s")
	}
	f.Fuzz(func(t *testing.T, name, path string, size int64, number int, wait string) {
		args := []string{"--name=" + name, "--path=" + path, "--items=" + name, "--items=" + path, fmt.Sprintf("--size=%d", size), fmt.Sprintf("--number=%d", number), "--wait=" + wait}
		for _, arg := range args {
			first, err := load(t, nil, arg)
			if err != nil {
				continue
			}
			table := (&all{}).table()
			text := first.YAML()
			layer, err := table.Parse("/f.yaml", []byte(text))
			if err != nil {
				t.Fatalf("%v in what was printed:\n%s", err, text)
			}
			var one, two all
			first.Fill(one.table())
			table.Holding(layer).Fill(two.table())
			if strings.HasPrefix(one.path, "~") || one.path != "" && !strings.HasPrefix(one.path, "/") {
				continue // counts from the file's directory there
			}
			if !reflect.DeepEqual(withoutPlaces(one), withoutPlaces(two)) {
				t.Fatalf("%+v reads back as %+v from\n%s", one, two, text)
			}
		}
	})
}

func withoutPlaces(a all) all {
	items := slices.Clone(a.items)
	for i := range items {
		items[i].From = config.Origin{}
	}
	a.items = items
	return a
}
