package upstream

import (
	"fmt"
	"path/filepath"
	"strings"
)

// checkBatch refuses arguments that a batch file would be given other than they are
// written: cmd.exe takes its command line apart by rules of its own, by which an argument
// could become a command (CVE-2024-27980).
func checkBatch(program string, arguments []string) error {
	switch strings.ToLower(filepath.Ext(program)) {
	case ".cmd", ".bat":
	default:
		return nil
	}
	for i, a := range arguments {
		if strings.ContainsAny(a, "\"%!^&|<>()\r\n") {
			return fmt.Errorf("argument %d of %s holds one of \" %% ! ^ & | < > ( ) or a line break, which cannot be passed to a batch file safely; name the program that the file starts instead, for example node with its script", i+1, program)
		}
	}
	return nil
}
