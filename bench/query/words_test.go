package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestAnew: every selector has new words, and two numbers never give the same ones.
func TestAnew(t *testing.T) {
	for expr, want := range map[string]string{
		`up`:                              `up{node!="none-7"}`,
		`sum by (a) (rate(x{b="c"}[5m]))`: `sum by (a) (rate(x{b="c",node!="none-7"}[5m]))`,
		`x * on (node) group_left (address) y{node=~".*"}`: `x{node!="none-7"} * on (node) group_left (address) y{node!="none-7",node=~".*"}`,
		`time()`: `time()`,
	} {
		if got, err := anew(expr, 7); err != nil || got != want {
			t.Errorf("%s is %s, %v, want %s", expr, got, err, want)
		}
	}
	b := &bed{}
	seen := map[int]bool{}
	for range 1000 {
		n := b.fresh()
		if seen[n] || n <= 0 {
			t.Fatalf("%d came twice, or is no number of new words", n)
		}
		seen[n] = true
	}
}

// TestWithin: a range, its moves and a window before it fit into the data.
func TestWithin(t *testing.T) {
	for _, whole := range []time.Duration{time.Hour, 6 * time.Hour, 24 * time.Hour,
		7 * 24 * time.Hour} {
		for _, q := range within(shortQuestions, whole, 5) {
			if q.span > 0 && q.span+5*q.step > whole-10*time.Minute {
				t.Errorf("%s: %s of %s", q.title, q.span, whole)
			}
			if q.span%max(q.step, 1) != 0 || strings.Contains(q.title, "$") {
				t.Errorf("%s: %s with a step of %s", q.title, q.span, q.step)
			}
		}
	}
	for _, title := range []string{ofOneNode, dayByMinute} {
		found := 0
		for _, q := range within(shortQuestions, 24*time.Hour, 5) {
			if titled(title)(&answer{Question: q.title}) {
				found++
			}
		}
		if found != 1 {
			t.Errorf("RESULT has a figure of %q, which %d questions are", title, found)
		}
	}
}

// TestKept: a folder is used again for what it has, and for nothing else.
func TestKept(t *testing.T) {
	o := &options{nodes: 30, hours: 6, tables: 10, interval: 20 * time.Second, trendDays: 7,
		trendNodes: 2, seed: 1, sides: []string{"ringwatch", "victoriametrics"}}
	dir := t.TempDir()
	if k, err := readKept(dir, o); k != nil || err != nil {
		t.Fatalf("an empty folder has %v, %v", k, err)
	}
	k := &kept{Sides: o.sides, Sets: o.wanted()}
	for _, s := range k.Sets {
		s.place(time.Unix(1_800_000_000, 0))
	}
	if err := k.write(dir); err != nil {
		t.Fatal(err)
	}
	again, err := readKept(dir, o)
	if err != nil || len(again.Sets) != 2 || again.Sets[0].span() != 6*time.Hour ||
		again.Sets[0].End != k.Sets[0].End {
		t.Fatalf("it has %v, %v", again, err)
	}
	fewer := *o
	fewer.trendDays = 0
	if k, err := readKept(dir, &fewer); err != nil || len(k.Sets) != 1 {
		t.Errorf("without trends it has %v, %v", k, err)
	}
	for name, change := range map[string]func(*options){
		"nodes": func(o *options) { o.nodes = 31 }, "hours": func(o *options) { o.hours = 24 },
		"few":   func(o *options) { o.few = true },
		"sides": func(o *options) { o.sides = append(o.sides, "prometheus") },
		"seed":  func(o *options) { o.seed++ },
	} {
		other := *o
		change(&other)
		if _, err := readKept(dir, &other); err == nil {
			t.Errorf("it has data of other %s", name)
		}
	}
	if err := os.Remove(filepath.Join(dir, keptFile)); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "cassandra"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := readKept(dir, o); err == nil {
		t.Error("half-written data counts as whole")
	}
}

// TestRatios: the faster peer counts, if its answer does.
func TestRatios(t *testing.T) {
	of := func(side, verdict string, ms float64) *answer {
		a := &answer{Group: short, Question: "q", Side: side, Verdict: verdict}
		a.took(warm, once{whole: ms})
		return a
	}
	f := &report{Answers: []*answer{of("ringwatch", "", 12), of("prometheus", "same", 4),
		of("victoriametrics", "differs", 1)}}
	if list := f.ratios(warm, short); len(list) != 1 || list[0].of != 3 {
		t.Errorf("%v", list)
	}
	if list := f.ratios(cold, short); len(list) != 0 {
		t.Errorf("%v has no cold times", list)
	}
}
