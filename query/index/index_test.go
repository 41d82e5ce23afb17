package index

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
)

// day0 is when the tests' histories begin.
var day0 = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC).UnixMilli()

// fact is one dictionary on one day: what the direct filter goes by.
type fact struct {
	account string
	day     int64
	d       *window.Dictionary
	id      window.DictionaryID
}

func factOf(account string, day int64, d *window.Dictionary) fact {
	return fact{account, day, d, window.DictionaryID{Node: d.Node, Day: day, Key: d.Key,
		Hash: window.HashOf(blobs.AppendDictionary(nil, d))}}
}

// world makes dictionaries of few words, so that everything is alike by chance.
type world struct {
	pick  func(int) int
	facts []fact
	nodes []uuid.UUID
}

func (w *world) word(of string, n int) string {
	if i := w.pick(n + 1); i > 0 {
		return fmt.Sprint(of, i)
	}
	return "" // as absent
}

func (w *world) dictionary(node uuid.UUID) *window.Dictionary {
	d := &window.Dictionary{Node: node, Cluster: "c" + fmt.Sprint(w.pick(3)),
		Datacenter: w.word("dc", 2), Rack: w.word("r", 2)}
	d.Type = []string{"node", "table", "pool"}[w.pick(3)]
	d.Key = d.Type
	d.Labels = slices.Clone([][]string{{}, {"keyspace"}, {"table", "keyspace"}, {"pool"},
		{"pool", "table"}}[w.pick(5)])
	rows := map[string][]string{}
	for range 1 + w.pick(6) {
		row := make([]string, len(d.Labels))
		for i, l := range d.Labels {
			row[i] = w.word(l[:1], 3)
		}
		rows[window.RowKey(row)] = row
	}
	d.Rows = slices.SortedFunc(maps.Values(rows), func(a, b []string) int {
		return slices.Compare(a, b)
	})
	for range 1 + w.pick(4) { // a name may be there twice, with another definition
		d.Metrics = append(d.Metrics, window.Metric{Type: d.Type, Name: fmt.Sprint("m", w.pick(6)),
			Kind: frame.Kind(w.pick(3)), Unit: w.word("u", 1)})
	}
	return d
}

// recorded makes a dictionary of what rules recorded: labels may have any name, and no series has
// two recorders.
func (w *world) recorded(i int) *window.Dictionary {
	cluster := []string{"c0", "c1", frame.EveryCluster}[i]
	d := &window.Dictionary{Node: frame.RecorderID("acme", cluster, "g"), Cluster: cluster,
		Type: "recorded"}
	d.Key = d.Type
	d.Labels = slices.Clone([][]string{{"cluster"}, {"node", "cluster"},
		{"table", "cluster", "rack"}, {"datacenter"}, {"table"}}[w.pick(5)])
	rows := map[string][]string{}
	for range 1 + w.pick(6) {
		row := make([]string, len(d.Labels))
		for i, l := range d.Labels {
			switch l {
			case "cluster":
				row[i] = "c" + fmt.Sprint(w.pick(3))
			case "node":
				row[i] = w.nodes[w.pick(len(w.nodes))].String()
			default:
				row[i] = w.word(map[string]string{"table": "t", "rack": "r", "datacenter": "dc"}[l],
					3)
			}
		}
		rows[window.RowKey(row)] = row
	}
	d.Rows = slices.SortedFunc(maps.Values(rows), func(a, b []string) int {
		return slices.Compare(a, b)
	})
	d.Metrics = []window.Metric{{Type: d.Type, Name: fmt.Sprintf("recorder%d:m%d", i, w.pick(2)),
		Kind: frame.GaugeDouble}}
	return d
}

// ownerOf names the node or recorder that has a series.
func ownerOf(set labels.Labels) string {
	if of, _, is := strings.Cut(set.Get(labels.MetricName), ":"); is {
		return of
	}
	return set.Get("node")
}

