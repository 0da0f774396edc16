package config

import (
	"errors"
	"strings"
	"testing"
)

func TestErrorsDoNotRepeatWhatMayBeASecret(t *testing.T) {
	k := Secretive("the name of a variable", func(string) error { return errors.New("is none") })
	for _, text := range []string{"secret", "secret\nx", "secret\xff", strings.Repeat("secret", longestText)} {
		if got, err := k.accept(text); err == nil || got == text || strings.Contains(err.Error(), "secret") {
			t.Errorf("%.20q: %q, %v", text, got, err)
		}
	}
	if _, err := k.accept(""); err == nil || !strings.Contains(err.Error(), "is empty") {
		t.Errorf("got %v", err)
	}
}
