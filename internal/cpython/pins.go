package cpython

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"runtime"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// pinsJSON is derived from the data of the embedded module, platform by platform:
// go test ./internal/cpython -run Pins -update
//
//go:embed pins.json
var pinsJSON []byte

// pin is what the embedded data of one platform unpacks to.
type pin struct {
	Version string `json:"version"`
	// Content is the digest over the trimmed tree.
	Content string `json:"content"`
	// Unpacked is the room that unpacking needs.
	Unpacked execution.Bytes `json:"unpacked"`
	// Unwanted are the large files that trimming removes, with their sizes.
	Unwanted map[string]int64 `json:"unwanted"`
}

func platform() string { return runtime.GOOS + "/" + runtime.GOARCH }

func readPins() (map[string]pin, error) {
	pins := map[string]pin{}
	if err := json.Unmarshal(pinsJSON, &pins); err != nil {
		return nil, fmt.Errorf("read pins.json: %w", err)
	}
	return pins, nil
}

func currentPin() (pin, error) {
	pins, err := readPins()
	if err != nil {
		return pin{}, err
	}
	p, ok := pins[platform()]
	if !ok {
		return pin{}, fmt.Errorf("%s: %w", platform(), ErrUnsupported)
	}
	return p, nil
}