func newWorld(pick func(int) int) *world {
	w := &world{pick: pick}
	for i := range 5 {
		w.nodes = append(w.nodes, uuid.UUID{byte(i + 1), 0xab, 15: byte(i)})
	}
	for range 40 {
		d := w.dictionary(w.nodes[pick(len(w.nodes))])
		if pick(4) == 0 {
			d = w.recorded(pick(3))
		}
		account := []string{"acme", "other"}[pick(2)]
		for day := range int64(10) {
			if pick(3) == 0 {
				w.facts = append(w.facts, factOf(account, day0+day*dayMillis, d))
			}
		}
	}
	return w
}

// labelSets unfolds a dictionary.
func labelSets(d *window.Dictionary) map[string]labels.Labels {
	sets := map[string]labels.Labels{}
	for _, m := range d.Metrics {
		for _, row := range d.Rows {
			all := map[string]string{labels.MetricName: m.Name}
			if !frame.IsRecorder(d.Node) {
				all["cluster"], all["datacenter"], all["rack"], all["node"] = d.Cluster,
					d.Datacenter, d.Rack, d.Node.String()
			}
			for i, l := range d.Labels {
				all[l] = row[i]
			}
			maps.DeleteFunc(all, func(_, v string) bool { return v == "" })
			set := labels.FromMap(all)
			sets[set.String()] = set
		}
	}
	return sets
}

// direct filters the unfolded facts.
func (w *world) direct(account string, q Query, from int64) map[string]labels.Labels {
	found := map[string]labels.Labels{}
	for _, f := range w.facts {
		if f.account != account || f.day+dayMillis <= q.From-nextDayAfter.Milliseconds() ||
			f.day > q.To ||
			f.day < from || q.Owns != nil && !q.Owns(f.d.Cluster) {
			continue
		}
		for k, set := range labelSets(f.d) {
			if slices.ContainsFunc(q.Selectors, func(ms []*labels.Matcher) bool {
				return !slices.ContainsFunc(ms, func(m *labels.Matcher) bool {
					return !m.Matches(set.Get(m.Name))
				})
			}) {
				found[k] = set
			}
		}
	}
	return found
}

func (w *world) query() Query {
	q := Query{From: day0 + int64(w.pick(11*24))*3600_000,
		Selectors: make([][]*labels.Matcher, 1+w.pick(3))}
	q.To = q.From + int64(w.pick(3*24))*3600_000
	if w.pick(3) == 0 {
		q.Owns = func(cluster string) bool { return cluster != "c1" }
	}
	names := []string{labels.MetricName, "cluster", "datacenter", "rack", "node", "keyspace",
		"table", "pool", "nosuch"}
	for i := range q.Selectors {
		for range w.pick(4) {
			name := names[w.pick(len(names))]
			var value string
			switch name {
			case labels.MetricName:
				value = []string{fmt.Sprint("m", w.pick(7)),
					fmt.Sprintf("recorder%d:m%d", w.pick(3), w.pick(2))}[w.pick(2)]
			case "cluster":
				value = fmt.Sprint("c", w.pick(4))
			case "node":
				value = w.nodes[w.pick(len(w.nodes))].String()
			default:
				value = w.word(name[:1], 4)
			}
			kind := labels.MatchType(w.pick(4))
			if kind == labels.MatchRegexp || kind == labels.MatchNotRegexp {
				value = []string{value, value + "|" + value + "1", ".+", ".*", "", "[a-m]1|.2",
					value + ".*", "(?i)" + strings.ToUpper(value), ".+:.+"}[w.pick(9)]
			}
			q.Selectors[i] = append(q.Selectors[i], labels.MustNewMatcher(kind, name, value))
		}
	}
	return q
}

func (w *world) add(x *Index, f fact) {
	x.Add(f.account, f.id.Node, []window.DictionaryID{f.id},
		map[window.Hash]*window.Dictionary{f.id.Hash: f.d})
}

