//go:build linux && (amd64 || arm64)

package linux

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

func TestContainersAreKnownByWhatEnginesLeave(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		env   string
		want  bool
	}{
		"host": {files: map[string]string{
			"proc/1/cgroup": "0::/init.scope\n", "proc/1/environ": "TERM=linux\x00",
			"proc/self/mountinfo": "24 1 8:1 / / rw - ext4 /dev/sda1 rw\n31 24 0:5 / /var/lib/docker/overlay2 rw - ext4 /dev/sda1 rw\n",
		}},
		"Docker":           {files: map[string]string{".dockerenv": ""}, want: true},
		"Podman":           {files: map[string]string{"run/.containerenv": ""}, want: true},
		"Kubernetes":       {env: kubernetesVariable, want: true},
		"Podman's own":     {env: "container", want: true},
		"systemd-nspawn":   {files: map[string]string{"proc/1/environ": "TERM=linux\x00container=systemd-nspawn\x00"}, want: true},
		"a word like it":   {files: map[string]string{"proc/1/environ": "mycontainer=1\x00"}},
		"cgroup version 1": {files: map[string]string{"proc/1/cgroup": "4:memory:/kubepods/burstable/pod1/abc\n"}, want: true},
		"overlay as the root": {files: map[string]string{
			"proc/self/mountinfo": "24 1 0:31 / / rw - overlay overlay rw,lowerdir=/var/lib/docker/overlay2/l/A:/var/lib/docker/overlay2/l/B\n",
		}, want: true},
		"storage of Podman as the root": {files: map[string]string{
			"proc/self/mountinfo": "24 1 0:31 / / rw - overlay overlay rw,lowerdir=/var/lib/containers/storage/overlay/l/A\n",
		}, want: true},
	} {
		root := t.TempDir()
		for file, text := range c.files {
			at := filepath.Join(root, file)
			if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		env := func(v string) string {
			if v == c.env {
				return "1"
			}
			return ""
		}
		if got := inContainer(root, env); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestOnlyARefusalOfTheMachineWeakensTheLevel(t *testing.T) {
	for name, c := range map[string]struct {
		from execution.Level
		err  error
		want execution.Level
	}{
		"masked proc":             {execution.LevelFull, &StepError{Step: stepProc, Errno: 1}, execution.LevelNoProc},
		"namespaces used up":      {execution.LevelFull, &StepError{Step: stepNamespaces, Errno: 28}, execution.LevelNoUserns},
		"namespaces refused":      {execution.LevelFull, &StepError{Step: stepNamespaces, Errno: 1}, execution.LevelNoUserns},
		"mounts refused":          {execution.LevelFull, &StepError{Step: stepRoot, Errno: 13}, execution.LevelNoUserns},
		"mounts refused later":    {execution.LevelNoProc, &StepError{Step: stepPivot, Errno: 1}, execution.LevelNoUserns},
		"out of memory":           {execution.LevelFull, &StepError{Step: stepNamespaces, Errno: 12}, ""},
		"too many processes":      {execution.LevelFull, &StepError{Step: stepNamespaces, Errno: 11}, ""},
		"unreachable interpreter": {execution.LevelFull, &StepError{Step: stepMounts, Errno: 13}, ""},
		"another failure":         {execution.LevelFull, errGone, ""},
		"the weakest":             {execution.LevelNoUserns, &StepError{Step: stepIdentity, Errno: 1}, ""},
	} {
		if got, ok := weaker(c.from, c.err); got != c.want || ok != (c.want != "") {
			t.Errorf("%s: %q, %v", name, got, ok)
		}
	}
}
