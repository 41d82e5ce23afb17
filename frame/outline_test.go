package frame

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestDecodeKnown: a key frame whose dictionary was read before is decoded as any other.
func TestDecodeKnown(t *testing.T) {
	known := NewDictionaries(1 << 20)
	rapid.Check(t, func(t *rapid.T) {
		b, err := drawFrame(t, nil).Append(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("%+v", *mustDecode(t, b, nil, nil))
		for i := range 2 {
			f, err := DecodeKnown(nil, b, known)
			if err != nil {
				t.Fatal(err)
			}
			if i == 1 && f.shared == nil {
				t.Fatal("a dictionary that was read a moment before is not known")
			}
			f.shared = nil
			if got := fmt.Sprintf("%+v", *f); got != want {
				t.Fatalf("got\n%s\nwant\n%s", got, want)
			}
			for cut := range b {
				if _, err := DecodeKnown(nil, b[:cut], known); err == nil {
					t.Fatalf("%d of %d bytes pass for a frame", cut, len(b))
				}
			}
		}
	})
}

// TestOutline: frames of other values have the same outline, whether their dictionary has been read
// before or not; frames of another cluster, identity, metric or entity have another one.
func TestOutline(t *testing.T) {
	known := NewDictionaries(1 << 20)
	rapid.Check(t, func(t *rapid.T) {
		f := drawFrame(t, nil)
		outline := func(what string) uint64 {
			b, err := f.Append(nil, nil)
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			alone, err := Outline(nil, b, nil)
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			for range 2 {
				if of, err := Outline(nil, b, known); err != nil || of != alone {
					t.Fatalf("%s: %d and %d, %v", what, alone, of, err)
				}
			}
			return alone
		}
		same := outline("a frame")
		values, at := f.Values, f.At
		f.Values, f.Sequence = nil, f.Sequence+1
		if outline("without values") != same {
			t.Fatal("values make another outline")
		}
		f.Values, f.At = values, at
		for _, change := range []struct {
			what string
			make func() (back func())
		}{
			{"cluster", func() func() {
				f.Cluster += "x"
				return func() { f.Cluster = f.Cluster[:len(f.Cluster)-1] }
			}},
			{"rack", func() func() {
				rack := f.Identity.Rack
				f.Identity.Rack = "another rack"
				return func() { f.Identity.Rack = rack }
			}},
			{"template", func() func() {
				n := len(f.Templates)
				f.Templates = append(slices.Clip(f.Templates),
					Template{Type: "new_type", Metrics: []Metric{{Name: "new_metric"}}})
				return func() { f.Templates = f.Templates[:n] }
			}},
			{"entity", func() func() {
				added := f.Added
				f.Templates = append(slices.Clip(f.Templates),
					Template{Type: "new_type", Metrics: []Metric{{Name: "new_metric"}}})
				f.Added = append(slices.Clip(f.Added),
					Entities{len(f.Templates) - 1, [][]string{{}}})
				return func() { f.Templates, f.Added = f.Templates[:len(f.Templates)-1], added }
			}},
		} {
			back := change.make()
			if outline(change.what) == same {
				t.Fatalf("another %s makes no other outline", change.what)
			}
			back()
		}
	})
}
