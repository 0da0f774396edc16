//go:build linux && (amd64 || arm64)

package escape

import "github.com/gearbox-mcp/gearbox/internal/execution"

// notStopped is the reason why a level does not stop an attempt of a user's, or nothing.
// The table must stay true: an attempt that is listed and held fails the test as a
// breach does.
func notStopped(level execution.Level, user, attempt string) string {
	if level != execution.LevelNoUserns {
		return ""
	}
	const names = "Landlock does not hide that a file exists, nor its size and times"
	if user == "unprivileged" && attempt == "the bounding set is empty" {
		return "only root may empty it; it gives nothing to a process that no_new_privs binds"
	}
	return map[string]string{
		"the parent is not visible":               "without a pid namespace getppid tells the keeper's number",
		"the host's name is hidden":               "there is no uts namespace to give it another",
		"nothing tells that there is /home":       names,
		"nothing tells that there is /root":       names,
		"nothing tells that there is /etc/shadow": names,
	}[attempt]
}
