//go:build linux && (amd64 || arm64)

package linux

import (
	"io"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/sandbox"
	"github.com/gearbox-mcp/gearbox/internal/sandbox/sandboxtest"
)

// BenchmarkStartChild is what a child costs that no pool has ready.
func BenchmarkStartChild(b *testing.B) {
	s := open(b, sandbox.Shape{})
	for b.Loop() {
		c, err := s.Start(b.Context(), false)
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		c.Kill(sandbox.CauseAbandoned)
		if _, err := c.Wait(b.Context()); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

// BenchmarkParkedChildPrints is from the analysis of a program to its framed
// result, in a warm child.
func BenchmarkParkedChildPrints(b *testing.B) {
	s := open(b, sandbox.Shape{})
	for b.Loop() {
		b.StopTimer()
		c, err := s.Start(b.Context(), true)
		if err != nil {
			b.Fatal(err)
		}
		go func() { _, _ = io.Copy(io.Discard, c.Stdout()) }()
		go func() { _, _ = io.Copy(io.Discard, c.Stderr()) }()
		b.StartTimer()
		if _, err := sandboxtest.Analyse(c.Bridge(), "print(1)"); err != nil {
			b.Fatal(err)
		}
		if err := c.Arm(b.Context(), sandbox.Arm{NoFork: true, NoExec: true}); err != nil {
			b.Fatal(err)
		}
		if _, err := sandboxtest.Execute(c.Bridge(), nil); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		c.Kill(sandbox.CauseFinished)
		if _, err := c.Wait(b.Context()); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}
