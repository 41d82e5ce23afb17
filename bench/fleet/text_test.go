package fleet

import (
	"errors"
	"io"
	"math"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/building"
	"github.com/ringwatch/ringwatch/window/selecting"
)

// parsed reads an exposition, by labels.
func parsed(t *testing.T, text []byte) map[string]float64 {
	t.Helper()
	p, err := textparse.New(text, "text/plain; version=0.0.4", labels.NewSymbolTable(),
		textparse.ParserOptions{})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]float64{}
	for {
		entry, err := p.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		if entry != textparse.EntrySeries {
			continue
		}
		var l labels.Labels
		p.Labels(&l)
		_, at, v := p.Series()
		if _, twice := found[l.String()]; twice || at != nil {
			t.Fatalf("%s is there twice, or has a time", l)
		}
		found[l.String()] = v
	}
}

// TestText: the text says what the node's frame says.
func TestText(t *testing.T) {
	for _, name := range []string{"idle", "busy"} {
		s, err := Read("../recordings/"+name+".rwf", name, 5, 20_000)
		if err != nil {
			t.Fatal(err)
		}
		n := NewNode(s, 1, 0)
		for range 30 {
			n.Step()
		}
		b, err := n.Frame(frame.WindowOf(1_800_000_000_000))
		if err != nil {
			t.Fatal(err)
		}
		w, _, err := building.Window(window.Node{Account: "a"}, [][]byte{b})
		if err != nil {
			t.Fatal(err)
		}
		found := parsed(t, n.Text(nil))
		values := 0
		for _, x := range selecting.Latest(w) {
			l := labels.NewBuilder(x.Labels).Del("cluster", "datacenter", "rack", "node")
			var want float64
			switch {
			case x.Metric.Kind == frame.String:
				l.Set("value", x.Strings[0])
				want = 1
			case x.Metric.Kind.IsHistogram():
				l.Set(labels.MetricName, x.Metric.Name+"_count")
				want = float64(x.Histograms[0].Count())
			case x.Ints != nil:
				want = frame.Scale(x.Ints[0], x.Metric.Exponent)
			default:
				want = x.Doubles[0]
			}
			got, there := found[l.Labels().String()]
			if !there || got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
				t.Fatalf("%s: %s is %v (%t), want %v", name, l.Labels(), got, there, want)
			}
			values++
			if x.Metric.Kind.IsHistogram() {
				l.Set(labels.MetricName, x.Metric.Name+"_bucket").Set("le", "+Inf")
				if found[l.Labels().String()] != want {
					t.Fatalf("%s: %s is not the count %v", name, l.Labels(), want)
				}
			}
		}
		if values < 1000 || len(found) <= values {
			t.Errorf("%s: %d series, %d lines", name, values, len(found))
		}
	}
}
