package frame

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"
)

// drawFrame draws any frame that FORMAT.md allows. rapid prints the seed of a failure and shrinks
// it.
func drawFrame(t *rapid.T, key *Frame) *Frame {
	f := &Frame{}
	id := rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "node")
	copy(f.Node[:], id)
	if f.Node == uuid.Nil {
		f.Node[0] = 1
	}
	f.Cluster = rapid.StringMatching(`[a-zA-Z0-9 ._ü-]{1,40}`).Draw(t, "cluster")
	f.Started = rapid.Uint64().Draw(t, "started")
	f.Sequence = rapid.Uint64().Draw(t, "sequence")
	f.At = rapid.Int64Range(1, maxAt-WindowMillis).Draw(t, "at")
	f.Interval = rapid.Int64Range(1, maxIntervalMilli).Draw(t, "interval")
	f.Cost = rapid.Uint64().Draw(t, "cost")
	if key != nil {
		f.Node, f.Cluster = key.Node, key.Cluster
		f.At = key.At + rapid.Int64Range(1, max(1, key.Window()+WindowMillis-1-key.At)).Draw(t,
			"age")
		f.KeyAge, f.KeyCheck = f.At-key.At, key.Check
	} else {
		text := rapid.StringN(0, 20, 100)
		f.Identity = Identity{Datacenter: text.Draw(t, "dc"), Rack: text.Draw(t, "rack")}
		for i := range rapid.IntRange(0, 3).Draw(t, "facts") {
			f.Identity.Facts = append(f.Identity.Facts,
				Fact{fmt.Sprintf("fact%d", i), text.Draw(t, "fact")})
		}
	}
	d := drawer{T: t, f: f, key: key}
	d.events()
	d.dictionary()
	d.groups()
	return f
}

type drawer struct {
	*rapid.T
	f, key *Frame
	sizes  []int
	live   [][]int // live entities by template
}

func (d *drawer) events() {
	ages := []int64{}
	for range rapid.IntRange(0, 3).Draw(d.T, "events") {
		ages = append(ages, rapid.Int64Range(0, d.f.At-1).Draw(d.T, "event's age"))
	}
	slices.Sort(ages)
	slices.Reverse(ages)
	for _, age := range ages {
		e := Event{At: d.f.At - age, Text: rapid.StringN(0, 20, MaxEventText).Draw(d.T, "text"),
			Kind:     rapid.SampledFrom([]string{"node_down", "gc_pause", "x"}).Draw(d.T, "kind"),
			Severity: Severity(rapid.IntRange(0, 2).Draw(d.T, "severity"))}
		for i := range rapid.IntRange(0, 3).Draw(d.T, "event's labels") {
			e.Labels = append(e.Labels, Label{fmt.Sprintf("l%d", i),
				rapid.StringN(1, 10, MaxLabelBytes).Draw(d.T, "value")})
		}
		d.f.Events = append(d.f.Events, e)
	}
}

func (d *drawer) dictionary() {
	f := d.f
	keyTemplates := 0
	if d.key != nil {
		keyTemplates = len(d.key.Templates)
		for i := range d.key.Bounds {
			d.sizes = append(d.sizes, len(d.key.Bounds[i].Upper)+1)
		}
	}
	for range rapid.IntRange(0, 2).Draw(d.T, "bounds sets") {
		b := Bounds{Exponent: rapid.IntRange(-18, 18).Draw(d.T, "exponent")}
		upper := rapid.Int64Range(-1000, 1000).Draw(d.T, "first")
		for range rapid.IntRange(1, 20).Draw(d.T, "bounds") {
			b.Upper = append(b.Upper, upper)
			upper += rapid.Int64Range(1, 1<<40).Draw(d.T, "step")
		}
		f.Bounds = append(f.Bounds, b)
		d.sizes = append(d.sizes, len(b.Upper)+1)
	}
	for i := range rapid.IntRange(0, 3).Draw(d.T, "templates") {
		n := keyTemplates + i
		tpl := Template{Type: fmt.Sprintf("type%d", n)}
		for l := range rapid.IntRange(0, 2).Draw(d.T, "labels") {
			tpl.Labels = append(tpl.Labels, fmt.Sprintf("l%d", l))
		}
		for m := range rapid.IntRange(1, 6).Draw(d.T, "metrics") {
			metric := Metric{Name: fmt.Sprintf("m%d_%d", n, m),
				Kind: Kind(rapid.IntRange(0, int(kinds)-1).Draw(d.T, "kind"))}
			metric.Unit = rapid.SampledFrom([]string{"", "seconds", "bytes"}).Draw(d.T, "unit")
			if metric.Kind.IsHistogram() {
				if len(d.sizes) == 0 {
					metric.Kind = Counter
				} else {
					metric.Bounds = rapid.IntRange(0, len(d.sizes)-1).Draw(d.T, "set")
					metric.HasSum = rapid.Bool().Draw(d.T, "has_sum")
				}
			}
			if metric.Kind != GaugeDouble && metric.Kind != String {
				metric.Exponent = rapid.IntRange(-18, 18).Draw(d.T, "exponent")
			}
			tpl.Metrics = append(tpl.Metrics, metric)
		}
		f.Templates = append(f.Templates, tpl)
	}
	for n := range keyTemplates + len(f.Templates) {
		d.entities(n)
	}
}

