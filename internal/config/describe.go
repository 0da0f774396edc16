package config

import (
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Schema describes the file, for editors.
func (t Table) Schema() *jsonschema.Schema {
	s := t.sections().schema()
	s.Schema = "https://json-schema.org/draft/2020-12/schema"
	s.Title = "Gearbox configuration"
	s.Description = "The file " + FileName + ", as docs/configuration.md explains it."
	return s
}

func (s *section) schema() *jsonschema.Schema {
	out := &jsonschema.Schema{
		Type: "object", Properties: map[string]*jsonschema.Schema{},
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}}, PropertyOrder: s.names,
	}
	for name, setting := range s.settings {
		p := setting.Value.schemaOf()
		p.Description = fmt.Sprintf("%s. Default: %s.", capital(setting.described()), setting.Default)
		out.Properties[name] = p
	}
	for name, below := range s.sections {
		p := below.schema()
		p.Type, p.Types = "", []string{"object", "null"} // with all its keys commented out
		out.Properties[name] = p
	}
	return out
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// Markdown is the table as the documentation shows it.
func (t Table) Markdown() string {
	var b strings.Builder
	b.WriteString("| key | value | default | flag, variable | reload | meaning |\n|---|---|---|---|---|---|\n")
	for _, s := range t {
		key := "–"
		if s.Key != "" {
			key = "`" + s.Key + "`"
		}
		reload := "restart"
		if s.Reload {
			reload = "yes"
		}
		meaning := s.described() + "."
		if s.Meaning != "" {
			meaning += " " + s.Meaning
		}
		fmt.Fprintf(&b, "| %s | %s | %s | `--%s`, `%s` | %s | %s |\n", key, cell(s.Value.typeName()), cell(s.Default), s.Flag, s.Variable(), reload, cell(capital(meaning)))
	}
	return b.String()
}

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
