package api_test

import (
	"errors"
	"io"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"

	"github.com/ringwatch/ringwatch/engines"
)

func TestTextparse(t *testing.T) {
	f := newFixture(t, engines.SharedRedis(t).Addr(), 1, 4, 2*time.Minute)
	n, at := f.nodes[0], f.newest(0)
	for _, accept := range []string{"", "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"} {
		r := f.ask(acmeKey, "/v1/nodes/"+n.ID.String()+"/prometheus", nil, "Accept", accept)
		p, err := textparse.New(r.body, r.header.Get("Content-Type"), labels.NewSymbolTable(), textparse.ParserOptions{})
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
