package read

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
)

// TestWantedNames: names are told apart as the matchers say. What names are compared with takes no
// memory for each of them.
func TestWantedNames(t *testing.T) {
	name := func(kind labels.MatchType, value string) []*labels.Matcher {
		return []*labels.Matcher{labels.MustNewMatcher(kind, labels.MetricName, value),
			labels.MustNewMatcher(labels.MatchEqual, "node", "n")}
	}
	plain := wantedNames([][]*labels.Matcher{name(labels.MatchEqual, "a"),
		name(labels.MatchEqual, "b")})
	pattern := wantedNames([][]*labels.Matcher{name(labels.MatchRegexp, "a|b.*")})
	for metric, want := range map[string][2]bool{"a": {true, true}, "b": {true, true},
		"bc": {false, true},
		"c":  {}, "": {}} {
		for range 2 {
			if got := [2]bool{plain(metric), pattern(metric)}; got != want {
				t.Errorf("%q: %v, want %v", metric, got, want)
			}
		}
	}
	var metrics []string
	for i := range 500 {
		metrics = append(metrics, fmt.Sprint("metric", i))
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	const rounds = 100
	for range rounds {
		of := wantedNames([][]*labels.Matcher{name(labels.MatchEqual, "a")})
		for _, m := range metrics {
			of(m)
		}
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / rounds; each > 4<<10 {
		t.Errorf("%d names took %d bytes", len(metrics), each)
	}
	if wantedNames([][]*labels.Matcher{name(labels.MatchEqual, "a"), nil}) != nil {
		t.Error("a selector without a name does not want all")
	}
}
