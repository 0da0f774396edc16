package cpython

import "testing"

func BenchmarkLaterStart(b *testing.B) {
	config := Config{Dir: b.TempDir()}
	if _, err := Ensure(b.Context(), config); err != nil {
		b.Fatal(err)
	}
	if _, err := Compile(b.Context(), config); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		inst, err := Ensure(b.Context(), config)
		if err != nil {
			b.Fatal(err)
		}
		inst.Release()
	}
}

func BenchmarkFirstStart(b *testing.B) {
	for b.Loop() {
		if _, err := Ensure(b.Context(), Config{Dir: b.TempDir()}); err != nil {
			b.Fatal(err)
		}
	}
}