func (d *drawer) entities(n int) {
	f := d.f
	labels := f.Template(d.key, n).Labels
	var live []int
	keyed := 0
	if d.key != nil {
		for _, g := range d.key.Added {
			if g.Template == n {
				keyed = len(g.Rows)
			}
		}
	}
	gone := Removed{Template: n}
	for e := range keyed {
		if rapid.IntRange(0, 3).Draw(d.T, "gone") == 0 {
			gone.Entities = append(gone.Entities, e)
		} else {
			live = append(live, e)
		}
	}
	if len(gone.Entities) > 0 {
		f.Removed = append(f.Removed, gone)
	}
	add := rapid.IntRange(0, 5).Draw(d.T, "entities")
	if len(labels) == 0 {
		add = min(add, 1-len(live))
	}
	g := Entities{Template: n}
	for i := range add {
		row := []string{}
		for range labels {
			row = append(row, rapid.StringN(0, 10, 40).Draw(d.T, "label"))
		}
		if len(row) > 0 {
			row[0] += fmt.Sprintf("#%d.%d", keyed, i) // unique among the live
		}
		g.Rows = append(g.Rows, row)
		live = append(live, keyed+i)
	}
	if len(g.Rows) > 0 {
		f.Added = append(f.Added, g)
	}
	d.live = append(d.live, live)
}

func (d *drawer) groups() {
	for n, live := range d.live {
		if len(live) == 0 {
			continue
		}
		presence, values := Group{Template: n}, Group{Template: n}
		for m := range d.f.Template(d.key, n).Metrics {
			if rapid.IntRange(0, 4).Draw(d.T, "presence") == 0 {
				presence.Columns = append(presence.Columns, d.selector(m, live))
			}
			if rapid.Bool().Draw(d.T, "values") {
				values.Columns = append(values.Columns, d.column(n, m, live))
			}
		}
		if len(presence.Columns) > 0 {
			d.f.Presence = append(d.f.Presence, presence)
		}
		if len(values.Columns) > 0 {
			d.f.Values = append(d.f.Values, values)
		}
	}
}

func (d *drawer) selector(metric int, live []int) Column {
	c := Column{Metric: metric}
	for _, e := range live {
		if rapid.Bool().Draw(d.T, "selected") {
			c.Entities = append(c.Entities, e)
		}
	}
	if len(c.Entities) == 0 || len(c.Entities) == len(live) {
		c.All, c.Entities = true, nil
	}
	return c
}

func (d *drawer) column(n, metric int, live []int) Column {
	c := d.selector(metric, live)
	count := len(c.Entities)
	if c.All {
		count = len(live)
	}
	m := &d.f.Template(d.key, n).Metrics[metric]
	nonZero := rapid.Int64().Filter(func(v int64) bool { return v != 0 })
	for range count {
		switch m.Kind {
		case Counter, Gauge:
			c.Ints = append(c.Ints, nonZero.Draw(d.T, "int"))
		case GaugeDouble:
			v := rapid.Float64().Draw(d.T, "double")
			if math.IsNaN(v) {
				v = math.Inf(-1)
			}
			c.Doubles = append(c.Doubles, v)
		case String:
			c.Strings = append(c.Strings, rapid.String().Draw(d.T, "text"))
		default:
			var b Buckets
			if m.HasSum {
				b.Sum = nonZero.Draw(d.T, "sum")
			}
			for i := range d.sizes[m.Bounds] {
				if rapid.IntRange(0, 2).Draw(d.T, "bucket") == 0 || (i == 0 && !m.HasSum) {
					b.Index = append(b.Index, int32(i))
					b.Count = append(b.Count, nonZero.Draw(d.T, "count"))
				}
			}
			c.Histograms = append(c.Histograms, b)
		}
	}
	return c
}

