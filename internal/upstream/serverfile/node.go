package serverfile

// shape is what a value looks like, whatever the format of its file.
type shape int

const (
	nothing shape = iota
	text
	number
	truth
	list
	object
)

func (s shape) String() string {
	return [...]string{"nothing", "text", "a number", "true or false", "a list", "an object"}[s]
}

// node is a value and where it stands.
type node struct {
	shape  shape
	text   string // of text, numbers, and "true" or "false"
	items  []node // of a list
	fields []field
	line   int
}

// field is one key of an object, in the order of the file. A key may come twice.
type field struct {
	key   string
	line  int
	value node
}

// get is the last value of a key, as most programs read it.
func (n node) get(key string) (node, bool) {
	for i := len(n.fields) - 1; i >= 0; i-- {
		if n.fields[i].key == key {
			return n.fields[i].value, true
		}
	}
	return node{}, false
}

// scalar is what may stand for text: a port is often written as a number.
func (n node) scalar() bool { return n.shape == text || n.shape == number || n.shape == truth }
