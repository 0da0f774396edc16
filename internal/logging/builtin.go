package logging

import (
	"regexp"
	"strings"
)

// builtinKeys are names under which secrets are kept everywhere.
func builtinKeys() []string {
	return []string{
		"*password*", "*passwd*", "*passphrase*", "*secret*", "*token", "*api_key*", "*apikey*", "*access_key*",
		"*private_key*", "*credential*", "*authorization", "*cookie*",
	}
}

// The parts of the built-in patterns.
const (
	// before stands in front of what has to begin a word: a key in the middle of a
	// longer word is none.
	before = `(?:^|[^A-Za-z0-9_])`
	// secretName ends the names of settings that hold a secret.
	secretName = `(?:password|passwd|passphrase|pwd|secret|token|credentials?|(?:api|access|private|secret|auth|encryption|signing)[_-]?key)`
	// tail is what follows the prefix of a key.
	tail = `[A-Za-z0-9_-]{16,}`
)

// builtinShapes are those of common secrets.
func builtinShapes() []shape {
	return []shape{
		// PEM, to the end of the text if the end of the block is missing.
		{
			needles: []string{"private key"},
			pattern: regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\z)`),
		},
		// The password of a URL, or what stands there alone, to the last @: passwords hold them.
		{
			needles: []string{"://"},
			pattern: regexp.MustCompile(`://(?:[^\s/?#:@]*:)?([^\s/?#]+)@`),
		},
		// RFC 6750, in a header or told of.
		{
			needles: []string{"bearer"},
			pattern: regexp.MustCompile(`(?i)\bbearer[\s:="']+`),
			value:   bearerToken,
		},
		// Any other scheme, where the header is named.
		{
			needles: []string{"authorization"},
			pattern: regexp.MustCompile(`(?i)authorization[\\"']*\s*[:=]\s*[\\"']*(?:[A-Za-z0-9-]+[ \t]+)?`),
			value:   authorization,
		},
		{
			needles: []string{
				"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox", "xapp-", "sk-", "sk_live_", "rk_live_", "sk_test_",
				"npm_", "pypi-", "hf_", "gsk_", "xai-", "dop_v1_", "shpat_", "aiza", "ya29.", "gbx_",
			},
			pattern: regexp.MustCompile(before + `((?:gh[pousr]_|github_pat_|glpat-|xox[a-z]-|xapp-|sk-|[sr]k_(?:live|test)_|npm_|pypi-|hf_|gsk_|xai-|dop_v1_|shpat_|AIza|ya29\.|gbx_)` + tail + `)`),
		},
		{
			needles: []string{"akia", "asia"},
			pattern: regexp.MustCompile(before + `((?:AKIA|ASIA)[A-Z0-9]{16})`),
		},
		// A JSON web token, with or without a signature.
		{
			needles: []string{"eyj"},
			pattern: regexp.MustCompile(before + `(eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{2,}(?:\.[A-Za-z0-9_-]*)*)`),
		},
		// name=value, "name": "value", name: value.
		{
			needles: []string{"pass", "pwd", "secret", "token", "credential", "key"},
			pattern: regexp.MustCompile(`(?i)` + secretName + `[\\"']*\s*(?:=>|:=|[:=])\s*`),
			value:   setting,
		},
		// --name value.
		{
			needles: []string{"--"},
			pattern: regexp.MustCompile(`(?i)--[a-z0-9_-]*` + secretName + `\s+`),
			value:   setting,
		},
	}
}

// authorization is the length of what follows a scheme of authorization, or stands in its
// place. The name of a common scheme alone, as in a sentence about the header, is none.
func authorization(s string) int {
	n := upTo(s, " \t\r\n\"',;")
	switch strings.ToLower(strings.TrimRight(s[:n], ".)")) {
	case "basic", "bearer", "digest", "negotiate":
		return 0
	}
	return n
}

// setting is the length of a value as programs write them: in quotes, which may lack
// their end and may be escaped themselves, or up to a blank or what separates one value
// from the next.
func setting(s string) int {
	for _, escaped := range []string{`\"`, `\'`} {
		if strings.HasPrefix(s, escaped) {
			return quoted(s, escaped)
		}
	}
	if s != "" && (s[0] == '"' || s[0] == '\'') {
		return quoted(s, s[:1])
	}
	return upTo(s, " \t\r\n,;&")
}

// quoted is the length of a text that begins with a quote, to the next one that is not
// escaped.
func quoted(s, quote string) int {
	for at := len(quote); ; {
		i := strings.Index(s[at:], quote)
		if i < 0 {
			return len(s)
		}
		end := at + i
		at = end + len(quote)
		if len(quote) > 1 || s[end-1] != '\\' {
			return at
		}
	}
}

// upTo is the length of what stands before the first of some characters.
func upTo(s, ends string) int {
	if i := strings.IndexAny(s, ends); i >= 0 {
		return i
	}
	return len(s)
}

// shortestToken keeps words out of what follows the word bearer.
const shortestToken = 8

// bearerToken is the length of a token of RFC 6750.
func bearerToken(s string) int {
	n := 0
	for n < len(s) && strings.IndexByte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._~+/-", s[n]) >= 0 {
		n++
	}
	if n < shortestToken {
		return 0
	}
	return n + len(s[n:]) - len(strings.TrimLeft(s[n:], "="))
}
