package engine

import (
	"context"
	"fmt"

	"github.com/gearbox-mcp/gearbox/internal/capture"
	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// answer puts what was kept of the streams into a result. The result's own
// Stderr is the host's word (why the program did not end by itself) and comes
// last, on a line of its own.
func answer(r execution.Result, stdout, stderr execution.Output) execution.Result {
	reason := r.Stderr
	r.Stdout = text(&r, "stdout", stdout)
	r.Stderr = text(&r, "stderr", stderr)
	if reason != "" {
		if r.Stderr != "" && r.Stderr[len(r.Stderr)-1] != '\n' {
			r.Stderr += "\n"
		}
		r.Stderr += reason
	}
	return r
}

func text(r *execution.Result, name string, o execution.Output) string {
	head, lossy := capture.Text(o.Head)
	if len(o.Tail) > 0 {
		var l1, l2 bool
		head, l1 = capture.Text(capture.TrimTail(o.Head))
		tail, l2 := capture.Text(capture.TrimHead(o.Tail))
		lossy = l1 || l2
		head = fmt.Sprintf("%s\n[… %d bytes of %s left out …]\n%s", head, o.Total-o.Kept(), name, tail)
		truncated := map[string]execution.Truncated{name: {TotalBytes: o.Total, KeptBytes: o.Kept()}}
		for k, v := range r.Truncated {
			truncated[k] = v
		}
		r.Truncated = truncated
	}
	r.Lossy = r.Lossy || lossy
	return head
}

// Output reads what was kept of a stream, from an offset in bytes. Bytes that
// were left out in the middle are skipped: the chunk's Offset says where its
// data begins. An unknown id or stream is a *[execution.RejectedError].
func (e *Engine) Output(ctx context.Context, p execution.Principal, id execution.ID, stream string, offset int64, most int) (execution.Chunk, error) {
	out, final, err := e.streams(ctx, p, id)
	if err != nil {
		return execution.Chunk{}, err
	}
	o, ok := out[stream]
	if !ok {
		return execution.Chunk{}, &execution.RejectedError{
			Code: execution.CodeInvalidArgument, Field: "stream", Message: fmt.Sprintf("%q: must be stdout or stderr", stream),
		}
	}
	if offset < 0 {
		return execution.Chunk{}, &execution.RejectedError{
			Code: execution.CodeInvalidArgument, Field: "output_offset", Message: fmt.Sprintf("%d: must be 0 or more", offset),
		}
	}
	return slice(stream, o, offset, most, final), nil
}

func (e *Engine) streams(ctx context.Context, p execution.Principal, id execution.ID) (map[string]execution.Output, bool, error) {
	if op := e.find(p, id); op != nil {
		final := op.ended() // before the output is read, which may still grow otherwise
		out, errOut := op.output()
		return map[string]execution.Output{"stdout": out, "stderr": errOut}, final, nil
	}
	rec, err := e.load(ctx, p, id)
	if err != nil {
		return nil, false, notFound(id, err)
	}
	return map[string]execution.Output{"stdout": rec.Stdout, "stderr": rec.Stderr}, rec.State == execution.StateFinished, nil
}

func slice(name string, o execution.Output, offset int64, most int, final bool) execution.Chunk {
	tailAt := int64(o.Total) - int64(len(o.Tail))
	part := o.Tail
	switch head := int64(len(o.Head)); {
	case offset < head:
		part = o.Head[offset:]
	case offset < tailAt:
		offset = tailAt
	case offset <= int64(o.Total):
		part = o.Tail[offset-tailAt:]
	default:
		offset, part = int64(o.Total), nil
	}
	if len(part) > most {
		// A cut must not split a character, or reading on would lose it.
		if trimmed := capture.TrimTail(part[:most]); len(trimmed) > 0 {
			part = trimmed
		} else {
			part = part[:most]
		}
	}
	data, _ := capture.Text(part)
	next := offset + int64(len(part))
	return execution.Chunk{
		Stream: name, Offset: offset, Data: data, NextOffset: next, EOF: final && next >= int64(o.Total),
	}
}
