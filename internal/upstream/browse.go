package upstream

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// browseTime bounds the program that opens a browser: most return at once, and some only
// when the browser is closed.
const browseTime = 10 * time.Second

// Browse has the operator's browser open an address of http or https. That it could be
// asked to does not say that anybody sees it.
func Browse(ctx context.Context, address string) error {
	if !strings.HasPrefix(address, "https://") && !strings.HasPrefix(address, "http://") {
		return fmt.Errorf("%.20q begins no address of a page", address)
	}
	command := []string{"xdg-open"}
	switch runtime.GOOS {
	case "darwin":
		command = []string{"open"}
	case "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler"}
	}
	path, err := exec.LookPath(command[0])
	if err != nil {
		return fmt.Errorf("no browser is found: %w", err)
	}
	ctx, stop := context.WithTimeout(ctx, browseTime)
	defer stop()
	c := exec.CommandContext(ctx, path, append(command[1:], address)...)
	if err := c.Run(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("open a browser with %s: %w", command[0], err)
	}
	return nil
}
