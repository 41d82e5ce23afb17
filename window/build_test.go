package window_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"pgregory.net/rapid"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
	"github.com/ringwatch/ringwatch/window/building"
	"github.com/ringwatch/ringwatch/window/selecting"
	"github.com/ringwatch/ringwatch/window/windowtest"
)

const start = 6_000_000 * frame.WindowMillis / 1000

func picker(t *rapid.T) windowtest.Pick {
	seed := rapid.Uint64().Draw(t, "seed")
	return rand.New(rand.NewPCG(seed, 1)).IntN
}

// history returns the frames of one window.
func history(pick windowtest.Pick) (*windowtest.Node, []windowtest.Sent) {
	n := windowtest.NewNode(pick)
	n.Compression = frame.Compression(pick(3))
	var sent []windowtest.Sent
	at := frame.WindowOf(start) + int64(pick(3000))
	for range 1 + pick(12) {
		sent = append(sent, n.Step(at, pick(6) == 0))
		at += n.Interval
		if pick(3) == 0 {
			at += int64(pick(20))
		}
	}
	return n, sent
}

func mustBuild(t testing.TB, frames [][]byte) (*window.Window, window.Report) {
	t.Helper()
	w, rep, err := building.Window(window.Node{Account: "acme"}, frames)
	if err != nil {
		t.Fatal(err)
	}
	return w, rep
}

func check(t *rapid.T, what string, got []window.Series, want windowtest.Samples) {
	t.Helper()
	s, err := windowtest.Of(got)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if d := windowtest.Diff(s, want); d != "" {
		t.Fatalf("%s:\n%s", what, d)
	}
}

func all(w *window.Window) []window.Series { return selecting.Select(w, 0, 1<<60) }

func TestBuildSelectEqualsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pick := picker(t)
		n, sent := history(pick)
		// Some frames are lost, some come twice, some are broken, all are shuffled.
		var frames [][]byte
		want, newest := windowtest.Samples{}, windowtest.Samples{}
		keys := map[int64]bool{}
		var rep window.Report
		var last int64
		for _, s := range sent {
			if pick(8) == 0 {
				continue
			}
			copies := 1 + pick(2)
			if pick(12) == 0 {
				b := bytes.Clone(s.Bytes)
				b[len(b)-1] ^= 1
				frames = append(frames, b)
				rep.Corrupt++
				continue
			}
			for range copies {
				frames = append(frames, s.Bytes)
			}
			rep.Duplicates += copies - 1
			if keys[s.KeyAt] = keys[s.KeyAt] || s.Key; !keys[s.KeyAt] {
				rep.MissingKey++
				continue
			}
			last = s.At
			want.Add(s.Samples)
			newest = s.Samples
		}
		rep.Frames = len(frames)
		for i := len(frames) - 1; i > 0; i-- {
			j := pick(i + 1)
			frames[i], frames[j] = frames[j], frames[i]
		}
		if len(frames) == rep.Corrupt {
			return
		}
		w, got, err := building.Window(window.Node{Account: "acme"}, frames)
		if err != nil {
			t.Fatal(err)
		}
		if got != rep {
			t.Fatalf("report %+v, want %+v", got, rep)
		}
		check(t, "all", all(w), want)
		check(t, "latest", selecting.Latest(w), newest)
		// Any part of the time, whole and joined.
		from := sent[pick(len(sent))].At + int64(pick(3)) - 1
		part, rest := windowtest.Samples{}, windowtest.Samples{}
		for series, values := range want {
			for at, v := range values {
				side := rest
				if at >= from && at <= last-1 {
					side = part
				}
				side.Add(windowtest.Samples{series: {at: v}})
			}
		}
		check(t, "part", selecting.Select(w, from, last-1), part)
		check(t, "joined", selecting.Join(selecting.Select(w, from, last-1),
			selecting.Select(w, 0, from+7),
			selecting.Select(w, last-9, 1<<60)), want)
		// Matchers.
		for _, m := range []*labels.Matcher{
			labels.MustNewMatcher(labels.MatchRegexp, "__name__", "table_.*|node_1"),
			labels.MustNewMatcher(labels.MatchEqual, "keyspace", "a"),
			labels.MustNewMatcher(labels.MatchEqual, "keyspace", ""),
			labels.MustNewMatcher(labels.MatchNotEqual, "table", "b"),
			labels.MustNewMatcher(labels.MatchEqual, "rack", "r2"),
			labels.MustNewMatcher(labels.MatchEqual, "node", n.ID.String()),
			labels.MustNewMatcher(labels.MatchEqual, "nothing", ""),
		} {
			var by []window.Series
			for _, s := range all(w) {
				if m.Matches(s.Labels.Get(m.Name)) {
					by = append(by, s)
				}
			}
			of, err := windowtest.Of(by)
			if err != nil {
				t.Fatal(err)
			}
			check(t, fmt.Sprint(m), selecting.Select(w, 0, 1<<60, m), of)
		}
	})
}

