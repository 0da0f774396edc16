package clientconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/tailscale/hujson"
)

// jsonFormat edits JSON as clients accept it: with comments and trailing commas.
type jsonFormat struct {
	key string
	// stdio says that an entry names its transport.
	stdio bool
}

func (j jsonFormat) servers() string { return j.key }

func (j jsonFormat) tree(data []byte) (map[string]any, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return map[string]any{}, nil
	}
	v, err := parseJSON(data)
	if err != nil {
		return nil, err
	}
	v.Standardize()
	d := json.NewDecoder(bytes.NewReader(v.Pack()))
	d.UseNumber() // a float64 would hide a change of a large integer
	tree := map[string]any{}
	if err := d.Decode(&tree); err != nil {
		return nil, err
	}
	return tree, nil
}

func parseJSON(data []byte) (hujson.Value, error) {
	v, err := hujson.Parse(bytes.Clone(data)) // the value aliases its input
	if err != nil {
		return v, fmt.Errorf("not valid JSON: %s", strings.TrimPrefix(err.Error(), "hujson: "))
	}
	if v.Value.Kind() != '{' {
		return v, errors.New("not valid as configuration: line 1: the file does not hold a JSON object")
	}
	return v, nil
}

func (j jsonFormat) add(data []byte, e Entry) ([]byte, error) {
	ed := newJSONEditor(data)
	doc := hujson.Value{Value: &hujson.Object{}, AfterExtra: hujson.Extra(ed.newline)}
	if len(bytes.TrimSpace(data)) > 0 {
		var err error
		if doc, err = parseJSON(data); err != nil {
			return nil, err
		}
	}
	root := doc.Value.(*hujson.Object)
	ed.learnIndent(root)
	servers, err := ed.object(root, j.key, 0)
	if err != nil {
		return nil, err
	}
	at, err := ed.find(servers, ServerName)
	if err != nil {
		return nil, err
	}
	if at < 0 {
		at = ed.insert(servers, ServerName, &hujson.Object{}, 1)
	}
	j.set(ed, &servers.Members[at].Value, e)
	return doc.Pack(), nil
}

// set makes v start e. Members that belong to the user, such as env, stay, unless the
// entry is of another kind altogether.
func (j jsonFormat) set(ed *jsonEditor, v *hujson.Value, e Entry) {
	entry, ok := v.Value.(*hujson.Object)
	if !ok || memberIndex(entry, "url") >= 0 {
		entry = &hujson.Object{}
		v.Value = entry
	}
	if j.stdio {
		ed.set(entry, "type", "stdio", 2)
	}
	ed.set(entry, "command", e.Command, 2)
	args := e.Args
	if args == nil {
		args = []string{}
	}
	ed.set(entry, "args", args, 2)
}

func (j jsonFormat) remove(data []byte) ([]byte, error) {
	doc, err := parseJSON(data)
	if err != nil {
		return nil, err
	}
	ed := newJSONEditor(data)
	servers, err := ed.object(doc.Value.(*hujson.Object), j.key, 0)
	if err != nil {
		return nil, err
	}
	at, err := ed.find(servers, ServerName)
	if err != nil {
		return nil, err
	}
	removeMember(servers, at)
	return doc.Pack(), nil
}

// jsonEditor inserts members in the style of the file.
type jsonEditor struct {
	data    []byte
	newline string
	indent  string
	// minified says that the whole file is one line, and is to stay that.
	minified bool
}

func newJSONEditor(data []byte) *jsonEditor {
	ed := &jsonEditor{data: data, newline: "\n", indent: "  "}
	if bytes.Contains(data, []byte("\r\n")) {
		ed.newline = "\r\n"
	}
	return ed
}

// learnIndent takes the indentation of the first member of the file.
func (ed *jsonEditor) learnIndent(root *hujson.Object) {
	if len(root.Members) == 0 {
		return
	}
	ed.minified = !bytes.Contains(bytes.TrimSpace(ed.data), []byte("\n"))
	before := string(root.Members[0].Name.BeforeExtra)
	line := before[strings.LastIndexByte(before, '\n')+1:]
	space := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
	if space != "" && len(line) < len(before) {
		ed.indent = space
	}
}

// line is the line number of an offset.
func (ed *jsonEditor) line(offset int) int { return 1 + bytes.Count(ed.data[:offset], []byte("\n")) }

func memberName(m hujson.ObjectMember) string {
	name, _ := m.Name.Value.(hujson.Literal)
	return name.String()
}

func memberIndex(obj *hujson.Object, name string) int {
	for i, m := range obj.Members {
		if memberName(m) == name {
			return i
		}
	}
	return -1
}

// find is the index of a member, -1 if there is none. Of two members with one
// name clients see either the first or the last, so there is no right one to edit.
func (ed *jsonEditor) find(obj *hujson.Object, name string) (int, error) {
	at := memberIndex(obj, name)
	for _, m := range obj.Members[at+1:] {
		if memberName(m) == name && at >= 0 {
			return 0, fmt.Errorf("line %d: %q is there a second time: keep one of them", ed.line(m.Name.StartOffset), name)
		}
	}
	return at, nil
}

