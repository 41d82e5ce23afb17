package frame

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"
)

// TestWanted: decoding for some metrics gives their columns and entities as decoding for all does,
// whether the dictionary has been read before or not.
func TestWanted(t *testing.T) {
	known := NewDictionaries(1 << 20)
	rapid.Check(t, func(t *rapid.T) {
		key := drawFrame(t, nil)
		b, err := key.Append(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		names := map[string]bool{}
		for _, tpl := range key.Templates {
			for _, m := range tpl.Metrics {
				names[m.Name] = rapid.Bool().Draw(t, m.Name)
			}
		}
		wants := []*Wanted{
			NewWanted(func(name string) bool { return names[name] }, nil),
			NewWanted(func(name string) bool { return names[name] }, known), // reads the dictionary
			NewWanted(func(name string) bool { return names[name] }, known), // finds it
		}
		whole := mustDecode(t, b, nil, nil)
		var keys []*Frame
		for _, want := range wants {
			keys = append(keys, mustDecode(t, b, nil, want))
			sameWanted(t, whole, keys[len(keys)-1], whole, names)
		}
		if keys[2].shared == nil {
			t.Fatal("a dictionary that was read a moment before is not known")
		}
		if key.At >= key.Window()+WindowMillis-1 {
			return
		}
		b, err = drawFrame(t, key).Append(nil, key)
		if err != nil {
			t.Fatal(err)
		}
		delta := mustDecode(t, b, whole, nil)
		for _, m := range slices.Collect(maps.Keys(names)) {
			if !names[m] {
				delete(names, m)
			}
		}
		for i, want := range wants {
			sameWanted(t, delta, mustDecode(t, b, keys[i], want), whole, names)
		}
	})
}

func mustDecode(t *rapid.T, b []byte, key *Frame, want *Wanted) *Frame {
	f, err := DecodeWanted(nil, b, key, want)
	if err != nil {
		t.Fatalf("%v\n%x", err, b)
	}
	return f
}

// sameWanted compares what a frame says of some metrics with one that was decoded for them.
func sameWanted(t *rapid.T, whole, some, key *Frame, names map[string]bool) {
	want := *whole
	wanted := func(template int) bool {
		return slices.ContainsFunc(whole.Template(key, template).Metrics,
			func(m Metric) bool { return names[m.Name] })
	}
	groups := func(list []Group) (out []Group) {
		for _, g := range list {
			of := Group{Template: g.Template}
			for _, c := range g.Columns {
				if names[whole.Template(key, g.Template).Metrics[c.Metric].Name] {
					of.Columns = append(of.Columns, c)
				}
			}
			if len(of.Columns) > 0 {
				out = append(out, of)
			}
		}
		return out
	}
	want.Presence, want.Values = groups(whole.Presence), groups(whole.Values)
	want.Added, want.Removed, want.Events = nil, nil, nil
	for _, e := range whole.Added {
		if wanted(e.Template) {
			want.Added = append(want.Added, e)
		}
	}
	for _, r := range whole.Removed {
		if wanted(r.Template) {
			want.Removed = append(want.Removed, r)
		}
	}
	got := *some
	got.counts, got.shared = nil, nil
	if a, b := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want); a != b {
		t.Fatalf("got\n%s\nwant\n%s", a, b)
	}
}

// TestDictionariesAreBounded: the oldest goes, and what is too large is not kept.
func TestDictionariesAreBounded(t *testing.T) {
	known := NewDictionaries(64 << 10)
	for i := range 100 {
		f := Frame{Header: Header{Node: [16]byte{1}, Cluster: "c", At: 1, Interval: 1}}
		tpl := Template{Type: "t"}
		for m := range 1 + i%60 {
			tpl.Metrics = append(tpl.Metrics, Metric{Name: fmt.Sprintf("m%d_%d", i, m)})
		}
		f.Templates = []Template{tpl}
		b, err := f.Append(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		want := NewWanted(func(string) bool { return true }, known)
		for range 2 {
			if _, err := DecodeWanted(nil, b, nil, want); err != nil {
				t.Fatal(err)
			}
		}
		var sum int64
		for _, d := range known.list {
			sum += d.bytes
		}
		if sum != known.bytes || sum > known.most || len(known.list) > maxDictionaries {
			t.Fatalf("%d dictionaries of %d bytes, counted as %d", len(known.list), sum,
				known.bytes)
		}
	}
	if len(known.list) < 3 {
		t.Fatalf("%d dictionaries are kept", len(known.list))
	}
}

// TestWantedTakesLittle: a frame of which little is wanted takes little, however many templates
// its dictionary has.
func TestWantedTakesLittle(t *testing.T) {
	key := &Frame{Header: Header{Compression: Zstd, Node: uuid.New(), Cluster: "c", Started: 1,
		At: 1_800_000_000_000, Interval: 20_000}}
	for i := range 200 {
		key.Templates = append(key.Templates, Template{Type: fmt.Sprintf("type%03d", i),
			Metrics: []Metric{{Name: fmt.Sprintf("metric%03d", i), Kind: Counter}}})
		key.Added = append(key.Added, Entities{Template: i, Rows: [][]string{{}}})
	}
	b, err := key.Append(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := NewWanted(func(name string) bool { return name == "metric007" }, NewDictionaries(1<<20))
	decode := func() *Frame {
		f, err := DecodeWanted(nil, b, nil, want)
		if err != nil || len(f.Added) != 1 {
			t.Fatalf("%+v, %v", f, err)
		}
		return f
	}
	decode()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	const frames = 200
	for range frames {
		decode()
	}
	runtime.ReadMemStats(&after)
	// A list of what the decoder knows of 200 templates alone takes 20 kB.
	if each := (after.TotalAlloc - before.TotalAlloc) / frames; each > 8<<10 {
		t.Errorf("a frame takes %d bytes", each)
	}
}
