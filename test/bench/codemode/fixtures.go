package main

import (
	"fmt"
	"strings"
)

// fixtures are the files that the tasks are about, by path.
func fixtures() map[string]string {
	all := map[string]string{
		"notes/todo.md":     "# Ship the spring release\n\n- write the notes\n- tag it\n",
		"settings/app.json": "{\n  \"name\": \"shop\",\n  \"timeout\": 30,\n  \"retries\": 3\n}\n",
		"people.json":       people(),
		"logs/app.log":      appLog(),
	}
	cities := []string{"Chicago", "New York", "Los Angeles", "Chicago"}
	for month := 1; month <= 12; month++ {
		var b strings.Builder
		b.WriteString("id,city,amount,status\n")
		for i := range 40 {
			n := month*100 + i
			status := "paid"
			if n%7 == 0 {
				status = "open"
			}
			fmt.Fprintf(&b, "%d,%s,%d,%s\n", n, cities[n%4], 10+n*37%190, status)
		}
		all[fmt.Sprintf("orders/2026-%02d.csv", month)] = b.String()
	}
	for i := range 10 {
		all[fmt.Sprintf("services/s%d.json", i)] = fmt.Sprintf("{\n  \"service\": \"s%d\",\n  \"port\": %d,\n  \"replicas\": %d,\n  \"image\": \"registry.example/s%d:1.%d\",\n  \"health\": \"/healthz\"\n}\n", i, 8000+i*3%8, 1+i%3, i, i*i%5)
	}
	for i, title := range []string{"Winter plan", "Costs of hosting", "New suppliers", "Office move", "Data retention", "Hiring", "Road map", "Support hours"} {
		all[fmt.Sprintf("drafts/draft-%d.md", i)] = "# " + title + "\n\n" + strings.Repeat("Some words about it, and a few more. ", 8) + "\n"
	}
	trail := []int{0, 4, 7, 2, 8, 1, 5, 3, 6}
	for i, at := range trail {
		text := "the treasure is under the oak\n"
		if i+1 < len(trail) {
			text = fmt.Sprintf("see %d.txt\n", trail[i+1])
		}
		all[fmt.Sprintf("trail/%d.txt", at)] = text
	}
	return all
}

// people are 30 in three levels: one of them, then five, then the others.
func people() string {
	var rows []string
	for i := range 30 {
		boss := ""
		switch {
		case i > 5:
			boss = fmt.Sprintf("Person %02d", 1+i%5)
		case i > 0:
			boss = "Person 00"
		}
		rows = append(rows, fmt.Sprintf(`  {"name": "Person %02d", "role": "%s", "office": "%s", "boss": "%s"}`,
			i, []string{"engineer", "writer", "tester"}[i%3], []string{"Lyon", "Porto"}[i%2], boss))
	}
	return "[\n" + strings.Join(rows, ",\n") + "\n]\n"
}

func appLog() string {
	var b strings.Builder
	for i := range 400 {
		level := "INFO"
		switch {
		case i%23 == 0:
			level = "ERROR"
		case i%11 == 0:
			level = "WARN"
		}
		fmt.Fprintf(&b, "2026-03-01T%02d:%02d:00Z %s %s request %d took %d ms\n", i/60, i%60, level, []string{"cart", "search", "pay"}[i%3], i, i*31%900)
	}
	return b.String()
}
