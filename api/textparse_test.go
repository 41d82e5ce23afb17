package api_test

import (
	"errors"
	"io"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
)

func TestTextparse(t *testing.T) {
	f := newFixture(t, inMemory, 1, 4, 2*time.Minute)
	n, at := f.nodes[0], f.newest(0)
	for _, accept := range []string{"",
		"application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"} {
		r := f.ask(acmeKey, "/v1/nodes/"+n.ID.String()+"/prometheus", nil, "Accept", accept)
		p, err := textparse.New(r.body, r.header.Get("Content-Type"), labels.NewSymbolTable(),
			textparse.ParserOptions{})
		if err != nil {
			t.Fatal(err)
		}
		types, units, count := 0, 0, 0
		for {
			e, err := p.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			switch e {
			case textparse.EntryType:
				types++
				name, ty := p.Type()
				t.Log(string(name), ty)
			case textparse.EntryUnit:
				units++
			case textparse.EntrySeries:
				count++
				_, ts, _ := p.Series()
				if ts == nil || *ts != at {
					t.Fatal(ts, at)
				}
			}
		}
		want := exposed(n, f.history[0][at], accept != "")
		t.Logf("%T types %d units %d series %d want %d", p, types, units, count, len(want))
		if count != len(want) {
			t.Error("count")
		}
	}
}

// TestTextBesideLabelsOfItsName has Prometheus's parser read a text of an entity whose own labels
// have the names that the text's label would have.
func TestTextBesideLabelsOfItsName(t *testing.T) {
	f := newFixture(t, inMemory, 0, 0, 0)
	n := frametest.New("fleet-0", 50, 1)
	n.Templates = append(n.Templates,
		frame.Template{Type: "named", Labels: []string{"value", "text", "exported_value"},
			Metrics: []frame.Metric{{Name: "cassandra_named_info", Kind: frame.String}}})
	n.Entities = append(n.Entities,
		[]frametest.Entity{{Labels: []string{"a", "b", "c"}, Cells: []frametest.Cell{{Text: "d"}}}})
	f.store.Put(f.account("acme"), n.Frame(f.now.Load()))
	for _, path := range []string{"/v1/nodes/" + n.ID.String(), "/v1/clusters/" + n.Cluster} {
		for _, accept := range []string{"",
			"application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"} {
			r := f.ask(acmeKey, path+"/prometheus", nil, "Accept", accept)
			p, err := textparse.New(r.body, r.header.Get("Content-Type"), labels.NewSymbolTable(),
				textparse.ParserOptions{})
			if err != nil {
				t.Fatalf("%v %s", err, r.body)
			}
			found := 0
			for {
				e, err := p.Next()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				if e != textparse.EntrySeries {
					continue
				}
				var l labels.Labels
				p.Labels(&l)
				if name, twice := l.HasDuplicateLabelNames(); twice {
					t.Errorf("%s has the label %s twice", l, name)
				}
				if l.Get(labels.MetricName) == "cassandra_named_info" {
					found++
					if l.Get("value") != "a" || l.Get("text") != "b" ||
						l.Get("exported_value") != "c" || l.Get("exported_exported_value") != "d" {
						t.Error(l)
					}
				}
			}
			if found != 1 {
				t.Errorf("%s: %d series\n%s", path, found, r.body)
			}
		}
	}
}
