package cpython

import (
	"context"
	"log/slog"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// Installation is an interpreter that was checked and can be used.
type Installation struct {
	// Root is the directory that holds the interpreter. An embedded one may be
	// mounted anywhere; any other must keep its path.
	Root string
	// Executable is the interpreter itself, an absolute path without links.
	Executable string
	// Version is the full version, such as 3.14.6.
	Version  string
	Embedded bool
	// Compiled tells that byte code lies beside the sources of an embedded one.
	Compiled bool
	// Digest names exactly this installation, byte code included.
	Digest execution.Digest
	// Content is Digest without byte code: it stays the same when a tree is
	// compiled, and is what an approval binds to.
	Content execution.Digest
	// Mounts are the directories that it needs at their own paths, apart from
	// Executable and the system's libraries.
	Mounts []string
	// Path is what a program adds to sys.path: the packages of an operator's
	// environment.
	Path []string
	// Omitted are entries of its sys.path that lie outside the environment, as
	// editable installs do. They are not granted without being asked for.
	Omitted []string

	lease *lease
}

// Release says that this process no longer uses the tree, so that it may be
// removed once it is not the current one. The kernel does the same at the end of
// the process. Copies of an Installation share one lease.
func (i Installation) Release() { i.lease.release() }

// Config says where the embedded interpreter is kept.
type Config struct {
	// Dir is the data directory. It is made if it is missing.
	Dir string
	// Progress is told in a few words what takes long; nil for silence.
	Progress func(string)
	// Logger may be nil.
	Logger *slog.Logger

	// extract unpacks into an empty directory; nil for the embedded module.
	extract func(dir string) error
	// sync brings a tree to disk; nil for doing it.
	sync func(ctx context.Context, root string) error
}

func (c Config) withDefaults() Config {
	if c.Progress == nil {
		c.Progress = func(string) {}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.extract == nil {
		c.extract = extractEmbedded
	}
	if c.sync == nil {
		c.sync = syncTree
	}
	return c
}
