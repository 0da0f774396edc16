package upstream

import (
	"bytes"
	"encoding/json"

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
			return &jsonrpc.Response{ID: id, Error: &jsonrpc.Error{
				Code: jsonrpc.CodeParseError, Message: "the server's answer cannot be read: " + why.Error(),
			}}
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
