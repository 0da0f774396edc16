package cli

import (
	"strings"
	"testing"
)

func TestExplainSaysWhenAGearDoesNotReadTheProgramAtAll(t *testing.T) {
	t.Setenv("GEARBOX_DATA_DIR", t.TempDir())
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"execution off": {[]string{"read_only", "-c", "1"}, "The gear read_only does not run code"},
		"language":      {[]string{"restricted", "--language", "bash", "-c", "ls"}, "The gear restricted does not run bash"},
		"length":        {[]string{"restricted", "-c", strings.Repeat("1\n", 500)}, "source.lines: 400"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := command(t, "", append([]string{"gear", "explain"}, c.args...)...)
			if code != exitDenied || !strings.Contains(stdout, c.want) || stderr != "" {
				t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
			}
		})
	}
}
