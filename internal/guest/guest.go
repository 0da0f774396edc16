// Package guest holds the Python that runs inside a sandbox: the fork server,
// the sealing of a child, the loop that speaks the bridge, the analyser, the
// cell runner, and the package tools, by which a program calls the tools of other
// servers. It is real source in the folder gearbox_guest, embedded as files.
//
// What a program imports as tools is no file: a finder of the guest makes it, before
// sys.path is looked at, so that no file of the workspace and no installed package of
// that name stands in its place.
//
// It is the trusted base of the Linux backend: until a child is sealed this code
// holds capabilities, and what a child reports before user code runs is believed
// only because this code wrote it. It uses the standard library alone.
package guest

import (
	"embed"
	"io/fs"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// Files is the Python package gearbox_guest, to be put on the guest's sys.path.
//
//go:embed gearbox_guest/*.py
var Files embed.FS

// Package is the name of the Python package and of its folder in [Files].
const Package = "gearbox_guest"

// Version names the content of [Files]: guests of one version report the same
// facts of the same source.
func Version() (string, error) {
	var parts [][]byte
	err := fs.WalkDir(Files, Package, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := Files.ReadFile(path)
		parts = append(parts, []byte(path), data)
		return err
	})
	return execution.DigestOf(parts...).String(), err
}
