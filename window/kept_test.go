package window_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"pgregory.net/rapid"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
	"github.com/ringwatch/ringwatch/window/building"
	"github.com/ringwatch/ringwatch/window/uniting"
	"github.com/ringwatch/ringwatch/window/windowtest"
)

// kept is a window's blobs as a store would find them.
type kept struct {
	blobs.Encoded
	dictionaries map[window.Hash]*window.Dictionary
}

func keep(e blobs.Encoded) *kept {
	k := &kept{e, map[window.Hash]*window.Dictionary{}}
	for _, d := range e.Dictionaries {
		if window.HashOf(d.Blob) != d.Hash {
			panic("the hash of " + d.Key + " is wrong")
		}
		var err error
		if k.dictionaries[d.Hash], err = blobs.DecodeDictionary(d.Blob); err != nil {
			panic(err)
		}
	}
	return k
}

func (k *kept) find(key string, h window.Hash) (*window.Dictionary, error) {
	d := k.dictionaries[h]
	if d == nil {
		return nil, fmt.Errorf("%w: %s %s", blobs.ErrDictionary, key, h)
	}
	return d, nil
}

// parts returns the parts that are wanted; nil wants all.
func (k *kept) parts(want func(p *blobs.Part) bool) (list []blobs.StoredPart) {
	for i := range k.Parts {
		if p := &k.Parts[i]; want == nil || want(p) {
			list = append(list, blobs.StoredPart{PartID: p.PartID, Blob: p.Blob})
		}
	}
	return list
}

// named returns the blobs of some parts.
func (k *kept) named(ids []blobs.PartID) []blobs.StoredPart {
	return k.parts(func(p *blobs.Part) bool { return slices.Contains(ids, p.PartID) })
}

// tester is what a *testing.T and a *rapid.T have in common.
type tester interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

func (k *kept) head(t tester, start int64) *blobs.Head {
	t.Helper()
	h, err := blobs.DecodeHead(start, k.Head)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// open makes the window of all parts.
func (k *kept) open(t tester, start int64) *window.Window {
	t.Helper()
	return k.openSome(t, start, nil)
}

// openSome makes the window of those parts that are wanted; nil wants all.
func (k *kept) openSome(t tester, start int64, want func(p *blobs.Part) bool) *window.Window {
	t.Helper()
	w, damage := blobs.FromParts("acme", k.head(t, start), nil, k.find, k.parts(want))
	if len(damage) > 0 {
		t.Fatal(damage)
	}
	return w
}

// span returns a window of five minutes or, if whole says so, of an hour, and what it says.
func span(t tester, pick windowtest.Pick,
	whole bool) (*window.Window, window.Report, windowtest.Samples) {
	t.Helper()
	n := windowtest.NewNode(pick)
	begin := frame.WindowOf(start)
	windows := 1
	if whole {
		begin -= begin % window.HourMillis
		windows += pick(11)
	}
	want := windowtest.Samples{}
	var list []*window.Window
	var rep window.Report
	for i := range windows {
		at := begin + int64(i)*frame.WindowMillis + int64(pick(3000))
		var frames [][]byte
		for range 1 + pick(12/windows+1) {
			s := n.Step(at, pick(6) == 0)
			frames = append(frames, s.Bytes)
			want.Add(s.Samples)
			at += n.Interval
			if pick(3) == 0 {
				at += int64(pick(20))
			}
		}
		one, r, err := building.Window(window.Node{Account: "acme"}, frames)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, one)
		r.Frames += rep.Frames
		rep = r
	}
	if whole {
		return uniting.Windows(begin, window.HourMillis, list), rep, want
	}
	return list[0], rep, want
}

// eachSpan checks with random windows of five minutes and of an hour.
func eachSpan(t *testing.T, f func(t *rapid.T, pick windowtest.Pick, w *window.Window,
	rep window.Report, want windowtest.Samples)) {
	for name, whole := range map[string]bool{"five minutes": false, "hour": true} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				pick := picker(t)
				w, rep, want := span(t, pick, whole)
				f(t, pick, w, rep, want)
			})
		})
	}
}

func equals(name, value string) *labels.Matcher {
	return labels.MustNewMatcher(labels.MatchEqual, name, value)
}