var everything = [][]*labels.Matcher{nil}

// compare holds an answer against the direct filter's.
func compare(t *testing.T, x *Index, account string, q Query, want map[string]labels.Labels) {
	t.Helper()
	s, err := x.Select(account, q)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for b := range s.ByNode() {
		n := 0
		for set := range b.Series() {
			n++
			if got[set.String()] {
				t.Fatalf("%v: %s is there twice", q, set)
			}
			got[set.String()] = true
			if _, is := want[set.String()]; !is {
				t.Fatalf("%v: %s does not match", q, set)
			}
		}
		if n != b.Len() || n == 0 {
			t.Fatalf("a block of %d has %d series", b.Len(), n)
		}
	}
	for k := range want {
		if !got[k] {
			t.Fatalf("%v: %s is missing among %d", q, k, len(got))
		}
	}
	values, nodes := map[string]map[string]bool{}, map[string]bool{}
	for _, set := range want {
		nodes[ownerOf(set)] = true
		set.Range(func(l labels.Label) {
			if values[l.Name] == nil {
				values[l.Name] = map[string]bool{}
			}
			values[l.Name][l.Value] = true
		})
	}
	if series, n := s.Count(); series != len(want) || n != len(nodes) || len(s.Nodes()) != n {
		t.Fatalf("%v: counted %d of %d nodes (%v), want %d of %d", q, series, n, s.Nodes(),
			len(want), len(nodes))
	}
	compareCardinality(t, s, want)
	if names := s.Names(); !slices.Equal(names, slices.Sorted(maps.Keys(values))) {
		t.Fatalf("%v: names %v, want %v", q, names, slices.Sorted(maps.Keys(values)))
	}
	for _, name := range []string{labels.MetricName, "cluster", "datacenter", "rack", "node",
		"keyspace", "table", "pool", "nosuch"} {
		if got, want := s.Values(name), slices.Sorted(maps.Keys(values[name])); !slices.Equal(got,
			want) {
			t.Fatalf("%v: values of %s %v, want %v", q, name, got, want)
		}
	}
}

// TestSelectEqualsDirectFilter: whatever the dictionaries, in whatever order and how often they
// came, the Index answers what a filter of all label sets does.
func TestSelectEqualsDirectFilter(t *testing.T) {
	rounds := 60
	if os.Getenv("RINGWATCH_TEST_FULL") != "" {
		rounds = 3000
	}
	found := 0
	for range rounds {
		seed := rand.Uint64()
		r := rand.New(rand.NewPCG(seed, 1))
		ok := t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			w := newWorld(r.IntN)
			x := New(0)
			x.setPending("acme", 0)
			x.setPending("other", 0)
			facts := slices.Clone(w.facts)
			r.Shuffle(len(facts), func(i, j int) { facts[i], facts[j] = facts[j], facts[i] })
			forgotten := int64(0)
			for len(facts) > 0 {
				n := 1 + r.IntN(len(facts))
				for _, f := range facts[:n] {
					w.add(x, f)
					if r.IntN(4) == 0 {
						w.add(x, w.facts[r.IntN(len(w.facts))]) // early, or again
					}
				}
				if facts = facts[n:]; len(facts) > 0 && r.IntN(2) == 0 {
					x.Forget(day0 - dayMillis) // nothing, but the tables may be copied
				}
			}
			for round := range 2 {
				for range 30 {
					q := w.query()
					for _, account := range []string{"acme", "other"} {
						want := w.direct(account, q, forgotten)
						found += len(want)
						compare(t, x, account, q, want)
					}
				}
				if round == 0 {
					forgotten = day0 + int64(r.IntN(10))*dayMillis
					x.Forget(forgotten + r.Int64N(dayMillis))
				}
			}
		})
		if !ok {
			break
		}
	}
	if found < rounds*100 {
		t.Errorf("only %d series were found: the queries are too narrow to show anything", found)
	}
}
