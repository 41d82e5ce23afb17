package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestLint(t *testing.T) {
	var out strings.Builder
	show := newScreen(&out)
	ctx := context.Background()
	if sum := lint(ctx, show, linter{"good", "true", func(context.Context) string {
		return complaints(ctx, ".", "true")
	}}); sum != (tally{passed: 1}) {
		t.Errorf("what is fine counts as %+v", sum)
	}
	sum := lint(ctx, show, linter{"bad", "sh bad", func(context.Context) string {
		return complaints(ctx, ".", "sh", "-c", "echo a.go:3: it is odd; exit 1")
	}})
	if sum != (tally{failed: 1}) {
		t.Errorf("what is wrong counts as %+v", sum)
	}
	out.Reset()
	show.repeat()
	if want := "bad\n    a.go:3: it is odd\nagain: sh bad\n"; out.String() != want {
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
{"Action":"pass","Package":"p","Elapsed":0.1}`), "go test -short", show)
	if sum != (tally{passed: 1, skipped: 1}) || out.Len() > 0 {
		t.Errorf("%+v, and it says %q", sum, out.String())
	}
}

func TestUnchanged(t *testing.T) {
	dir := t.TempDir()
	stamp, file := filepath.Join(dir, "passed"), filepath.Join(dir, "src", "a", "A.java")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{stamp, file} {
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string, age time.Duration) {
		t.Helper()
		when := time.Now().Add(-age)
		if err := os.Chtimes(name, when, when); err != nil {
			t.Fatal(err)
		}
	}
	src := filepath.Join(dir, "src")
	for _, name := range []string{src, filepath.Dir(file), file} {
		at(name, 2*time.Hour)
	}
	at(stamp, time.Hour)
	if !unchanged(stamp, src) {
		t.Error("what is older than the stamp is changed")
	}
	at(file, time.Minute)
	if unchanged(stamp, src) {
		t.Error("a younger file is unchanged")
	}
	at(file, 2*time.Hour)
	at(filepath.Dir(file), time.Minute)
	if unchanged(stamp, src) {
		t.Error("a folder that lost a file is unchanged")
	}
	if unchanged(stamp, filepath.Join(dir, "gone")) || unchanged(filepath.Join(dir, "gone"), src) {
		t.Error("what is not there is unchanged")
	}
}
