package credential

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // what authenticators compute; HMAC does not need what SHA-1 has lost
	"crypto/subtle"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"net/url"
	"strings"
	"time"
)

const (
	// period and digits are what every authenticator takes.
	period = 30 * time.Second
	digits = 6
	// around is how many steps a clock may be off, either way.
	around      = 1
	secretBytes = 20 // RFC 4226 recommends 160 bits
	leastSecret = 16
)

// NewTOTP makes a credential with a secret of its own. The URI is what an authenticator
// takes; it is given here and never again.
func NewTOTP() (k Key, uri string) {
	secret := make([]byte, secretBytes)
	// Since Go 1.24 rand.Read never returns an error: it ends the process.
	_, _ = rand.Read(secret)
	v := url.Values{"issuer": {"Gearbox"}, "secret": {base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(secret)}}
	u := url.URL{Scheme: "otpauth", Host: "totp", Path: "/Gearbox:approvals", RawQuery: v.Encode()}
	return Key{document{Kind: TOTP, Secret: secret}}, u.String()
}

// Confirm reports whether an authenticator has taken up the secret, by a code of it. The
// code counts then, and not again.
func (k *Key) Confirm(code string, now time.Time) bool {
	step, ok := stepOf(k.d.Secret, code, now, k.d.Used)
	if ok {
		k.d.Used = step
	}
	return ok
}

// stepOf is the step of time whose code this is, if it is one of about now that is later
// than what counted before.
func stepOf(secret []byte, code string, now time.Time, used int64) (found int64, ok bool) {
	code = strings.ReplaceAll(code, " ", "") // as authenticators show it
	at := now.Unix() / int64(period.Seconds())
	for step := at - around; step <= at+around; step++ {
		if subtle.ConstantTimeCompare([]byte(codeAt(secret, step, digits)), []byte(code)) == 1 && step > used {
			found, ok = step, true
		}
	}
	return found, ok
}

// codeAt is the code of a step, RFC 4226 section 5.3.
func codeAt(secret []byte, step int64, digits int) string {
	mac := hmac.New(sha1.New, secret)
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(step)))
	sum := mac.Sum(nil)
	at := sum[len(sum)-1] & 0x0f
	n := binary.BigEndian.Uint32(sum[at:]) & 0x7fffffff
	all := fmt.Sprintf("%010d", n)
	return all[len(all)-digits:]
}
