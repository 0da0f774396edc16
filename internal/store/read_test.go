//go:build unix

package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/store"
	"github.com/gearbox-mcp/gearbox/internal/store/storetest"
)

func TestRecordsInADirectoryWithoutPermissionToWriteAreRead(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("skipped: root may write everywhere")
	}
	dir := t.TempDir()
	s := open(t, store.Options{Dir: dir})
	r := kept(t, s, storetest.Full())
	must(t, s.Close())
	must(t, os.Chmod(dir, 0o500))
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
	if _, err := store.Open(t.Context(), store.Options{Dir: dir, MustExist: true}); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("for writing: %v", err)
	}
	s, err := store.OpenToRead(t.Context(), dir)
	must(t, err)
	if got, err := s.Load(t.Context(), r.Request.Principal, r.ID); err != nil || got.Result.Status != r.Result.Status {
		t.Errorf("%v", err)
	}
	events(t, s)
	must(t, s.Close())
}

func TestRecordsOfAnEarlierSchemaAreNotReadWhereTheyCannotBeBroughtUpToDate(t *testing.T) {
	dir := t.TempDir()
	s := open(t, store.Options{Dir: dir})
	must(t, s.Close())
	must(t, command(filepath.Join(dir, store.File), "PRAGMA user_version = 0"))
	if _, err := store.OpenToRead(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "have schema 0") {
		t.Errorf("%v", err)
	}
}
