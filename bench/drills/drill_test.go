package main

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// TestDrillsAreRight: what comes with the program can be read.
func TestDrillsAreRight(t *testing.T) {
	list, err := readDrills(incidents)
	if err != nil || len(list) < 8 {
		t.Fatalf("%d drills, %v", len(list), err)
	}
}

// TestFaultyDrills: a mistake in a file is an error that names it.
func TestFaultyDrills(t *testing.T) {
	const head = "about: a\nwatch: 1m\n"
	for text, want := range map[string]string{
		"watch: 1m\nsteps: [kill 1]":                            "about, steps and watch",
		head + "steps: [explode 1]":                             `no step "explode"`,
		head + "steps: [kill 5]":                                "a node's number",
		head + "steps: [kill]":                                  "a node's number",
		head + "steps: [kill 1 twice]":                          "too much",
		head + "steps: [wait long]":                             "invalid duration",
		head + "steps: [ringwatch sleep]":                       "ringwatch kill",
		head + "steps: [kill 1]\nmust: [{severity: a}]":         "has no name",
		head + "steps: [kill 1]\nmust: [{alert: A, says: '('}]": "missing closing",
		head + "steps: [kill 1]\nmaybe: []":                     "maybe",
	} {
		_, err := readDrills(fstest.MapFS{"incidents/a.yaml": {Data: []byte(text)}})
		if err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "incidents/a.yaml") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestScore: what must be told counts once and in time, what may be told is right, the rest is
// false, and a text that lacks a word is wrong.
func TestScore(t *testing.T) {
	s := &scene{ids: map[int]string{1: "a", 2: "b"}}
	d := &drill{Name: "d", Must: []expected{
		{Alert: "Down", Severity: "warning", Node: 2, Within: time.Minute, Says: "peers"},
		{Alert: "Slow", Within: 10 * time.Second},
		{Alert: "Never"},
	}, May: []expected{{Alert: "Hints"}}}
	f := &outcome{Drill: d.Name, Must: 3, Told: []*told{
		{Alert: "Down", Severity: "warning", node: "a", Seconds: 20},
		{Alert: "Down", Severity: "warning", node: "b", Seconds: 30, text: "nothing"},
		{Alert: "Hints", Severity: "warning", Seconds: 40},
		{Alert: "Slow", Seconds: 50},
	}}
	f.compare(s, d)
	if got := f.falseOnes(); !slices.Equal(got, []string{"Down (warning) after 20 s"}) {
		t.Errorf("false are %q", got)
	}
	if len(f.Recalled) != 1 || f.Recalled[0].Seconds != 30 {
		t.Errorf("told are %v", f.Recalled)
	}
	if !slices.Equal(f.Missed, []string{"Slow: told after 50 s", "Never"}) {
		t.Errorf("missed are %q", f.Missed)
	}
	if len(f.Wrong) != 1 || !strings.Contains(f.Wrong[0], "peers") {
		t.Errorf("wrong are %q", f.Wrong)
	}
	var all totals
	all.add(f)
	if all.told != 1 || all.missed != 2 || all.wrong != 1 || all.otherwise != 1 {
		t.Errorf("%+v", all)
	}
}
