//go:build linux && (amd64 || arm64)

package linux

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// kubernetesVariable is set in every container of a pod.
const kubernetesVariable = "KUBERNETES_SERVICE_HOST"

// InContainer reports whether this process runs in a container, which is an outer wall
// of its own. It goes by what engines leave behind; who forges that weakens only a
// server that is theirs.
func InContainer() bool { return inContainer("/", os.Getenv) }

func inContainer(root string, env func(string) string) bool {
	if env(kubernetesVariable) != "" || env("container") != "" {
		return true
	}
	for _, mark := range []string{".dockerenv", "run/.containerenv"} {
		if _, err := os.Stat(filepath.Join(root, mark)); err == nil {
			return true
		}
	}
	// Engines tell process 1 (systemd's container interface); only its own user may read that.
	environ, _ := os.ReadFile(filepath.Join(root, "proc/1/environ"))
	if slices.ContainsFunc(bytes.Split(environ, []byte{0}), func(v []byte) bool { return bytes.HasPrefix(v, []byte("container=")) }) {
		return true
	}
	groups, _ := os.ReadFile(filepath.Join(root, "proc/1/cgroup"))
	mounts, _ := os.ReadFile(filepath.Join(root, "proc/self/mountinfo"))
	return namesEngine(string(groups)) || namesEngine(firstMount(string(mounts)))
}

// namesEngine looks for the directories in which engines keep their containers.
func namesEngine(text string) bool {
	return slices.ContainsFunc([]string{
		"/docker/", "/docker-", "/kubepods", "/libpod", "/containerd/", "/crio-", "/lxc/", "/containers/storage/", "/garden/",
	}, func(mark string) bool { return strings.Contains(text, mark) })
}

// firstMount is the line of the root, whose layers lie in the engine's store.
func firstMount(mountinfo string) string {
	for line := range strings.Lines(mountinfo) {
		if f := strings.Fields(line); len(f) > 4 && f[4] == "/" {
			return line
		}
	}
	return ""
}
