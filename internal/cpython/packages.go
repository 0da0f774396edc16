package cpython

import (
	"context"
	"fmt"
)

// Package is a distribution that programs can import from.
type Package struct {
	Name        string   `json:"name"`
	Version     string   `json:"version"`
	ImportNames []string `json:"import_names"`
}

// Packages lists what is installed on the path of an installation, sorted by
// name. The standard library is no package: an embedded interpreter has none.
func Packages(ctx context.Context, i Installation) ([]Package, error) {
	if len(i.Path) == 0 {
		return nil, nil
	}
	out, err := call{executable: i.Executable, helper: "packages.py", args: i.Path, noSite: true}.run(ctx)
	if err != nil {
		return nil, fmt.Errorf("list packages: %w", err)
	}
	var list []Package
	if err := decodeLine(out, &list); err != nil {
		return nil, fmt.Errorf("list packages: read the answer: %w", err)
	}
	return list, nil
}
