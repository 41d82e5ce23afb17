package window_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/building"
	"github.com/ringwatch/ringwatch/window/selecting"
	"github.com/ringwatch/ringwatch/window/uniting"
	"github.com/ringwatch/ringwatch/window/windowtest"
)

const hour = start - start%window.HourMillis

// hourOf returns the frames of an hour by window. Not every window has some.
func hourOf(pick windowtest.Pick) (list [][]windowtest.Sent) {
	n := windowtest.NewNode(pick)
	for i := range int64(12) {
		if pick(3) == 0 {
			continue
		}
		at := hour + i*frame.WindowMillis + int64(pick(3000))
		var of []windowtest.Sent
		for range 1 + pick(5) {
			of = append(of, n.Step(at, pick(8) == 0))
			at += n.Interval + int64(pick(2)*pick(20))
		}
		list = append(list, of)
	}
	return list
}

// built makes a window of frames and the key frames that they need.
func built(t *rapid.T, of []windowtest.Sent, all []windowtest.Sent) *window.Window {
	var frames [][]byte
	for _, s := range of {
		frames = append(frames, s.Bytes)
		for _, k := range all {
			if k.Key && k.At == s.KeyAt {
				frames = append(frames, k.Bytes)
			}
		}
	}
	w, rep, err := building.Window(window.Node{Account: "acme"}, frames)
	if err != nil || rep.Lost() > 0 {
		t.Fatal(rep, err)
	}
	return w
}

// windowsOf makes windows of an hour's frames, and what they say. Some windows are in two parts,
// because frames were late; both parts know some of the instants, and they have instants by turns.
func windowsOf(t *rapid.T, pick windowtest.Pick) (list []*window.Window, want windowtest.Samples) {
	want = windowtest.Samples{}
	for _, sent := range hourOf(pick) {
		var parts [2][]windowtest.Sent
		late := pick(4) == 0
		for _, s := range sent {
			want.Add(s.Samples)
			to := 0
			if late {
				to = pick(3)
			}
			for side := range parts {
				if to == 2 || to == side {
					parts[side] = append(parts[side], s)
				}
			}
		}
		for _, of := range parts {
			if len(of) > 0 {
				list = append(list, built(t, of, sent))
			}
		}
	}
	for i := len(list) - 1; i > 0; i-- { // late parts come in any order
		if j := pick(i + 1); pick(2) == 0 {
			list[i], list[j] = list[j], list[i]
		}
	}
	return list, want
}

// grouped unites neighbours of a list in any grouping.
func grouped(pick windowtest.Pick, list []*window.Window) *window.Window {
	list = slices.Clone(list)
	for len(list) > 1 {
		n := 2 + pick(len(list)-1)
		i := pick(len(list) - n + 1)
		u := uniting.Windows(hour, window.HourMillis, list[i:i+n])
		list = slices.Replace(list, i, i+n, u)
	}
	return list[0]
}

func mustEqual(t *rapid.T, what string, got, want *window.Window) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s: the windows differ: %s", what, difference(got, want))
	}
}

// difference says in short how two windows differ.
func difference(a, b *window.Window) string {
	if !slices.Equal(a.Times, b.Times) || !reflect.DeepEqual(a.Node, b.Node) ||
		a.Start != b.Start ||
		a.Length != b.Length || len(a.Types) != len(b.Types) {
		return fmt.Sprintf("%v and %v", a, b)
	}
	for i, t := range a.Types {
		if !reflect.DeepEqual(t.Dictionary, b.Types[i].Dictionary) {
			return fmt.Sprintf("dictionaries %+v and %+v", t.Dictionary, b.Types[i].Dictionary)
		}
	}
	got, errA := windowtest.Of(all(a))
	want, errB := windowtest.Of(all(b))
	return fmt.Sprint(errA, errB, windowtest.Diff(got, want), " or in their form only")
}

