package window_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"pgregory.net/rapid"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
	"github.com/ringwatch/ringwatch/window/building"
	"github.com/ringwatch/ringwatch/window/following"
	"github.com/ringwatch/ringwatch/window/selecting"
	"github.com/ringwatch/ringwatch/window/uniting"
	"github.com/ringwatch/ringwatch/window/windowtest"
)

// recordedMatchers returns matchers of a recorder's labels, at random.
func recordedMatchers(pick windowtest.Pick) (list []*labels.Matcher) {
	names := append([]string{labels.MetricName, "nosuch"}, windowtest.RecordedLabels...)
	for range 1 + pick(2) {
		name, value := names[pick(len(names))], []string{"a", "b", "+Inf", "", "c"}[pick(5)]
		if name == labels.MetricName {
			value = "level:m1:sum"
		}
		kind := labels.MatchType(pick(4))
		if kind == labels.MatchRegexp || kind == labels.MatchNotRegexp {
			value = []string{"a|b", ".+", ".*", "", "[+].*", "level:.*"}[pick(6)]
		}
		list = append(list, labels.MustNewMatcher(kind, name, value))
	}
	return list
}

// matching filters what was recorded.
func matching(t *rapid.T, all windowtest.Samples, series []window.Series, by []*labels.Matcher,
) windowtest.Samples {
	want := windowtest.Samples{}
	for _, s := range series {
		if !slices.ContainsFunc(by, func(m *labels.Matcher) bool {
			return !m.Matches(s.Labels.Get(m.Name))
		}) {
			one, err := windowtest.Of([]window.Series{s})
			if err != nil {
				t.Fatal(err)
			}
			for k := range one {
				want[k] = all[k]
			}
		}
	}
	return want
}

// TestRecordedIsRead: what rules recorded is what is read, with those labels and no others, however
// it is stored; and matchers see these labels, and no place of a node.
func TestRecordedIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pick := picker(t)
		r := windowtest.NewRecorder(pick, []string{"a", frame.EveryCluster}[pick(2)])
		want := windowtest.Samples{}
		var frames [][]byte
		var parts [2][][]byte
		var last windowtest.Sent
		at := frame.WindowOf(start) + 1000
		for range 1 + pick(8) {
			last = r.Step(at)
			want.Add(last.Samples)
			frames = append(frames, last.Bytes)
			side := pick(2)
			parts[side] = append(parts[side], last.Bytes)
			at += r.Interval
		}
		w, rep, err := building.Window(window.Node{Account: "acme", ID: r.ID()}, frames)
		if err != nil {
			t.Fatal(err)
		}
		if w.Node.Cluster != r.Cluster {
			t.Fatalf("the cluster is %q", w.Node.Cluster)
		}
		check(t, "built", all(w), want)
		check(t, "latest", selecting.Latest(w), last.Samples)
		back := keep(blobs.Encode(w, rep)).open(t, w.Start)
		check(t, "from parts", all(back), want)
		if len(parts[0]) > 0 && len(parts[1]) > 0 {
			var sides [2]*window.Window
			for i := range sides {
				if sides[i], _, err = building.Window(window.Node{Account: "acme", ID: r.ID()},
					parts[i]); err != nil {
					t.Fatal(err)
				}
			}
			check(t, "merged", all(uniting.Merge(sides[0], sides[1])), want)
		}
		f := following.New(window.Node{Account: "acme", ID: r.ID()}, nil)
		followed := map[string]bool{}
		for _, b := range frames {
			if _, err := f.Frame(nil, b, func(c *following.Cell) {
				followed[c.Labels().String()] = true
			}); err != nil {
				t.Fatal(err)
			}
		}
		for _, s := range all(w) {
			if !followed[s.Labels.String()] {
				t.Fatalf("a follower does not see %s among %v", s.Labels, followed)
			}
			delete(followed, s.Labels.String())
		}
		if len(followed) > 0 {
			t.Fatalf("a follower sees %v", followed)
		}
		whole := all(w)
		for range 10 {
			by := recordedMatchers(pick)
			of := matching(t, want, whole, by)
			check(t, "selected", selecting.Select(back, 0, 1<<60, by...), of)
			check(t, "selected of the frames", selecting.Select(w, 0, 1<<60, by...), of)
		}
	})
}

// TestRecordedLabelNames: the names that a recorder's frames have are allowed there, no two labels
// share one, and it leads back.
func TestRecordedLabelNames(t *testing.T) {
	id := frame.RecorderID("acme", "a", "g")
	seen := map[string]string{}
	for _, name := range append([]string{"recorded_node", "recorded_", "x"},
		windowtest.RecordedLabels...) {
		written := frame.RecordedLabel(name)
		if other, twice := seen[written]; twice && other != name {
			t.Errorf("%s and %s are both %s", name, other, written)
		}
		seen[written] = name
		if back := frame.LabelsOf(id, []string{written}); back[0] != name {
			t.Errorf("%s is read as %s", name, back[0])
		}
		ofNode := written
		if name == "quantile" {
			ofNode = name
		}
		if back := frame.LabelsOf([16]byte{1}, []string{"x", written}); back[0] != "x" ||
			back[1] != ofNode {
			t.Errorf("a node's label %s is read as %s", written, back[1])
		}
	}
	if !frame.IsRecorder(id) || frame.IsRecorder([16]byte{1}) || id.Version() != 8 ||
		id.Variant().String() != "RFC4122" {
		t.Errorf("%s: version %d, variant %s", id, id.Version(), id.Variant())
	}
	if !strings.HasPrefix(string(id[:]), "record") {
		t.Error(id)
	}
	for _, other := range [][3]string{{"acme", "a", "h"}, {"acme", "b", "g"}, {"other", "a", "g"}} {
		if frame.RecorderID(other[0], other[1], other[2]) == id {
			t.Errorf("%v has the id of another group", other)
		}
	}
}
