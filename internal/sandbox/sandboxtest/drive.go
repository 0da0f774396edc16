package sandboxtest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/gearbox-mcp/gearbox/internal/bridge"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
)

// Program is one run as a caller would ask for it.
type Program struct {
	// Language is Python unless it is set.
	Language  execution.Language
	Code      string
	Stdin     string
	Variables map[string]any
	Arm       sandbox.Arm
	// Stdout receives the output instead of [Outcome].Stdout, if set.
	Stdout io.Writer
}

// Outcome is everything that came back.
type Outcome struct {
	Facts bridge.FactsHead
	// Result is the program's claim, or nil; then ResultErr says why there is none.
	Result         *bridge.ResultHead
	ResultErr      error
	Stdout, Stderr string
	Ended          sandbox.Ended
}

// Drive runs a program in a parked child from analysis to the end of its tree.
// A done ctx kills the child. Source that does not parse ends at its facts.
func Drive(ctx context.Context, child sandbox.Child, p Program) (Outcome, error) {
	defer child.Kill(sandbox.CauseAbandoned)
	stop := context.AfterFunc(ctx, func() { child.Kill(sandbox.CauseTimeout) })
	defer stop()

	var out Outcome
	var err error
	if out.Facts, err = analyse(child.Bridge(), cmp.Or(p.Language, execution.Python), p.Code); err != nil || out.Facts.Failure != nil {
		return out, err
	}
	if err := child.Arm(ctx, p.Arm); err != nil {
		return out, err
	}
	streams := drain(child, p, &out)
	out.Result, out.ResultErr = Execute(child.Bridge(), p.Variables)
	out.Ended, err = end(context.WithoutCancel(ctx), child, out.ResultErr)
	streams()
	child.Kill(sandbox.CauseAbandoned)
	_, waitErr := child.Wait(context.WithoutCancel(ctx))
	return out, errors.Join(err, waitErr)
}

func end(ctx context.Context, child sandbox.Child, resultErr error) (sandbox.Ended, error) {
	switch {
	case resultErr == nil:
		return child.Stop(ctx)
	case errors.Is(resultErr, bridge.ErrProtocol):
		child.Kill(sandbox.CauseProtocol)
	}
	return child.Wait(ctx)
}

// Analyse sends Python source and reads its facts.
func Analyse(conn bridge.Conn, code string) (bridge.FactsHead, error) {
	return analyse(conn, execution.Python, code)
}

func analyse(conn bridge.Conn, l execution.Language, code string) (bridge.FactsHead, error) {
	var facts bridge.FactsHead
	head := bridge.AnalyseHead{Language: string(l)}
	return facts, exchange(conn, bridge.Analyse, head, []byte(code), bridge.Facts, &facts)
}

// Execute starts the analysed source and reads the first frame after it, which must
// be the result.
func Execute(conn bridge.Conn, variables map[string]any) (*bridge.ResultHead, error) {
	var head bridge.RunHead
	for name, v := range variables {
		raw, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		if head.Variables == nil {
			head.Variables = map[string]json.RawMessage{}
		}
		head.Variables[name] = raw
	}
	var result bridge.ResultHead
	if err := exchange(conn, bridge.Run, head, nil, bridge.Result, &result); err != nil {
		return nil, err
	}
	return &result, nil
}

func exchange(conn bridge.Conn, kind bridge.Kind, head any, body []byte, want bridge.Kind, into any) error {
	const id = 7
	f, err := bridge.NewFrame(kind, id, head, body)
	if err != nil {
		return err
	}
	if err := conn.WriteFrame(f); err != nil {
		return err
	}
	reply, err := conn.ReadFrame()
	if err != nil {
		return err
	}
	if reply.Kind != want {
		return fmt.Errorf("%w: a frame of kind %d instead of %d", bridge.ErrProtocol, reply.Kind, want)
	}
	if err := json.Unmarshal(reply.Head, into); err != nil {
		return fmt.Errorf("%w: %w", bridge.ErrProtocol, err)
	}
	return nil
}

// drain feeds stdin and takes both streams in; the returned function waits for
// their end.
func drain(child sandbox.Child, p Program, out *Outcome) (wait func()) {
	var wg sync.WaitGroup
	var stdout, stderr bytes.Buffer
	var to io.Writer = &stdout
	if p.Stdout != nil {
		to = p.Stdout
	}
	// Errors do not matter: what is missing from the output fails the test.
	wg.Go(func() { _, _ = io.Copy(to, child.Stdout()) })
	wg.Go(func() { _, _ = io.Copy(&stderr, child.Stderr()) })
	wg.Go(func() {
		_, _ = io.WriteString(child.Stdin(), p.Stdin)
		_ = child.Stdin().Close()
	})
	return func() {
		wg.Wait()
		out.Stdout, out.Stderr = stdout.String(), stderr.String()
	}
}
