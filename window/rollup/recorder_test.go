package rollup_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/building"
	"github.com/ringwatch/ringwatch/window/rollup"
	"github.com/ringwatch/ringwatch/window/rollup/rolluptest"
	"github.com/ringwatch/ringwatch/window/windowtest"
)

// TestRecordedInRollups: what rules recorded is rolled up by the labels that they gave it, whatever
// other labels series beside it had; and matchers see these labels.
func TestRecordedInRollups(t *testing.T) {
	for seed := range uint64(60) {
		pick := windowtest.Pick(rand.New(rand.NewPCG(seed, 21)).IntN)
		r := windowtest.NewRecorder(pick, []string{"a", frame.EveryCluster}[seed%2])
		frames := map[int64][][]byte{}
		for at := begin; at < begin+100*60_000; at += 60_000 + int64(pick(200_000)) {
			frames[frame.WindowOf(at)] = append(frames[frame.WindowOf(at)], r.Step(at).Bytes)
		}
		var windows []*window.Window
		for _, of := range frames {
			w, _, err := building.Window(window.Node{Account: "acme", ID: r.ID()}, of)
			if err != nil {
				t.Fatal(err)
			}
			windows = append(windows, w)
		}
		slices.SortFunc(windows, func(a, b *window.Window) int { return int(a.Start - b.Start) })
		samples := all(windows)
		for level, rollups := range levels(t, windows) {
			for i := range 8 {
				var by []*labels.Matcher
				if i > 0 {
					name := windowtest.RecordedLabels[pick(len(windowtest.RecordedLabels))]
					by = append(by, labels.MustNewMatcher(labels.MatchType(pick(4)), name,
						[]string{"a", "b", "", ".+"}[pick(4)]))
				}
				list := rollup.Select(rollups, 0, math.MaxInt64, by...)
				got, err := rolluptest.Of(list)
				if err != nil {
					t.Fatal("seed", seed, level.Name, by, err)
				}
				of := slices.DeleteFunc(slices.Clone(samples), func(s window.Series) bool {
					return slices.ContainsFunc(by, func(m *labels.Matcher) bool {
						return !m.Matches(s.Labels.Get(m.Name))
					})
				})
				if d := rolluptest.Diff(got, rolluptest.Direct(of, level)); d != "" {
					t.Fatalf("seed %d, level %s, %v:\n%s", seed, level.Name, by, d)
				}
			}
		}
	}
}