// TestUnion: the union has what the windows have, in the form that a column has, and is the same
// window in whatever groups the windows were united.
func TestUnion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pick := picker(t)
		list, want := windowsOf(t, pick)
		if len(list) < 2 {
			return
		}
		u := uniting.Windows(hour, window.HourMillis, list)
		if u.Start != hour || u.Length != window.HourMillis || u.Node.Account != "acme" {
			t.Fatalf("%+v at %d for %d", u.Node, u.Start, u.Length)
		}
		check(t, "united", all(u), want)
		mustEqual(t, "made of its cells", u, windowtest.Canonical(u))
		for range 3 {
			mustEqual(t, "in other groups", grouped(pick, list), u)
		}
		mustEqual(t, "united again",
			uniting.Windows(hour, window.HourMillis, []*window.Window{u}), u)
		mustEqual(t, "with one of its windows", uniting.Windows(hour, window.HourMillis,
			[]*window.Window{u, list[pick(len(list))]}), u)
	})
}

// TestUnionEarlierWins: where two windows say different things of an instant, the first is right,
// also where it says that there is no value.
func TestUnionEarlierWins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pick := picker(t)
		n := pick(6) + 1
		var list []*window.Window
		want := windowtest.Samples{}
		known := map[int64]bool{}
		newest, interval := int64(0), int64(0)
		for i := range int64(3) {
			node := windowtest.NewNode(pick)
			node.ID, node.Interval = [16]byte{1}, 5000+i
			var sent []windowtest.Sent
			for i := range n {
				if at := hour + int64(i)*5000; pick(3) > 0 {
					sent = append(sent, node.Step(at, false))
				}
			}
			if len(sent) == 0 {
				continue
			}
			list = append(list, built(t, sent, sent))
			for _, s := range sent {
				if !known[s.At] {
					known[s.At] = true
					want.Add(s.Samples)
				}
				if s.At > newest {
					newest, interval = s.At, node.Interval
				}
			}
		}
		if len(list) == 0 {
			return
		}
		u := uniting.Windows(hour, frame.WindowMillis, list)
		check(t, "united", all(u), want)
		if u.Node.Interval != interval {
			t.Fatalf("the interval is %d, the newest frame's is %d", u.Node.Interval, interval)
		}
		mustEqual(t, "made of its cells", u, windowtest.Canonical(u))
	})
}

// TestUnionOfSomeMetrics: a span that is united a few metrics at a time has the same dictionaries
// each time, and all times together the columns that it has when it is united at once.
func TestUnionOfSomeMetrics(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pick := picker(t)
		list, _ := windowsOf(t, pick)
		if len(list) == 0 {
			return
		}
		whole := uniting.Windows(hour, window.HourMillis, list)
		const times = 3
		turn := map[string]int{}
		turnOf := func(d *window.Dictionary, metric int) int {
			key := d.Metrics[metric].Name
			if _, found := turn[key]; !found {
				turn[key] = pick(times)
			}
			return turn[key]
		}
		for i := range times {
			now := func(d *window.Dictionary, metric int) bool { return turnOf(d, metric) == i }
			// What a head answers for is known at all times.
			also := func(d *window.Dictionary, metric int) bool {
				return turnOf(d, metric) == i || pick(3) == 0
			}
			var some []*window.Window
			for _, w := range list {
				some = append(some, windowtest.Unread(w, also))
			}
			mustEqual(t, "some metrics", uniting.Wanted(hour, window.HourMillis, some, now),
				windowtest.Unread(whole, now))
		}
	})
}

