package main

import (
	"context"
	"strings"
	"testing"
)

func TestLint(t *testing.T) {
	var out strings.Builder
	show := newScreen(&out)
	ctx := context.Background()
	if sum := lint(ctx, show, linter{"good", func(context.Context) string { return complaints(ctx, ".", "true") }}); sum != (tally{passed: 1}) {
		t.Errorf("what is fine counts as %+v", sum)
	}
	sum := lint(ctx, show, linter{"bad", func(context.Context) string {
		return complaints(ctx, ".", "sh", "-c", "echo a.go:3: it is odd; exit 1")
	}})
	if sum != (tally{failed: 1}) {
		t.Errorf("what is wrong counts as %+v", sum)
	}
	out.Reset()
	show.repeat()
	if want := "bad\n    a.go:3: it is odd\n"; out.String() != want {
		t.Errorf("the sum says %q, want %q", out.String(), want)
	}
}

// TestBrief: of packages that pass in no time, and of tests left out, make check says nothing.
func TestBrief(t *testing.T) {
	var out strings.Builder
	show := newScreen(&out)
	show.brief = true
	sum := readGo(strings.NewReader(`{"Action":"run","Package":"p","Test":"A"}
{"Action":"output","Package":"p","Test":"A","Output":"left out\n"}
{"Action":"skip","Package":"p","Test":"A"}
{"Action":"run","Package":"p","Test":"B"}
{"Action":"pass","Package":"p","Test":"B"}
{"Action":"pass","Package":"p","Elapsed":0.1}`), show)
	if sum != (tally{passed: 1, skipped: 1}) || out.Len() > 0 {
		t.Errorf("%+v, and it says %q", sum, out.String())
	}
}
