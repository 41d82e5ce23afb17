package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
)

const (
	clusterNodes = 50
	days         = 14
	dayMillis    = 24 * 60 * 60_000
)

// fleet makes the dictionaries of invented nodes from those of a recorded one: its metrics,
// thread pools, verbs, system tables and devices, and each cluster's own keyspaces and tables, of
// which it gets another one each day.
type fleet struct {
	recorded []*window.Dictionary
	tables   int   // of a node on the last day
	today    int64 // the last day
	apart    bool  // every node has tables of its own names: nothing can be shared
}

func newFleet(recording string, series int, today int64) (*fleet, error) {
	frames, err := bench.Recording(recording)
	if err != nil {
		return nil, err
	}
	var first [][]byte
	var h frame.Header
	for _, b := range frames {
		n, _, err := frame.Parse(b)
		if err != nil {
			return nil, err
		}
		if len(first) == 0 || n.Window() == h.Window() {
			first, h = append(first, b), n
		}
	}
	w, _, err := window.Build(window.Node{ID: h.Node}, first)
	if err != nil {
		return nil, err
	}
	f := &fleet{today: today}
	fixed, perTable := 0, 0
	for _, t := range w.Types {
		f.recorded = append(f.recorded, t.Dictionary)
		if t.Dictionary.Type == "table" {
			perTable = len(t.Dictionary.Metrics)
		} else {
			fixed += len(t.Dictionary.Metrics) * len(t.Dictionary.Rows)
		}
	}
	if f.tables = (series - fixed) / perTable; f.tables < days {
		return nil, fmt.Errorf("%d series leave no room for tables: %d are the node's, a "+
			"table has %d", series, fixed, perTable)
	}
	return f, nil
}

func nodeID(n int) uuid.UUID {
	return uuid.NewSHA1(uuid.NameSpaceOID, fmt.Appendf(nil, "node %d", n))
}

func clusterOf(n int) string { return fmt.Sprintf("cluster-%03d", n/clusterNodes) }

// dictionaries returns what a node had on a day, 0 the first.
func (f *fleet) dictionaries(n, day int) []*window.Dictionary {
	var list []*window.Dictionary
	for _, r := range f.recorded {
		d := *r
		d.Node, d.Cluster, d.Datacenter, d.Rack = nodeID(n), clusterOf(n), fmt.Sprintf("dc%d",
			n%clusterNodes/25+1), fmt.Sprintf("rack%d", n%3+1)
		switch d.Type {
		case "table":
			owner := n / clusterNodes
			if f.apart {
				owner = n
			}
			d.Rows = f.tablesOf(r, owner, day)
		case "disk", "network": // one node in ten has other devices
			if n%10 == 0 {
				d.Rows = nil
				for _, row := range r.Rows {
					d.Rows = append(d.Rows, []string{fmt.Sprintf("%s-%d", row[0], n%70)})
				}
			}
		}
		list = append(list, &d)
	}
	return list
}

// tablesOf returns the system's tables and the owner's: ten to a keyspace, names that owners have
// in common as "orders" and names that they do not.
func (f *fleet) tablesOf(r *window.Dictionary, owner, day int) [][]string {
	rows := slices.DeleteFunc(slices.Clone(r.Rows), func(row []string) bool {
		return !strings.HasPrefix(row[0], "system")
	})
	for i := 0; len(rows) < f.tables-days+1+day; i++ {
		table := fmt.Sprintf("events_%d_%d", owner, i)
		if i%2 == 0 {
			table = fmt.Sprintf("orders_%d", i)
		}
		rows = append(rows, []string{fmt.Sprintf("app%d_%d", owner, i/10), table})
	}
	slices.SortFunc(rows, slices.Compare)
	return rows
}

// stored is a node's dictionaries as the store has them.
type stored struct {
	id    uuid.UUID
	ids   []window.DictionaryID // of all days
	blobs map[window.Hash][]byte
}

// node returns a node's dictionaries of all days.
func (f *fleet) node(n int) stored {
	s := stored{id: nodeID(n), blobs: map[window.Hash][]byte{}}
	var still []window.DictionaryID
	add := func(d *window.Dictionary) window.DictionaryID {
		b := d.Append(nil)
		h := window.HashOf(b)
		s.blobs[h] = b
		return window.DictionaryID{Node: s.id, Key: d.Key, Hash: h}
	}
	for _, d := range f.dictionaries(n, days-1) {
		if d.Type != "table" {
			still = append(still, add(d))
		}
	}
	for day := range days {
		at := f.today - int64(days-1-day)*dayMillis
		tables := slices.DeleteFunc(f.dictionaries(n, day), func(d *window.Dictionary) bool {
			return d.Type != "table"
		})
		for _, id := range append(slices.Clone(still), add(tables[0])) {
			id.Day = at
			s.ids = append(s.ids, id)
		}
	}
	return s
}

// decoded reads the blobs, as the store does.
func (s *stored) decoded() (map[window.Hash]*window.Dictionary, error) {
	all := make(map[window.Hash]*window.Dictionary, len(s.blobs))
	for h, b := range s.blobs {
		d, err := window.DecodeDictionary(b)
		if err != nil {
			return nil, err
		}
		all[h] = d
	}
	return all, nil
}