func TestBuildRefuses(t *testing.T) {
	pick := windowtest.Pick(rand.New(rand.NewPCG(1, 1)).IntN)
	a, b := windowtest.NewNode(pick), windowtest.NewNode(pick)
	first := a.Step(frame.WindowOf(start), true).Bytes
	for name, other := range map[string][]byte{
		"two nodes":   b.Step(frame.WindowOf(start)+1, true).Bytes,
		"two windows": a.Step(frame.WindowOf(start)+frame.WindowMillis, true).Bytes,
	} {
		if _, _, err := building.Window(window.Node{}, [][]byte{first, other}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, rep, err := building.Window(window.Node{}, [][]byte{{1, 2, 3}}); err == nil ||
		rep.Corrupt != 1 {
		t.Errorf("no frame at all: %v %+v", err, rep)
	}
}

// TestBuildWanted: a window of some metrics has of them what the window of all has, and nothing
// else.
func TestBuildWanted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		_, sent := history(picker(t))
		var frames [][]byte
		for _, s := range sent {
			frames = append(frames, s.Bytes)
		}
		whole, rep := mustBuildRapid(t, frames, nil)
		names := map[string]bool{}
		for _, s := range all(whole) {
			names[s.Metric.Name] = rapid.Bool().Draw(t, s.Metric.Name)
		}
		some, someRep := mustBuildRapid(t, frames, func(metric string) bool {
			return names[metric]
		})
		if rep != someRep || !slices.Equal(whole.Times, some.Times) {
			t.Fatalf("%+v at %v, %+v at %v", rep, whole.Times, someRep, some.Times)
		}
		want, err := windowtest.Of(slices.DeleteFunc(all(whole), func(s window.Series) bool {
			return !names[s.Metric.Name]
		}))
		if err != nil {
			t.Fatal(err)
		}
		check(t, "some metrics", all(some), want)
	})
}

// known is shared by all of the test's runs: dictionaries of other frames must not get in the way.
var known = frame.NewDictionaries(1 << 20)

func mustBuildRapid(t *rapid.T, frames [][]byte,
	want func(string) bool) (*window.Window, window.Report) {
	var of *frame.Wanted
	if want != nil {
		of = frame.NewWanted(want, known)
	}
	w, rep, err := building.Wanted(nil, window.Node{Account: "acme"}, frames, of)
	if err != nil {
		t.Fatal(err)
	}
	return w, rep
}

// TestBuildKnown: who has read dictionaries before builds the same windows of frames.
func TestBuildKnown(t *testing.T) {
	known := frame.NewDictionaries(1 << 20)
	rapid.Check(t, func(t *rapid.T) {
		_, sent := history(picker(t))
		var frames [][]byte
		for _, s := range sent {
			frames = append(frames, s.Bytes)
		}
		want, wantReport, err := building.Window(window.Node{Account: "acme"}, frames)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time all dictionaries are known
			got, report, err := building.Known(nil, window.Node{Account: "acme"}, frames, known)
			if err != nil || report != wantReport {
				t.Fatalf("%+v, %v; want %+v", report, err, wantReport)
			}
			a, b := fmt.Sprint(blobs.Encode(got, report)), fmt.Sprint(blobs.Encode(want, report))
			if a != b {
				t.Fatalf("got\n%s\nwant\n%s", a, b)
			}
		}
	})
}
