package upstream

import (
	"bytes"
	"encoding/json"
	"regexp"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// unreadable is an error in the place of a response that cannot be read, so that whoever
// waits for it learns why at once: one with NaN in it, say, or nested too deeply. It is nil
// unless the line says, before what is wrong, which request it answers.
func unreadable(line []byte, why error) jsonrpc.Message {
	d := json.NewDecoder(bytes.NewReader(line))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	var ours bool
	var id jsonrpc.ID
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil
		}
		switch name {
		case "result", "error":
			if !ours || !id.IsValid() {
				return nil
			}
			return instead(id, why)
		case "method":
			return nil
		}
		value, err := d.Token()
		if err != nil {
			return nil
		}
		switch name {
		case "jsonrpc":
			ours = value == "2.0"
		case "id":
			if id, err = jsonrpc.MakeID(value); err != nil {
				return nil
			}
		}
	}
	return nil
}

// lastMembers are the end of a response that has its result first, as many write it.
var lastMembers = regexp.MustCompile(`,\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*([0-9]{1,15}|"[^"\\]*")\s*\}\s*$`)

// unreadableAtEnd is as unreadable, for a line that says at its end what it answers. Of such
// a line a server can make an answer to any of its own calls, as of every line.
func unreadableAtEnd(tail []byte, why error) jsonrpc.Message {
	found := lastMembers.FindSubmatch(tail)
	if found == nil {
		return nil
	}
	var value any
	if json.Unmarshal(found[1], &value) != nil {
		return nil
	}
	id, err := jsonrpc.MakeID(value)
	if err != nil || !id.IsValid() {
		return nil
	}
	return instead(id, why)
}

// instead is a response in the place of one that was not read.
func instead(id jsonrpc.ID, why error) *jsonrpc.Response {
	return &jsonrpc.Response{ID: id, Error: &jsonrpc.Error{
		Code: jsonrpc.CodeParseError, Message: "the server's answer cannot be read: " + why.Error(),
	}}
}
