package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// large are those of many calls, or of answers of which little matters.
func large() []task {
	return []task{
		{"count a log's errors by component", logErrors, program("read a text file", "files", `from tools import files
from collections import Counter
log = files.read_text_file(path="FILES/logs/app.log")["content"]
dict(Counter(line.split()[2] for line in log.splitlines() if " ERROR " in line))`)},
		{"a year's turnover by city, from 12 files", turnover, program("read files", "files", `from tools import files
import csv, io
totals = {}
for month in range(1, 13):
    text = files.read_text_file(path=f"FILES/orders/2026-{month:02}.csv")["content"]
    for row in csv.DictReader(io.StringIO(text)):
        totals[row["city"]] = totals.get(row["city"], 0) + int(row["amount"])
totals`)},
		{"which of 10 services share a port", sharedPorts, described([]string{"files.list_directory", "files.read_text_file"}, `from tools import files
import json
ports = {}
for line in files.list_directory(path="FILES/services")["content"].splitlines():
    one = json.loads(files.read_text_file(path="FILES/services/" + line.split()[1])["content"])
    ports.setdefault(one["port"], []).append(one["service"])
sorted(sorted(names) for names in ports.values() if len(names) > 1)`)},
		{"follow a trail of 9 files", trail, program("read a text file", "files", `from tools import files
name = "0.txt"
while (text := files.read_text_file(path="FILES/trail/" + name)["content"]).startswith("see "):
    name = text.split()[1]
text.strip()`)},
		{"rename 8 drafts by their titles", rename, renameByProgram},
		{"put 30 people of a file into the memory", importPeople, described([]string{"files.read_text_file", "memory.create_entities", "memory.create_relations"}, `from tools import files, memory
import json
people = json.loads(files.read_text_file(path="FILES/people.json")["content"])
memory.create_entities(entities=[
    {"name": p["name"], "entityType": "person", "observations": [p["role"], p["office"]]} for p in people])
memory.create_relations(relations=[
    {"from": p["name"], "to": p["boss"], "relationType": "reports to"} for p in people if p["boss"]])
len(people)`)},
		{"who in Lyon reports to one person, at any distance", reports, program("read the graph", "memory", `from tools import memory
graph = memory.read_graph()
below = {}
for r in graph["relations"]:
    below.setdefault(r["to"], []).append(r["from"])
found, queue = set(), ["Person 00"]
while queue:
    for name in below.get(queue.pop(), []):
        found.add(name)
        queue.append(name)
sorted(e["name"] for e in graph["entities"] if e["name"] in found and "Lyon" in e["observations"])`)},
		{
			"look one person up in the memory", alone("memory", "open_nodes", map[string]any{"names": []string{"Person 07"}}, writer),
			single("open nodes by name", "memory.open_nodes", map[string]any{"names": []string{"Person 07"}}, writer),
		},
		{"a report from all three servers", report, described(
			[]string{"files.read_text_file", "files.write_file", "everything.get_structured_content", "memory.create_entities"}, reportProgram)},
	}
}

func writer(text string) any { return strings.Contains(text, "writer") }

func logErrors(t *trace) (any, error) {
	text, err := t.one("files", "read_text_file", map[string]any{"path": t.files + "/logs/app.log"})
	counts := map[string]int{}
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); words[1] == "ERROR" {
			counts[words[2]]++
		}
	}
	return counts, err
}

func turnover(t *trace) (any, error) {
	text, err := t.one("files", "read_multiple_files", map[string]any{"paths": t.orderFiles()})
	return byCity(text), err
}

func byCity(text string) map[string]int {
	totals := map[string]int{}
	for _, row := range records(text) {
		n, _ := strconv.Atoi(row[2]) // what is none would make the results differ
		totals[row[1]] += n
	}
	return totals
}

func sharedPorts(t *trace) (any, error) {
	list, err := t.one("files", "list_directory", map[string]any{"path": t.files + "/services"})
	if err != nil {
		return nil, err
	}
	var paths []string
	for line := range strings.Lines(list) {
		paths = append(paths, t.files+"/services/"+strings.Fields(line)[1])
	}
	text, err := t.one("files", "read_multiple_files", map[string]any{"paths": paths})
	if err != nil {
		return nil, err
	}
	ports := map[int][]string{}
	for part := range strings.SplitSeq(text, "\n---\n") {
		var one struct {
			Service string
			Port    int
		}
		if err := json.Unmarshal([]byte(part[strings.IndexByte(part, '{'):]), &one); err != nil {
			return nil, err
		}
		ports[one.Port] = append(ports[one.Port], one.Service)
	}
	var shared [][]string
	for _, names := range ports {
		if slices.Sort(names); len(names) > 1 {
			shared = append(shared, names)
		}
	}
	slices.SortFunc(shared, slices.Compare)
	return shared, nil
}

// trail cannot be read ahead: each file says which is next.
func trail(t *trace) (any, error) {
	for name := "0.txt"; ; {
		text, err := t.one("files", "read_text_file", map[string]any{"path": t.files + "/trail/" + name})
		if err != nil {
			return nil, err
		}
		next, goesOn := strings.CutPrefix(strings.TrimSpace(text), "see ")
		if !goesOn {
			return next, nil
		}
		name = next
	}
}

