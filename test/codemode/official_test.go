//go:build linux

package codemode

import (
	"os"
	"path/filepath"
	"testing"
)

// node is the entry of a reference server in JavaScript.
func node(t testing.TB, name string, args ...string) map[string]any {
	t.Helper()
	dir := installed(t, "the reference server "+name, "servers", "node/package.json", "node/package-lock.json")
	script := filepath.Join(dir, "node_modules", "@modelcontextprotocol", "server-"+name, "dist", "index.js")
	return map[string]any{"command": filepath.Join(dir, "bin", "node"), "args": append([]string{script}, args...), "startup_timeout": 60}
}

func TestTheReferenceServersWorkInOneScript(t *testing.T) {
	docs := t.TempDir()
	write(t, filepath.Join(docs, "a.txt"), "one\ntwo\n")
	memory := node(t, "memory")
	memory["env"] = map[string]any{"MEMORY_FILE_PATH": filepath.Join(t.TempDir(), "memory.jsonl")}
	b := open(t, setting{servers: servers{"everything": node(t, "everything"), "files": node(t, "filesystem", docs), "memory": memory}})
	got := value[map[string]any](b, `
import tools, asyncio
from tools import everything, files, memory

out = {}
out["echo"] = everything.echo(message="héllo \U0001f600")
out["sum"] = everything.get_sum(a=2, b=40)
out["raw"] = tools.call("everything", "get-sum", {"a": 1, "b": 2})
image = everything.get_tiny_image()
blob = next(p for p in image if isinstance(p, tools.Blob))
out["image"] = [blob.mime, blob.data[:4].hex(), len(image)]
out["structured"] = everything.get_structured_content(location="Chicago")
link = next(p for p in everything.get_resource_links(count=2) if isinstance(p, tools.ResourceLink))
out["link"] = [link.uri, bool(link.read())]
out["reference"] = [type(p).__name__ for p in everything.get_resource_reference(resourceType="Blob", resourceId=2)]
out["annotated"] = str(everything.get_annotated_message(messageType="error"))
out["long"] = everything.trigger_long_running_operation(duration=0.1, steps=5)
try:
    everything.get_sum(a="x", b=1)
except tools.InvalidArguments as e:
    out["invalid"] = str(e)
try:
    everything.get_structured_content(location="Atlantis")
except tools.InvalidArguments as e:
    out["enum"] = str(e)

path = DOCS + "/a.txt"
out["read"] = files.read_text_file(path=path)
files.write_file(path=DOCS + "/b.txt", content="written")
out["list"] = files.list_directory(path=DOCS)
try:
    files.read_text_file(path="/etc/passwd")
except tools.ToolError as e:
    out["outside"] = [type(e).__name__, str(e), e.server, e.tool]

memory.create_entities(entities=[{"name": "Ada", "entityType": "person", "observations": [out["echo"]]}])
out["graph"] = memory.search_nodes(query="Ada")
out["both"] = await asyncio.gather(everything.aio.get_sum(a=1, b=1), files.aio.list_allowed_directories(), memory.aio.read_graph())
out
`, map[string]any{"DOCS": docs})
	for name, words := range map[string][]string{
		"echo": {"Echo: héllo 😀"}, "sum": {"42"}, "raw": {"3"}, "image": {"image/png", "89504e47"}, "structured": {"temperature", "humidity"},
		"link": {"true"}, "reference": {"Blob"}, "annotated": {"Error"}, "long": {"Long running operation completed"},
		"invalid": {"a must be", "get_sum"}, "enum": {"location"},
		"read": {"one", "two"}, "list": {"a.txt", "b.txt"}, "outside": {"ToolError", "denied", "files", "read_text_file"},
		"graph": {"Ada", "person"}, "both": {"2", "Ada", filepath.Base(docs)},
	} {
		has(t, marshal(t, got[name]), words...)
	}
	if text := string(read(t, filepath.Join(docs, "b.txt"))); text != "written" {
		t.Errorf("%q", text)
	}
}

func TestAServerOfThePythonSDKWorks(t *testing.T) {
	dir := installed(t, "the Python SDK", "python", "../clients/python/requirements.txt")
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	b := open(t, setting{servers: servers{"py": {
		"command": filepath.Join(dir, "bin", "python"), "args": []string{filepath.Join(here, "python", "server.py")}, "startup_timeout": 60,
	}}})
	got := value[map[string]any](b, `
import tools
from tools import py
out = {}
out["add"] = py.add(a=2, b=3)
out["person"] = py.person(name="Ada")
out["people"] = py.people()
out["nothing"] = py.nothing()
out["text"] = py.text()
out["image"] = [py.image().mime, len(py.image())]
out["progress"] = py.progress(steps=3)
try:
    py.fail(why="no cheese")
except tools.ToolError as e:
    out["fail"] = [type(e).__name__, str(e)]
try:
    py.add(a="two", b=3)
except tools.InvalidArguments as e:
    out["invalid"] = str(e)
out["optional"] = py.optional()
out["signature"] = tools.describe("py.add", detail="signature")
out
`, nil)
	// The SDK wraps what is no object in {"result": …} and says so in the output schema, with no
	// mark that it is a wrapper: the value is what the signature says it is.
	for name, want := range map[string]string{
		"add": `{"result":5}`, "person": `{"age":36,"name":"Ada"}`, "people": `{"result":[{"age":36,"name":"Ada"},{"age":45,"name":"Grace"}]}`,
		"nothing": `{"result":null}`, "text": `{"result":"{\"looks\": \"like JSON\"}"}`, "image": `["image/png",8]`, "progress": `{"result":3}`,
		"optional": `{"limit":10,"tags":null}`,
	} {
		if text := marshal(t, got[name]); text != want {
			t.Errorf("%s: %s", name, text)
		}
	}
	has(t, got["signature"].(string), `-> {"result": int}`)
	has(t, marshal(t, got["fail"]), "ToolError", "no cheese")
	has(t, marshal(t, got["invalid"]), "a must be")
}
