//go:build !linux

package subprocess

// finish waits for the end of the program and kills what is left of its group. The
// number of an empty group could be given away in between; there is no way here to see
// that a program has ended without giving its number away.
func (g *Group) finish() error {
	err := g.cmd.Wait()
	g.tree.kill()
	return err
}
