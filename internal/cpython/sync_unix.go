//go:build unix

package cpython

import (
	"errors"
	"fmt"
	"os"
)

// syncPath brings a file or the names in a directory to disk.
func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("sync: %w", err)
	}
	return errors.Join(f.Sync(), f.Close())
}
