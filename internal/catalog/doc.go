// Package catalog says how the tools of other MCP servers look to a model and to a program,
// and what their arguments and results mean. It is made from definitions and is pure: no
// connection, no clock, nothing that changes once it is made.
//
// What belongs here: names, search, levels of detail, stubs, the descriptor of a Python
// module, pins, the check of arguments, and the conversion of results. What does not:
// sessions with servers (upstream), whether a call may be made (gateway, authz), and the
// Python that makes it (guest).
//
// # Invariants
//
//   - All that a server says is data. What is shown of it stands inside Python strings and
//     comments or behind a name, with hidden characters written out (visible), so that no
//     description ends its string, hides a part of itself, or passes for our own words.
//   - A tool that cannot be understood is listed with its fault and spoils no other tool.
//   - Names in Python are identifiers, unique in their module or function, and the same for
//     the same definitions. A raw name that can stand as it is keeps itself, so that no
//     string is the Python name of one thing and the raw name of another.
//   - What is checked is what is sent: [Catalog.Validate] returns the bytes for the server.
//
// # The module descriptor
//
// The Python package inside the sandbox asks for it with want=module. With a server named,
// by its name, its alias or its module, the answer is one JSON object of [Module]:
//
//	{"version": 1, "server": "mail-box", "module": "mail_box", "doc": "…",
//	 "functions": [
//	   {"python": "send_email", "raw": "send-email", "doc": "…",
//	    "signature": "(*, to: list[str], from_: str = \"me\") -> dict",
//	    "parameters": [
//	      {"python": "to", "raw": "to", "required": true},
//	      {"python": "from_", "raw": "from"}],
//	    "open": true}]}
//
// With no server it is one object of [Index]:
//
//	{"version": 1, "modules": [{"module": "mail_box", "server": "mail-box", "doc": "…", "functions": 1}]}
//
// Absent members are false or empty. Version counts changes that a reader of the version
// before would misread; new members may come without one. In particular:
//
//   - python is what the program writes, raw what goes into the call frame. Arguments may go
//     by either name; [Catalog.Validate] maps Python names to raw ones.
//   - Every function takes its arguments by keyword. A parameter may be called self, print,
//     timeout or whatever else is an identifier and no keyword, so that an implementation
//     takes **arguments and nothing else by name.
//   - open tells that names beyond parameters pass too, as they are.
//   - doc and signature are to be shown, never evaluated. A signature is what stands in a def
//     between the name and the colon. Its types are expressions in Python's syntax, where
//     {"a": int, "b?": str} is a dict in which b may be absent; a default of ... is one that
//     the server knows. Defaults are shown and not sent: the server has them.
//   - A function is never called aio, and a module never what [ReservedModules] lists. Neither
//     has a name that begins with an underscore and goes on with anything but a digit: those
//     are for the package itself.
//
// # Values of answers
//
// [Answer] turns a result into the head and the body of an answer frame. The guest makes a
// value of it: form none is None; json is that value; text is a str; parts are one Blob
// (image, audio, blob), ResourceLink (link) or str (text) each, a single part being the
// value itself and several a list in order.
package catalog