// TestUnionOfUnread: a window that has not read a column says nothing of its metric.
func TestUnionOfUnread(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pick := picker(t)
		list, _ := windowsOf(t, pick)
		if len(list) == 0 {
			return
		}
		// The span may end before some of the windows, which then say nothing of its instants.
		length := []int64{window.HourMillis, window.HourMillis / 2}[pick(2)]
		want := windowtest.Samples{}
		// What is said of a metric where it counts, and elsewhere.
		said, read := map[string]bool{}, map[string]bool{}
		elsewhere := map[string]bool{}
		for i, w := range list {
			unread := pick(3)
			list[i] = windowtest.Unread(w, func(*window.Dictionary, int) bool {
				return pick(3) >= unread
			})
			within := w.Times[0] < hour+length
			for _, t := range list[i].Types {
				for m := range t.Metrics {
					key := definition(t.Dictionary, m)
					if within {
						said[key], read[key] = true, read[key] || windowtest.Known(t, m)
					} else {
						elsewhere[key] = elsewhere[key] || windowtest.Known(t, m)
					}
				}
			}
			samples, err := windowtest.Of(selecting.Select(list[i], hour, hour+length-1))
			if err != nil {
				t.Fatal(err)
			}
			want.Add(samples)
		}
		u := uniting.Windows(hour, length, list)
		check(t, "united", all(u), want)
		mustEqual(t, "made of its cells", u, windowtest.Canonical(u))
		for _, of := range u.Types {
			for m := range of.Metrics {
				key := definition(of.Dictionary, m)
				known := read[key]
				if !said[key] { // it has no value, if that was read
					known = elsewhere[key]
				}
				if windowtest.Known(of, m) != known {
					t.Fatalf("%s is known: %v", key, !known)
				}
			}
		}
	})
}

// definition tells a metric of a type apart from all others.
func definition(d *window.Dictionary, metric int) string {
	m := d.Metrics[metric]
	var bounds frame.Bounds
	if m.Bounds != nil {
		bounds, m.Bounds = *m.Bounds, nil
	}
	return fmt.Sprint(d.Labels, m, bounds)
}

// TestSlice: the slices of a window have its samples, and are the window when they are united.
func TestSlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pick := picker(t)
		list, want := windowsOf(t, pick)
		if len(list) == 0 {
			return
		}
		u := uniting.Windows(hour, window.HourMillis, list)
		from, length := int64(hour), int64(0)
		var parts []*window.Window
		for ; from < hour+window.HourMillis; from += length {
			length = []int64{frame.WindowMillis, 5001, 20_000, window.HourMillis}[pick(4)]
			s := uniting.Slice(u, from, length)
			if s.Start != from || s.Length != length {
				t.Fatalf("%d for %d", s.Start, s.Length)
			}
			// Types have the window's dictionaries, also if only one of two with one name was
			// opened.
			one := *u
			for i, of := range u.Types {
				if s.Types[i].Dictionary != of.Dictionary {
					t.Fatalf("type %s has a dictionary of its own", of.Key)
				}
				one.Types = []*window.Type{of}
				if d := uniting.Slice(&one, from, length).Types[0].Dictionary; d != of.Dictionary {
					t.Fatalf("type %s alone has a dictionary of its own: %s", of.Key, d.Key)
				}
			}
			within := windowtest.Samples{}
			for series, values := range want {
				for at, v := range values {
					if at >= from && at < from+length {
						within.Add(windowtest.Samples{series: {at: v}})
					}
				}
			}
			check(t, "slice", all(s), within)
			mustEqual(t, "slice made of its cells", s, windowtest.Canonical(s))
			parts = append(parts, s)
		}
		mustEqual(t, "slices united", uniting.Windows(hour, window.HourMillis, parts), u)
	})
}

// TestUnionSharesDictionaries: windows that are alike, or of which one has all, give their own
// dictionary.
func TestUnionSharesDictionaries(t *testing.T) {
	n := windowtest.NewNode(func(n int) int { return n / 2 })
	var list []*window.Window
	for i := range int64(3) {
		w, _ := mustBuild(t, [][]byte{n.Step(hour+i*frame.WindowMillis, false).Bytes})
		list = append(list, w)
	}
	u := uniting.Windows(hour, window.HourMillis, list)
	for i, of := range u.Types {
		if !slices.ContainsFunc(list, func(w *window.Window) bool {
			return len(w.Types) > i && w.Types[i].Dictionary == of.Dictionary
		}) {
			t.Errorf("type %s has a dictionary of its own", of.Key)
		}
	}
	s := uniting.Slice(u, hour, frame.WindowMillis)
	if s.Types[0].Dictionary != u.Types[0].Dictionary {
		t.Error("a slice has a dictionary of its own")
	}
	if uniting.Slice(u, hour, window.HourMillis) != u {
		t.Error("the whole of a window is another window")
	}
}
