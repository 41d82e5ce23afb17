package index

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
)

// counted is what Cardinality says, counted series by series.
func counted(sets map[string]labels.Labels, limit int) (c Cardinality) {
	metrics, values, bytes, pairs := map[string]uint64{}, map[string]uint64{}, map[string]uint64{},
		map[labels.Label]uint64{}
	for _, set := range sets {
		c.Series++
		metrics[set.Get(labels.MetricName)]++
		set.Range(func(l labels.Label) { pairs[l]++ })
	}
	for l := range pairs {
		c.Pairs++
		values[l.Name]++
		bytes[l.Name] += uint64(len(l.Value))
	}
	list := func(of map[string]uint64) (list []Count) {
		for name, n := range of {
			list = append(list, Count{name, n})
		}
		slices.SortFunc(list, func(a, b Count) int {
			return cmp.Or(-cmp.Compare(a.N, b.N), cmp.Compare(a.Name, b.Name))
		})
		return list[:min(limit, len(list))]
	}
	ofPairs := map[string]uint64{}
	for l, n := range pairs {
		ofPairs[l.Name+"="+l.Value] = n
	}
	c.Metrics, c.Values, c.TextBytes, c.ByPair = list(metrics), list(values), list(bytes),
		list(ofPairs)
	return c
}

// compareCardinality holds a selection's counts against those of its series.
func compareCardinality(t *testing.T, s *Selection, want map[string]labels.Labels) {
	t.Helper()
	for _, limit := range []int{1, 7, 10_000} {
		got := s.Cardinality(limit)
		got.From = 0
		if a, b := fmt.Sprint(got), fmt.Sprint(counted(want, limit)); a != b {
			t.Fatalf("limit %d: counted\n%s, want\n%s", limit, a, b)
		}
	}
}

// TestCardinalityOfAFleet: 10,000 nodes of 10,000 series, each alike in what it has and different
// in since when, are counted from what they share.
func TestCardinalityOfAFleet(t *testing.T) {
	const nodes, tables, metrics = 10_000, 1000, 10
	d := window.Dictionary{Cluster: "c", Datacenter: "dc", Rack: "r", Type: "table", Key: "table",
		Labels: []string{"table"}}
	for i := range tables {
		d.Rows = append(d.Rows, []string{fmt.Sprintf("t%04d", i)})
	}
	for i := range metrics {
		d.Metrics = append(d.Metrics, window.Metric{Type: "table", Name: fmt.Sprint("m", i)})
	}
	x := New(0)
	x.setPending("acme", 0)
	now := day0 + 400*dayMillis
	for i := range nodes {
		n := d
		n.Node = uuid.UUID{byte(i >> 8), byte(i)}
		var ids []window.DictionaryID
		hash := window.HashOf(blobs.AppendDictionary(nil, &n))
		for day := range 2 + int64(i%300) { // so there are 300 histories
			ids = append(ids, window.DictionaryID{Node: n.Node, Day: now - day*dayMillis,
				Key: n.Key, Hash: hash})
		}
		x.Add("acme", n.Node, ids, map[window.Hash]*window.Dictionary{hash: &n})
	}
	began := time.Now()
	s, err := x.Select("acme", Query{From: now, To: now})
	if err != nil {
		t.Fatal(err)
	}
	c := s.Cardinality(2)
	t.Logf("counted %d series in %v, with at most %d bytes", c.Series, time.Since(began),
		s.CardinalityBytes())
	const all = nodes * tables * metrics
	want := Cardinality{From: c.From, Series: all, Pairs: nodes + tables + metrics + 3,
		Metrics:   []Count{{"m0", nodes * tables}, {"m1", nodes * tables}},
		Values:    []Count{{"node", nodes}, {"table", tables}},
		TextBytes: []Count{{"node", 36 * nodes}, {"table", 5 * tables}},
		ByPair:    []Count{{"cluster=c", all}, {"datacenter=dc", all}},
	}
	if fmt.Sprint(c) != fmt.Sprint(want) {
		t.Errorf("counted\n%v, want\n%v", c, want)
	}
	if n := s.CardinalityBytes(); n > 1<<20 {
		t.Errorf("counting takes up to %d bytes", n)
	}
}