// object is the member as an object, made if there is none.
func (ed *jsonEditor) object(parent *hujson.Object, name string, depth int) (*hujson.Object, error) {
	at, err := ed.find(parent, name)
	if err != nil {
		return nil, err
	}
	if at < 0 {
		at = ed.insert(parent, name, &hujson.Object{}, depth)
	}
	obj, ok := parent.Members[at].Value.Value.(*hujson.Object)
	if !ok {
		return nil, fmt.Errorf("line %d: %q is not an object", ed.line(parent.Members[at].Value.StartOffset), name)
	}
	return obj, nil
}

// set gives a member a value, and leaves it alone if it has that value.
func (ed *jsonEditor) set(obj *hujson.Object, name string, value any, depth int) {
	at := memberIndex(obj, name)
	if at < 0 {
		at = ed.insert(obj, name, hujson.Literal("null"), depth)
	}
	v := &obj.Members[at].Value
	if !sameJSON(*v, value) {
		v.Value = ed.render(value)
	}
}

func sameJSON(v hujson.Value, value any) bool {
	v = v.Clone()
	v.Standardize()
	var is, want any
	text, err := json.Marshal(value)
	return err == nil && json.Unmarshal(text, &want) == nil && json.Unmarshal(v.Pack(), &is) == nil && reflect.DeepEqual(is, want)
}

// render writes a string or a list of strings on one line.
func (ed *jsonEditor) render(value any) hujson.ValueTrimmed {
	if s, ok := value.(string); ok {
		return hujson.String(s)
	}
	list := &hujson.Array{}
	for i, s := range value.([]string) {
		element := hujson.Value{Value: hujson.String(s)}
		if i > 0 {
			element.BeforeExtra = hujson.Extra(" ")
		}
		list.Elements = append(list.Elements, element)
	}
	return list
}

// insert appends a member to an object at a depth of nesting. What stood before
// the closing brace is divided: comments belong to what precedes the new member,
// the white space after them to the brace.
func (ed *jsonEditor) insert(obj *hujson.Object, name string, value hujson.ValueTrimmed, depth int) int {
	comments := bytes.TrimRight(obj.AfterExtra, " \t\r\n")
	space := obj.AfterExtra[len(comments):]
	m := hujson.ObjectMember{
		Name:  hujson.Value{Value: hujson.String(name)},
		Value: hujson.Value{Value: value, BeforeExtra: hujson.Extra(" ")},
	}
	before := " "
	switch {
	case ed.minified && len(obj.Members) == 0:
		before = ""
	case !ed.minified && !onOneLine(obj):
		before = ed.newline + strings.Repeat(ed.indent, depth+1)
		if !bytes.ContainsRune(space, '\n') {
			space = []byte(ed.newline + strings.Repeat(ed.indent, depth))
		}
	}
	if last := len(obj.Members) - 1; last >= 0 && obj.Members[last].Value.AfterExtra != nil {
		m.Value.AfterExtra = hujson.Extra{} // a trailing comma stays a habit
	}
	m.Name.BeforeExtra = append(bytes.Clone(comments), before...)
	obj.AfterExtra = hujson.Extra(bytes.Clone(space))
	obj.Members = append(obj.Members, m)
	return len(obj.Members) - 1
}

// onOneLine reports whether an object has members and no line break between them.
func onOneLine(obj *hujson.Object) bool {
	for _, m := range obj.Members {
		if bytes.ContainsRune(m.Name.BeforeExtra, '\n') {
			return false
		}
	}
	return len(obj.Members) > 0 && !bytes.ContainsRune(obj.AfterExtra, '\n')
}

// removeMember undoes insert. Comments around the member stay.
func removeMember(obj *hujson.Object, at int) {
	m := obj.Members[at]
	comments := bytes.TrimRight(m.Name.BeforeExtra, " \t\r\n")
	comments = append(bytes.Clone(comments), bytes.TrimRight(m.Value.AfterExtra, " \t\r\n")...)
	last := at == len(obj.Members)-1
	obj.Members = append(obj.Members[:at:at], obj.Members[at+1:]...)
	if !last {
		next := &obj.Members[at].Name
		next.BeforeExtra = afterComments(comments, next.BeforeExtra)
		return
	}
	obj.AfterExtra = afterComments(comments, obj.AfterExtra)
	if at == 0 {
		return
	}
	previous := &obj.Members[at-1].Value
	switch {
	case m.Value.AfterExtra == nil:
		obj.AfterExtra = append(bytes.Clone(previous.AfterExtra), obj.AfterExtra...)
		previous.AfterExtra = nil
	case previous.AfterExtra == nil:
		previous.AfterExtra = hujson.Extra{}
	}
}

// afterComments puts space behind comments, the last of which may need a line
// break to end it.
func afterComments(comments []byte, space hujson.Extra) hujson.Extra {
	if len(comments) > 0 && !bytes.ContainsRune(space, '\n') {
		comments = append(comments, '\n')
	}
	return append(comments, space...)
}