// TestAnyFrameComesBack is the property: what is encoded decodes to the same frame and encodes to
// the same bytes.
func TestAnyFrameComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := drawFrame(t, nil)
		comeBack(t, key, nil)
		if key.At < key.Window()+WindowMillis-1 {
			comeBack(t, drawFrame(t, key), key)
		}
	})
}

func comeBack(t *rapid.T, f, key *Frame) {
	f.Compression = Compression(rapid.IntRange(0, 2).Draw(t, "compression"))
	b, err := f.Append(nil, key)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(b, key)
	if err != nil {
		t.Fatalf("%v\n%x", err, b)
	}
	if events, err := Events(b); err != nil || !reflect.DeepEqual(events, f.Events) {
		t.Fatalf("without its key frame: %v\n%+v\nwant\n%+v", err, events, f.Events)
	}
	some := NewWanted(func(name string) bool { return false }, nil)
	if f.IsKey() {
		if _, err := DecodeWanted(nil, b, nil, some); err != nil {
			t.Fatalf("for no metric: %v", err)
		}
		if id, err := ReadIdentity(b); err != nil || !reflect.DeepEqual(id, f.Identity) {
			t.Fatalf("identity: %v\n%+v\nwant\n%+v", err, id, f.Identity)
		}
	}
	extends := f.IsKey() || len(f.Bounds)+len(f.Templates)+len(f.Added) > 0
	if more, err := Extends(b); err != nil || more != extends {
		t.Fatalf("brings more: %v %v, want %v", more, err, extends)
	}
	got.Header.RawLength = f.Header.RawLength
	if !reflect.DeepEqual(normal(got), normal(f)) {
		t.Fatalf("got\n%+v\nwant\n%+v", got, f)
	}
	if f.Compression == None {
		if again, err := got.Append(nil, key); err != nil || !bytes.Equal(again, b) {
			t.Fatalf("encodes to other bytes the second time: %v", err)
		}
	}
}

// normal makes empty and nil slices, and equal doubles of equal bits, compare as equal.
func normal(f *Frame) string {
	return fmt.Sprintf("%+v", *f)
}

// TestJavaFramesEncodeToTheirBytes lets the agent's encoder emit random frames and encodes what
// was decoded from them.
func TestJavaFramesEncodeToTheirBytes(t *testing.T) {
	classes := []string{"../agent/target/classes", "../agent/target/test-classes"}
	for _, c := range classes {
		if _, err := os.Stat(c); err != nil {
			t.Fatalf("the agent is not built: run `make build` first (%v)", err)
		}
	}
	seed := rapid.Int64().Example()
	t.Logf("seed %d", seed)
	for _, packing := range []string{"none", "deflate"} {
		file := filepath.Join(t.TempDir(), "frames")
		cmd := exec.Command("java", "-cp", classes[0]+":"+classes[1],
			"dev.ringwatch.agent.frame.EmitFrames", fmt.Sprint(seed), "2000", file, packing)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", cmd, err, out)
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		frames, deltas, packed := 0, 0, 0
		var key *Frame
		for len(b) > 0 {
			n, err := Length(b)
			if err != nil {
				t.Fatalf("seed %d, frame %d: %v", seed, frames, err)
			}
			f, err := Decode(b[:n], key)
			if err != nil {
				t.Fatalf("seed %d, frame %d: %v\n%x", seed, frames, err, b[:n])
			}
			if f.Compression == None {
				again, err := f.Append(nil, key)
				if err != nil || !bytes.Equal(again, b[:n]) {
					t.Fatalf("seed %d, frame %d (%v):\nJava %x\nGo   %x", seed, frames, err,
						b[:n], again)
				}
			} else {
				packed++
			}
			if f.IsKey() {
				key = f
			} else {
				deltas++
			}
			frames++
			b = b[n:]
		}
		if frames < 2000 || deltas < 500 || (packing != "none") != (packed > 0) {
			t.Fatalf("seed %d: %d frames, %d of them delta, %d packed", seed, frames,
				deltas, packed)
		}
	}
}
