package analysis

import (
	"strconv"

	"github.com/gearbox-mcp/gearbox/internal/bridge"
	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// Digest names an analysis: the version of the analyser, the source and all
// facts, places included. An approved program may start in a fresh child when
// the digest of that child's own analysis is the approved one.
func Digest(version, source string, head bridge.FactsHead) execution.Digest {
	parts := [][]byte{[]byte("gearbox analysis 1"), []byte(version), []byte(source)}
	for _, f := range head.Facts {
		parts = append(parts,
			[]byte(f.Kind), []byte(f.Target), []byte(f.Via),
			strconv.AppendInt(nil, int64(f.Line), 10), strconv.AppendInt(nil, int64(f.Column), 10))
	}
	if e := head.Failure; e != nil {
		parts = append(parts, []byte("failure"), []byte(e.Class), []byte(e.Message))
	}
	return execution.DigestOf(parts...)
}
