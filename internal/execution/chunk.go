package execution

// Chunk is a piece of one stream of an operation. Offsets count bytes of the
// stream as the program wrote it; bytes that were not kept are skipped, so
// Offset may lie beyond the offset that was asked for.
type Chunk struct {
	Stream     string `json:"stream"`
	Offset     int64  `json:"offset"`
	Data       string `json:"data"`
	NextOffset int64  `json:"next_offset"`
	// EOF says that nothing follows: the operation has ended and this was its
	// last output.
	EOF bool `json:"eof"`
}
