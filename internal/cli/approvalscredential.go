package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/gearbox-mcp/gearbox/internal/approval"
	"github.com/gearbox-mcp/gearbox/internal/approval/credential"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
)

const credentialHelp = `Have each decision need a passphrase, or the code of an authenticator.

It is asked for on the terminal, and front ends send it with each decision: it is never an
argument or a variable. It keeps a decision from whoever has a terminal or a token of
yours and not the credential. A program with your own rights can still remove it, with
the file approvals.key of the data directory; against that Gearbox has to run under
another account.`

// approvalsCredentialCommand belongs to gearbox approvals.
func (a *app) approvalsCredentialCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "credential", Short: "Have each decision need a passphrase or a code", Long: credentialHelp, Args: knownCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.credentialSetCommand())
	return c
}

func (a *app) credentialSetCommand() *cobra.Command {
	var o sidecar.Options
	c := &cobra.Command{
		Use: "set passphrase|totp", Short: "Set it, on the terminal", Args: someArguments(1, 1, "passphrase or totp"),
		Long: "Set what each decision needs. What counts now is asked for first. For totp the address\nfor an authenticator is shown, this once, and a code of it asked for.",
		RunE: func(c *cobra.Command, args []string) error {
			kind := credential.Kind(args[0])
			if kind != credential.Passphrase && kind != credential.TOTP {
				return usage("use passphrase or totp", "%q is no credential", args[0])
			}
			return a.setCredential(c.Context(), o, kind)
		},
	}
	addDataDir(c, &o)
	return c
}

// setCredential finds all that is in the way before it asks for anything new: the data
// directory, the terminal, and what counts now.
func (a *app) setCredential(ctx context.Context, o sidecar.Options, kind credential.Kind) (err error) {
	s, err := openSecrets()
	if err != nil {
		return usage("a credential is typed on a terminal, and not given by an argument, a variable or a pipe", "%w", err)
	}
	defer s.close()
	change, err := sidecar.ChangeCredential(ctx, o, asClient("approvals credential set"))
	if err != nil {
		return failed(exitFailed, err)
	}
	defer func() { err = errors.Join(err, failed(exitFailed, change.Close())) }()
	if err := s.change(ctx, change, kind); err != nil {
		return failed(exitFailed, err)
	}
	a.notef("from now on each decision needs the %s, in every process of the data directory; let the configuration say so too: approvals.credential: %s", kind, kind)
	return nil
}

func (s *secrets) change(ctx context.Context, change *sidecar.CredentialChange, kind credential.Kind) error {
	before, err := change.Kind()
	if err != nil {
		return err
	}
	current, err := s.of(ctx, before)
	if err != nil {
		return err
	}
	if err := change.Prove(ctx, current); err != nil {
		return err
	}
	k, err := s.newKey(ctx, kind)
	if err != nil {
		return err
	}
	return change.Set(ctx, k)
}

// handIn gives an answer, with the credential that it needs.
func (a *app) handIn(ctx context.Context, ds sidecar.Decisions, d approval.Decision) (told sidecar.Told, err error) {
	if d.Credential, err = a.credentialFor(ctx, ds); err != nil {
		return sidecar.Told{}, err
	}
	return ds.Decide(ctx, d)
}

// credentialFor asks for what a decision needs, and asks nothing where it needs nothing.
func (a *app) credentialFor(ctx context.Context, d interface {
	Credential() (credential.Kind, error)
},
) (string, error) {
	kind, err := d.Credential()
	if err != nil || kind == credential.None {
		return "", err
	}
	s, err := openSecrets()
	if err != nil {
		return "", fmt.Errorf("a decision needs the %s, which is asked for on a terminal: %w", kind, err)
	}
	defer s.close()
	return s.of(ctx, kind)
}

// secrets is a terminal on which nothing is seen of what is typed.
type secrets struct {
	*terminal

	reader *term.Terminal
}

func openSecrets() (*secrets, error) {
	t, err := openTerminal()
	if err != nil {
		return nil, err
	}
	return &secrets{t, term.NewTerminal(t.file, "")}, nil
}

// errMisread says that the same was to be typed twice and was not.
var errMisread = errors.New("the two are not the same: nothing was set")

// of asks for a credential that is there; empty for none.
func (s *secrets) of(ctx context.Context, kind credential.Kind) (string, error) {
	switch kind {
	case credential.Passphrase:
		return s.hidden(ctx, "Passphrase for decisions: ")
	case credential.TOTP:
		return s.hidden(ctx, "Code of the authenticator: ")
	case credential.None:
	}
	return "", nil
}

// newKey asks for what a new credential is made of.
func (s *secrets) newKey(ctx context.Context, kind credential.Kind) (credential.Key, error) {
	if kind == credential.TOTP {
		return s.newTOTP(ctx)
	}
	text, err := s.hidden(ctx, fmt.Sprintf("New passphrase, of at least %d characters: ", credential.LeastPassphrase))
	if err != nil {
		return credential.Key{}, err
	}
	if err := credential.CheckPassphrase(text); err != nil {
		return credential.Key{}, err // before it is typed again
	}
	again, err := s.hidden(ctx, "Once more: ")
	if err != nil {
		return credential.Key{}, err
	}
	if again != text {
		return credential.Key{}, errMisread
	}
	return credential.NewPassphrase(text)
}

func (s *secrets) newTOTP(ctx context.Context) (credential.Key, error) {
	k, uri := credential.NewTOTP()
	_, _ = fmt.Fprintf(s.file, "Give this to an authenticator; it is not shown again:\n\n  %s\n\n", uri)
	code, err := s.hidden(ctx, "A code of it: ")
	if err != nil {
		return credential.Key{}, err
	}
	if !k.Confirm(code, time.Now()) {
		return credential.Key{}, errors.New("this is not a code of it: nothing was set; look whether the clock of this machine is right")
	}
	return k, nil
}

// hidden reads a line of which nothing is seen. Ctrl-C and an input that ends are
// [io.EOF].
func (s *secrets) hidden(ctx context.Context, prompt string) (line string, err error) {
	var before *term.State
	s.control(func(fd int) { before, err = term.MakeRaw(fd) })
	if err != nil {
		return "", fmt.Errorf("hide what is typed: %w", err)
	}
	defer s.control(func(fd int) { _ = term.Restore(fd, before) }) // it fails on a closed file only
	interrupted := context.AfterFunc(ctx, func() { _ = s.file.SetReadDeadline(time.Unix(1, 0)) })
	defer interrupted()
	line, err = s.reader.ReadPassword(prompt)
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case errors.Is(err, io.EOF):
		_, _ = io.WriteString(s.file, "\r\n") // nobody ended the line
		return "", errors.New("nothing was typed")
	}
	return line, err
}
