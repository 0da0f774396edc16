package upstream

import "testing"

// BenchmarkCall is one call of a server over stdio that answers at once: what a session
// adds, with the two ends of its pipe.
func BenchmarkCall(b *testing.B) {
	f, err := New([]Spec{spec(b, "bench", "plain")}, Options{})
	if err != nil {
		b.Fatal(err)
	}
	f.Start(b.Context())
	defer func() {
		if err := f.Close(); err != nil {
			b.Error(err)
		}
	}()
	f.Known(b.Context(), true)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := f.Call(b.Context(), "bench", "one", nil); err != nil {
			b.Fatal(err)
		}
	}
}