func rename(t *trace) (any, error) {
	if _, err := t.one("files", "list_directory", map[string]any{"path": t.files + "/drafts"}); err != nil {
		return nil, err
	}
	var reads, moves []call
	for i := range 8 {
		reads = append(reads, call{"files", "read_text_file", map[string]any{"path": fmt.Sprintf("%s/drafts/draft-%d.md", t.files, i), "head": 1}})
	}
	titles, err := t.round(reads...)
	if err != nil {
		return nil, err
	}
	for i, title := range titles {
		name := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(strings.TrimPrefix(title, "# "))), " ", "-")
		moves = append(moves, call{"files", "move_file", map[string]any{
			"source": fmt.Sprintf("%s/drafts/draft-%d.md", t.files, i), "destination": t.files + "/drafts/" + name + ".md",
		}})
	}
	done, err := t.round(moves...)
	return len(done), err
}

// renameByProgram reads all about moving before it writes: a move is not undone easily.
func renameByProgram(t *trace) (string, error) {
	if err := t.describe("files.list_directory", "files.read_text_file"); err != nil {
		return "", err
	}
	if _, err := t.one("", "describe_tools", map[string]any{"names": []string{"files.move_file"}}); err != nil {
		return "", err
	}
	return t.run(`from tools import files
at, n = "FILES/drafts/", 0
for line in files.list_directory(path=at)["content"].splitlines():
    name = line.split()[1]
    title = files.read_text_file(path=at + name, head=1)["content"].removeprefix("# ").strip()
    files.move_file(source=at + name, destination=at + title.lower().replace(" ", "-") + ".md")
    n += 1
n`)
}

// importPeople has the model write every name again.
func importPeople(t *trace) (any, error) {
	text, err := t.one("files", "read_text_file", map[string]any{"path": t.files + "/people.json"})
	if err != nil {
		return nil, err
	}
	var people []struct{ Name, Role, Office, Boss string }
	if err := json.Unmarshal([]byte(text), &people); err != nil {
		return nil, err
	}
	var entities, relations []any
	for _, p := range people {
		entities = append(entities, map[string]any{"name": p.Name, "entityType": "person", "observations": []string{p.Role, p.Office}})
		if p.Boss != "" {
			relations = append(relations, map[string]any{"from": p.Name, "to": p.Boss, "relationType": "reports to"})
		}
	}
	// Not in one round: the server writes its file anew for each of them.
	if _, err := t.one("memory", "create_entities", map[string]any{"entities": entities}); err != nil {
		return nil, err
	}
	_, err = t.one("memory", "create_relations", map[string]any{"relations": relations})
	return len(people), err
}

func reports(t *trace) (any, error) {
	text, err := t.one("memory", "read_graph", map[string]any{})
	if err != nil {
		return nil, err
	}
	var graph struct {
		Entities []struct {
			Name         string
			Observations []string
		}
		Relations []struct{ From, To string }
	}
	if err := json.Unmarshal([]byte(text), &graph); err != nil {
		return nil, err
	}
	below := map[string]bool{"Person 00": true}
	for range graph.Relations { // as often as a chain can be long
		for _, r := range graph.Relations {
			below[r.From] = below[r.From] || below[r.To]
		}
	}
	var found []string
	for _, e := range graph.Entities {
		if below[e.Name] && e.Name != "Person 00" && slices.Contains(e.Observations, "Lyon") {
			found = append(found, e.Name)
		}
	}
	slices.Sort(found)
	return found, nil
}

// report finds the best city of a month, asks for its weather, keeps both and writes a file.
func report(t *trace) (any, error) {
	text, err := t.one("files", "read_text_file", map[string]any{"path": t.files + "/orders/2026-03.csv"})
	if err != nil {
		return nil, err
	}
	totals := byCity(text)
	best := ""
	for city, n := range totals {
		if best == "" || n > totals[best] {
			best = city
		}
	}
	answer, err := t.one("everything", "get-structured-content", map[string]any{"location": best})
	if err != nil {
		return nil, err
	}
	var weather struct{ Conditions string }
	if err := json.Unmarshal([]byte(answer), &weather); err != nil {
		return nil, err
	}
	sold := fmt.Sprintf("%s sold %d; %s", best, totals[best], weather.Conditions)
	_, err = t.round(
		call{"memory", "create_entities", map[string]any{"entities": []any{map[string]any{"name": best, "entityType": "city", "observations": []string{sold}}}}},
		call{"files", "write_file", map[string]any{"path": t.files + "/report.md", "content": "# March\n\n" + sold + "\n"}},
	)
	return sold, err
}

const reportProgram = `from tools import everything, files, memory
import csv, io
totals = {}
text = files.read_text_file(path="FILES/orders/2026-03.csv")["content"]
for row in csv.DictReader(io.StringIO(text)):
    totals[row["city"]] = totals.get(row["city"], 0) + int(row["amount"])
best = max(totals, key=totals.get)
weather = everything.get_structured_content(location=best)["conditions"]
sold = f"{best} sold {totals[best]}; {weather}"
memory.create_entities(entities=[{"name": best, "entityType": "city", "observations": [sold]}])
files.write_file(path="FILES/report.md", content=f"# March\n\n{sold}\n")
sold`
