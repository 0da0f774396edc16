package sidecar

import (
	"slices"
	"strings"
	"sync"

	"github.com/gearbox-mcp/gearbox/internal/cpython"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/gear"
	"github.com/gearbox-mcp/gearbox/internal/policy"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
)

// template is what a child is prepared with; its shape is the ceiling of the
// gear: what any run under it may need. Where the gear grants bash as a program too,
// the children for Python hold all that a source in bash needs, and one fork server
// serves both.
func (p *places) template(python cpython.Installation, g gear.Frozen, lang execution.Language, c execution.Class) sandbox.Template {
	shape := p.shapes.of(g, lang)
	if programs := g.Programs(); slices.Contains(programs, string(execution.Bash)) || slices.Equal(programs, []string{"*"}) {
		lang = execution.Python
	}
	return sandbox.Template{Interpreter: python.Digest, Language: lang, Class: c, Shape: shape}
}

// shapes are those of the gears in use. Working one out takes a large part of what a
// short program does, and every call needs one.
type shapes struct {
	mu    sync.Mutex
	known map[shapeKey]sandbox.Shape
}

type shapeKey struct {
	gear execution.Digest
	lang execution.Language
}

// mostShapes bounds what is remembered: gears come and go while their files are edited.
const mostShapes = 100

func (s *shapes) of(g gear.Frozen, lang execution.Language) sandbox.Shape {
	key := shapeKey{g.Digest(), lang}
	if key.gear.IsZero() {
		return shapeOf(g, lang)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	shape, ok := s.known[key]
	if !ok {
		if shape = shapeOf(g, lang); len(s.known) >= mostShapes || s.known == nil {
			s.known = map[shapeKey]sandbox.Shape{}
		}
		s.known[key] = shape
	}
	return shape
}

func shapeOf(g gear.Frozen, lang execution.Language) sandbox.Shape {
	l, programs := g.Limits(), g.Programs()
	alone := lang == execution.Python // bash is a program that forks
	return sandbox.Shape{
		Programs: strings.Join(programs, ","), Reads: strings.Join(g.Granted(policy.Read), "\n"),
		NoFork: alone && !g.Forks(), NoExec: alone && programs == nil,
		Timeout: l.MaxTimeout, Memory: l.Memory, Processes: l.Processes, OpenFiles: l.OpenFiles, Scratch: l.Scratch, ScratchFiles: l.ScratchFiles,
	}
}
