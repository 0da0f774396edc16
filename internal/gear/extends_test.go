package gear_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/gear"
)

// write makes a file for each name below dir.
func write(t *testing.T, dir string, texts map[string]string) {
	t.Helper()
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFileExtendsItsNeighboursBeforeTheRegistrysGears(t *testing.T) {
	own, data := t.TempDir(), t.TempDir()
	write(t, own, map[string]string{
		"main.yaml": "extends: near\n", "near.yaml": "description: beside\nextends: far\n", "upper.yaml": "extends: both\n",
		"both.yaml": "description: beside\n", "stuck.yaml": "extends: lower\n",
	})
	write(t, data, map[string]string{
		"far.yaml": "extends: restricted\n", "both.yaml": "description: of the registry\n", "lower.yaml": "extends: near\n",
	})
	registry := gear.OpenRegistry(data)
	g, err := registry.LoadFile(filepath.Join(own, "main.yaml"))
	if err != nil || !slices.Equal(g.Extends, []string{"near", "far", "restricted"}) || g.Description != "beside" {
		t.Errorf("%v, %v", g.Extends, err)
	}
	if g, err := registry.LoadFile(filepath.Join(own, "upper.yaml")); err != nil || g.Description != "beside" {
		t.Errorf("%q, %v", g.Description, err)
	}
	// A gear of the registry means the same whoever extends it.
	if _, err := registry.LoadFile(filepath.Join(own, "stuck.yaml")); err == nil || !strings.Contains(err.Error(), `unknown gear "near"`) {
		t.Errorf("%v", err)
	}
	if _, err := registry.Get("near"); !errors.Is(err, gear.ErrUnknown) {
		t.Errorf("a call reaches files beside another one: %v", err)
	}
}

func TestCircleOverTwoDirectoriesIsFound(t *testing.T) {
	own, data := t.TempDir(), t.TempDir()
	write(t, own, map[string]string{"a.yaml": "extends: b\n", "b.yaml": "extends: a\n", "c.yaml": "extends: d\n"})
	write(t, data, map[string]string{"d.yaml": "extends: e\n", "e.yaml": "extends: d\n"})
	for file, circle := range map[string]string{"a.yaml": "a → b → a", "c.yaml": "c → d → e → d"} {
		_, err := gear.OpenRegistry(data).LoadFile(filepath.Join(own, file))
		if err == nil || !strings.Contains(err.Error(), circle) {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestUnknownBaseNamesTheNearestOfBothDirectories(t *testing.T) {
	own, data := t.TempDir(), t.TempDir()
	write(t, own, map[string]string{"main.yaml": "extends: neihgbour\n", "other.yaml": "extends: distnat\n", "neighbour.yaml": ""})
	write(t, data, map[string]string{"distant.yaml": ""})
	for file, near := range map[string]string{"main.yaml": "did you mean neighbour?", "other.yaml": "did you mean distant?"} {
		_, err := gear.OpenRegistry(data).LoadFile(filepath.Join(own, file))
		if err == nil || !strings.Contains(err.Error(), near) {
			t.Errorf("%s: %v", file, err)
		}
	}
}
