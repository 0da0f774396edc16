package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// terminal is where a person is asked. It is that of the process itself, whatever its
// streams are connected to: what a program reads or prints is not mixed up with it, and
// what is shown is shown where the answer is given.
type terminal struct{ file *os.File }

// errNoTerminal says that there is nobody to ask.
var errNoTerminal = errors.New("there is no terminal to ask on")

// openTerminal is the terminal that controls this process.
func openTerminal() (*terminal, error) {
	f, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil, errNoTerminal
	}
	return &terminal{f}, nil
}

func (t *terminal) close() { _ = t.file.Close() } // nothing that is written could be lost

// columns is how many characters a line has; 0 when that is not known.
func (t *terminal) columns() int {
	width := 0
	t.control(func(fd int) {
		if w, _, err := term.GetSize(fd); err == nil {
			width = w
		}
	})
	return width
}

// control lends the descriptor. [os.File.Fd] would make reads uninterruptible.
func (t *terminal) control(use func(fd int)) {
	if raw, err := t.file.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { use(int(fd)) }) // it fails on a closed file only
	}
}

// longestLine is what a terminal hands out at once at most (termios(3)).
const longestLine = 4096

// ask prints a question and reads a line. What was typed before the question was there is
// no answer to it and is thrown away. An input that ends is [io.EOF].
func (t *terminal) ask(ctx context.Context, prompt string) (string, error) {
	t.control(discardInput)
	if _, err := io.WriteString(t.file, prompt); err != nil {
		return "", err
	}
	type outcome struct {
		line string
		err  error
	}
	done := make(chan outcome, 1)
	go func() {
		line, err := t.line()
		done <- outcome{line, err}
	}()
	select {
	case o := <-done:
		if o.err != nil { // nobody ended the line, as after Ctrl-D
			_, _ = io.WriteString(t.file, "\n")
		}
		return o.line, o.err
	case <-ctx.Done():
	}
	// Where a terminal cannot be interrupted the read is left behind, and the process is
	// about to end.
	if err := t.file.SetReadDeadline(time.Unix(1, 0)); err == nil {
		<-done
		_ = t.file.SetReadDeadline(time.Time{})
	}
	_, _ = io.WriteString(t.file, "\n")
	return "", context.Cause(ctx)
}

// line reads up to the end of a line, byte by byte so that nothing more is taken.
func (t *terminal) line() (string, error) {
	var line []byte
	for one := make([]byte, 1); len(line) < longestLine; {
		if _, err := t.file.Read(one); err != nil {
			return "", err
		}
		if one[0] == '\n' {
			break
		}
		line = append(line, one[0])
	}
	return strings.TrimSpace(string(line)), nil
}

// columnsOf is the width of a stream that is a terminal; 0 of any other.
func columnsOf(stream any) int {
	if c, ok := stream.(*checked); ok {
		stream = c.Writer
	}
	if f, ok := stream.(*os.File); ok && isTerminal(f) {
		return (&terminal{f}).columns()
	}
	return 0
}
