package main

import (
	"math"
	"strings"
	"testing"
	"time"
)

// TestCompare: a wrong answer is never the same, and zeros that the other lacks say nothing.
func TestCompare(t *testing.T) {
	ours := values{"a=1": {1: 10, 2: 20}, "a=2": {1: 0, 2: math.NaN()}}
	for _, c := range []struct {
		name        string
		theirs      values
		same, close bool
	}{
		{"itself", values{"a=1": {1: 10, 2: 20 * (1 + 1e-9)}, "a=2": {1: 0, 2: math.NaN()}},
			true, true},
		{"nothing of zeros", values{"a=1": {1: 10, 2: 20}}, true, true},
		{"a little apart", values{"a=1": {1: 10.5, 2: 21}}, false, true},
		{"far apart", values{"a=1": {1: 100, 2: 200}}, false, false},
		{"a point is missing", values{"a=1": {1: 10}}, false, false},
		{"another series", values{"a=1": {1: 10, 2: 20}, "a=3": {1: 1}}, false, false},
		{"empty", values{}, false, false},
	} {
		d := compare(ours, c.theirs)
		if d.same() != c.same || d.close(0.1) != c.close {
			t.Errorf("%s: same %v, close %v: %s", c.name, d.same(), d.close(0.1), &d)
		}
	}
}

// TestRequests: all questions are of the form that the sides read, and no variable is left.
func TestRequests(t *testing.T) {
	v := &variables{clusters: []string{"c"}, nodes: []string{"n"}, keyspace: "k", table: "t"}
	at := time.Unix(1_800_000_007, 0)
	for _, list := range [][]question{shortQuestions, trendQuestions, fleetQuestions} {
		for i := range list {
			q := list[i]
			for _, peer := range []bool{false, true} {
				path, form, err := q.request(v, asking{number: 3, at: at, peer: peer, anew: 7})
				if err != nil {
					t.Error(err)
				}
				if got := form.Get("query"); path == "/api/v1/query" &&
					!strings.Contains(got, "none-7") {
					t.Errorf("%s: it was asked before: %s", q.title, got)
				}
				for name, values := range form {
					if values[0] == "" || strings.Contains(values[0], "$") {
						t.Errorf("%s: %s is %q", q.title, name, values[0])
					}
				}
				if q.span > 0 &&
					(path != "/api/v1/query_range" ||
						form.Get("end") != seconds(at.Truncate(q.step))) {
					t.Errorf("%s: %s?%s", q.title, path, form.Encode())
				}
			}
		}
	}
}
