package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/gearbox-mcp/gearbox/test/model"
)

// modelKey is the key of the scripted endpoints.
const modelKey = "sk-of-the-endpoint-0123456789"

// solve runs gearbox agent against an endpoint.
func solve(t *testing.T, dir string, s *model.Server, format string, args ...string) (stdout, stderr string, exit int) {
	t.Helper()
	args = append([]string{"agent", "--data-dir", dir, "--agent-provider", format, "--agent-model", model.Name, "--agent-base-url", s.URL()}, args...)
	cmd := exec.CommandContext(t.Context(), "gearbox", args...)
	cmd.Env = append(os.Environ(), "OPENAI_API_KEY="+modelKey, "ANTHROPIC_API_KEY="+modelKey)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	_ = cmd.Run() // the exit code is checked instead
	if strings.Contains(out.String()+errOut.String(), modelKey) {
		t.Errorf("the key is in the output: %s%s", &out, &errOut)
	}
	return out.String(), errOut.String(), cmd.ProcessState.ExitCode()
}

func python(code string) model.Reply {
	return model.Reply{Text: "Here it is:\n\n```python\n" + code + "\n```\n"}
}

func TestAnAgentSolvesATaskByPrograms(t *testing.T) {
	dir := t.TempDir()
	if exec.CommandContext(t.Context(), "gearbox", "doctor", "--data-dir", dir).Run() != nil {
		t.Skip("skipped: no sandbox on this machine: gearbox doctor says why")
	}
	for _, format := range []string{model.OpenAI, model.Anthropic} {
		t.Run(format+": an error is mended", func(t *testing.T) {
			s := model.Start(t, format, modelKey, python("1 / 0"), python("print('half')\n6 * 7"))
			out, errOut, exit := solve(t, dir, s, format, "what is six times seven?")
			if exit != 0 || out != "half\n42\n" {
				t.Errorf("exit %d, %q, %s", exit, out, errOut)
			}
			if last := s.Requests()[1].Last(); !strings.Contains(last, "ZeroDivisionError: division by zero") {
				t.Errorf("told %q", last)
			}
		})
		t.Run(format+": a denial is mended, and the task ends in words", func(t *testing.T) {
			s := model.Start(t, format, modelKey, python("import subprocess\nsubprocess.run(['id'])"), python("print('seen')\n# continue"), model.Reply{Text: "It is done."})
			out, errOut, exit := solve(t, dir, s, format, "--gear", "restricted", "look")
			if exit != 0 || out != "seen\nIt is done.\n" {
				t.Errorf("exit %d, %q, %s", exit, out, errOut)
			}
			if q := s.Requests(); !strings.Contains(q[1].Last(), "status denied") || !strings.Contains(q[1].Last(), "line 1: import(subprocess)") || !strings.Contains(q[2].Last(), "seen") {
				t.Errorf("told %q, %q", q[1].Last(), q[2].Last())
			}
		})
	}
	t.Run("no program gets the key, whatever the rules say", func(t *testing.T) {
		s := model.Start(t, model.OpenAI, modelKey, python("import os\nprint(os.environ.get('OPENAI_API_KEY'), os.environ.get('OTHER'))"))
		t.Setenv("OTHER", "seen")
		out, errOut, exit := solve(t, dir, s, model.OpenAI, "--allow", "env(OPENAI_API_KEY)", "--allow", "env(OTHER)", "--json", "print it")
		var got struct {
			Status, Code string
			Result       struct{ Stdout string }
			Programs     int
			Usage        struct{ Requests int }
		}
		if err := json.Unmarshal([]byte(out), &got); err != nil || exit != 0 || got.Status != "ok" || got.Result.Stdout != "None seen\n" || got.Programs != 1 || got.Usage.Requests != 1 {
			t.Errorf("exit %d, %s, %s", exit, out, errOut)
		}
	})
	t.Run("the last failure is the exit code", func(t *testing.T) {
		s := model.Start(t, model.OpenAI, modelKey, python("import sys\nsys.exit(7)"))
		if out, errOut, exit := solve(t, dir, s, model.OpenAI, "--agent-attempts", "0", "fail"); exit != 7 || out != "" {
			t.Errorf("exit %d, %q, %s", exit, out, errOut)
		}
	})
	t.Run("a model that cannot be asked is told", func(t *testing.T) {
		s := model.Start(t, model.OpenAI, modelKey, model.Reply{Status: 401, Text: "Incorrect key: sk-of***789"})
		if out, errOut, exit := solve(t, dir, s, model.OpenAI, "anything"); exit != 1 || out != "" || !strings.Contains(errOut, "the key in OPENAI_API_KEY is missing, wrong or expired") || strings.Contains(errOut, "sk-of") {
			t.Errorf("exit %d, %q, %s", exit, out, errOut)
		}
	})
}
