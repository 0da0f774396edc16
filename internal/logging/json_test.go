package logging_test

import (
	"encoding/json"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/logging"
)

func TestJSONIsMaskedByItsValuesAndStaysJSON(t *testing.T) {
	r, err := logging.NewRedactor(logging.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		`{"a":{"password":"x"},"n":9007199254740993}`:                `{"a":{"password":"[redacted]"},"n":9007199254740993}`,
		`{"api_key":{"deep":[1,2]},"z":"<b>"}`:                       `{"api_key":"[redacted]","z":"<b>"}`,
		`[{"header":"Bearer abcdefghijklmnop"},{"line":"token=x}"}]`: `[{"header":"Bearer [redacted]"},{"line":"token=[redacted]"}]`,
	} {
		have, ok := r.JSON(in)
		if !ok || have != want || !json.Valid([]byte(have)) {
			t.Errorf("%s: %s", in, have)
		}
		if again, _ := r.JSON(have); again != have {
			t.Errorf("masked again it is %s", again)
		}
	}
	for _, in := range []string{"", "text", `{"a":`, `{} {}`, `"text"`} {
		if have, ok := r.JSON(in); ok || have != in {
			t.Errorf("%q: %q", in, have)
		}
	}
}
