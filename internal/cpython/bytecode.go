package cpython

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// ByteCode is what an interpreter makes of the sources of a package, by the names under
// which it looks for it in the folder __pycache__.
type ByteCode map[string][]byte

// byteCodeDir holds the byte code of packages below the data directory, a file each.
const byteCodeDir = "bytecode"

// LoadByteCode finds what [MakeByteCode] has kept in the data directory for exactly these
// sources and this interpreter. What is missing or damaged is not found.
func LoadByteCode(dir string, i Installation, sources fs.FS) (ByteCode, bool) {
	name, err := byteCodeName(i, sources)
	if err != nil {
		return nil, false
	}
	text, err := os.ReadFile(filepath.Join(dir, byteCodeDir, name))
	if err != nil {
		return nil, false
	}
	sum, body, _ := bytes.Cut(text, []byte("\n"))
	var code ByteCode
	if string(sum) != execution.DigestOf(body).String() || json.Unmarshal(body, &code) != nil {
		return nil, false
	}
	return code, true
}

// MakeByteCode has the interpreter compile the sources, Python files in one folder, which
// takes it some tenths of a second, and keeps the result in the data directory.
func MakeByteCode(ctx context.Context, dir string, i Installation, sources fs.FS) (ByteCode, error) {
	name, err := byteCodeName(i, sources)
	if err != nil {
		return nil, err
	}
	scratch, err := os.MkdirTemp("", "gearbox-")
	if err != nil {
		return nil, fmt.Errorf("byte-compile a package: %w", err)
	}
	defer os.RemoveAll(scratch)
	if err := eachSource(sources, func(name string, text []byte) error {
		return os.WriteFile(filepath.Join(scratch, path.Base(name)), text, 0o600)
	}); err != nil {
		return nil, fmt.Errorf("byte-compile a package: %w", err)
	}
	out, err := call{executable: i.Executable, helper: "bytecode.py", args: []string{scratch}, noSite: true}.run(ctx)
	if err != nil {
		return nil, fmt.Errorf("byte-compile a package: %w", err)
	}
	var code ByteCode
	if err := decodeLine(out, &code); err != nil {
		return nil, fmt.Errorf("byte-compile a package: read the answer: %w", err)
	}
	return code, keepByteCode(filepath.Join(dir, byteCodeDir), name, code)
}

// keepByteCode writes a file that is there as a whole or not at all.
func keepByteCode(dir, name string, code ByteCode) error {
	body, err := json.Marshal(code)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("keep byte code: %w", err)
	}
	f, err := os.CreateTemp(dir, ".new-")
	if err != nil {
		return fmt.Errorf("keep byte code: %w", err)
	}
	defer os.Remove(f.Name())
	_, err = fmt.Fprintf(f, "%s\n%s", execution.DigestOf(body), body)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, name))
	}
	if err != nil {
		return fmt.Errorf("keep byte code: %w", err)
	}
	return nil
}

// byteCodeName is a name for these sources and this interpreter and no others.
func byteCodeName(i Installation, sources fs.FS) (string, error) {
	parts := [][]byte{[]byte(i.Version), i.Content[:]}
	err := eachSource(sources, func(name string, text []byte) error {
		parts = append(parts, []byte(name), text)
		return nil
	})
	digest := execution.DigestOf(parts...)
	return fmt.Sprintf("%x.json", digest[:]), err
}

func eachSource(sources fs.FS, do func(name string, text []byte) error) error {
	return fs.WalkDir(sources, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(sources, name)
		if err != nil {
			return err
		}
		return do(name, text)
	})
}
