// Package index is an index of series in memory, like the head postings of a TSDB: which node had
// which entities with which metrics on which day. It finds those that match selectors.
//
// A TSDB has one entry for each series. Here what nodes have in common is kept once (interner), so
// that 10,000 nodes of 10,000 series take some ten bytes for each hundred series, and a query
// matches each set of entities once, not once for each node. Start with Index; a Loader fills it
// from the store.
//
//	node ──▶ history ──▶ period: content, place, first and last day
//	                       content: entity type, list of metrics × set of entities
//	                       place:   cluster, datacenter, rack
//	Index.Select ──▶ Selection ──▶ NodeSeries: some metrics × some entities of one node
//
// What it promises: exactly the series of the dictionaries (window.Dictionary) it was given match,
// as Prometheus's matchers say, each label set once. Accounts share nothing. Queries never wait
// for each other, and hardly for the Loader.
//
// What bites: days are the unit of time, so an answer for an hour also has what came and went on
// that day. A dictionary is known when its window was closed, so a new table is found up to six
// minutes after it was created.
//
// It may import frame and window.
package index

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
)

// Index is the series of all accounts. Its methods may be called from many goroutines.
type Index struct {
	maxBytes int // of one account

	mu       sync.RWMutex
	accounts map[string]*account
}

// account is the series of one account. Nothing of it is another's, not even a text.
type account struct {
	mu       sync.Mutex
	interned *interner
	nodes    map[uuid.UUID]*node
	sorted   []nodeRef // by place and id; nil: to be made anew
	bytes    int       // of nodes

	changes uint64 // what changes stood at when a node was last replaced

	listed  bool // its nodes are known
	pending int  // of these, not loaded
	// dictionaries that could not be read, or had no room, with their newest day
	missing map[missingKey]uint16
}

type missingKey struct {
	node uuid.UUID
	hash window.Hash
}

// changes counts what nodes were told, of all accounts: a number never comes again, even if an
// account is dropped and read anew.
var changes atomic.Uint64

// maxMissing bounds what is remembered of dictionaries that are not there.
const maxMissing = 100_000

// New returns an Index that gives each account so many bytes (an estimate; 0: no bound).
// Dictionaries beyond that are left out, and answers say so.
func New(maxBytesPerAccount int) *Index {
	return &Index{maxBytes: maxBytesPerAccount, accounts: map[string]*account{}}
}

// account returns an account, made if it is not there and make is set.
func (x *Index) account(name string, create bool) *account {
	x.mu.RLock()
	a := x.accounts[name]
	x.mu.RUnlock()
	if a != nil || !create {
		return a
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if a = x.accounts[name]; a == nil {
		a = &account{interned: newInterner(), nodes: map[uuid.UUID]*node{},
			missing: map[missingKey]uint16{}}
		x.accounts[name] = a
	}
	return a
}

// recorders is where an account's recorders are: what rules of it record, whose labels are all of
// the entities'.
func recorders(name string) string { return name + "\x00recorders" }

// accountOf returns where a node of an account is.
func (x *Index) accountOf(name string, id uuid.UUID) *account {
	if frame.IsRecorder(id) {
		name = recorders(name)
	}
	return x.account(name, true)
}

// drop forgets an account.
func (x *Index) drop(name string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.accounts, name)
	delete(x.accounts, recorders(name))
}

// setPending says that an account's nodes are known and how many of them wait to be loaded.
func (x *Index) setPending(name string, pending int) {
	a := x.account(name, true)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.listed, a.pending = true, pending
}

// has reports whether nothing of what the IDs say is new.
func (x *Index) has(name string, id uuid.UUID, ids []window.DictionaryID) bool {
	a := x.accountOf(name, id)
	a.mu.Lock()
	n, v := a.nodes[id], a.interned.tables
	a.mu.Unlock()
	return !slices.ContainsFunc(ids, func(d window.DictionaryID) bool {
		return !v.has(n, d.Hash, dayOf(d.Day))
	})
}

// all returns the accounts there are.
func (x *Index) all() []*account {
	x.mu.RLock()
	defer x.mu.RUnlock()
	list := make([]*account, 0, len(x.accounts))
	for _, a := range x.accounts {
		list = append(list, a)
	}
	return list
}

// Unknown returns of each dictionary that the Index does not have the newest of the given IDs. All
// are of one node.
func (x *Index) Unknown(accountName string, node uuid.UUID,
	ids []window.DictionaryID) []window.DictionaryID {
	a := x.accountOf(accountName, node)
	a.mu.Lock()
	n := a.nodes[node] // immutable
	a.mu.Unlock()
	newest := map[window.Hash]window.DictionaryID{}
	var order []window.Hash
	for _, id := range ids {
		if n.knows(id.Hash) {
			continue
		}
		known, found := newest[id.Hash]
		if !found {
			order = append(order, id.Hash)
		}
		if !found || known.Day < id.Day {
			newest[id.Hash] = id
		}
	}
	list := make([]window.DictionaryID, 0, len(order))
	for _, h := range order {
		list = append(list, newest[h])
	}
	return list
}

// Add says that a node had these dictionaries on these days. Those that the Index does not have
// must be in dictionaries, else they are left out. It may be repeated. It returns how many IDs
// were left out, because they are nowhere or the account has its bytes.
func (x *Index) Add(accountName string, id uuid.UUID, ids []window.DictionaryID,
	dictionaries map[window.Hash]*window.Dictionary) (left int) {
	days := map[window.Hash][]uint16{}
	var order []window.Hash
	for _, d := range ids {
		if days[d.Hash] == nil {
			order = append(order, d.Hash)
		}
		days[d.Hash] = append(days[d.Hash], dayOf(d.Day))
	}
	a := x.accountOf(accountName, id)
	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.nodes[id]
	entries := a.interned.periods(before)
	changed := false
	for _, h := range order {
		of := dictionaryPeriod{hash: h}
		if i := slices.IndexFunc(entries, func(e dictionaryPeriod) bool {
			return e.hash == h
		}); i >= 0 {
			of = entries[i]
			if a.interned.has(before, h, days[h]...) {
				continue
			}
		} else if d := dictionaries[h]; d == nil ||
			x.maxBytes > 0 && a.interned.bytes+a.bytes > x.maxBytes {
			left += len(days[h])
			a.addMissing(missingKey{id, h}, slices.Max(days[h]))
			continue
		} else {
			of.content = a.interned.contentFrom(d)
			of.place = a.interned.place(place{d.Cluster, d.Datacenter, d.Rack})
			delete(a.missing, missingKey{id, h})
		}
		entries = addDays(entries, of, days[h])
		changed = true
	}
	if changed {
		a.replace(id, a.interned.node(id, entries))
	}
	return left
}

func (a *account) addMissing(k missingKey, day uint16) {
	if before, found := a.missing[k]; found || len(a.missing) < maxMissing {
		a.missing[k] = max(before, day)
	}
}

// replace puts a node in the place of the one with its id; nil: removes it.
func (a *account) replace(id uuid.UUID, n *node) {
	if before := a.nodes[id]; before != nil {
		a.bytes -= before.bytes()
	}
	if n == nil {
		delete(a.nodes, id)
	} else {
		a.nodes[id] = n
		a.bytes += n.bytes()
	}
	a.sorted = nil
	a.changes = changes.Add(1)
}

// Changes returns a number that is another one after a node of an account was told to have other
// dictionaries, or on other days, than before.
func (x *Index) Changes(accountName string) (n uint64) {
	for _, name := range []string{accountName, recorders(accountName)} {
		if a := x.account(name, false); a != nil {
			a.mu.Lock()
			n = max(n, a.changes)
			a.mu.Unlock()
		}
	}
	return n
}

// Forget drops what was before a day (any of its milliseconds since the Unix epoch), and nodes of
// which nothing is left. What no node refers to any more is let go when it is a quarter of all;
// that costs a moment and, for as long, the memory twice.
func (x *Index) Forget(before int64) {
	day := dayOf(before)
	for _, a := range x.all() {
		a.mu.Lock()
		for id, n := range a.nodes {
			if a.interned.histories[n.history].first >= day {
				continue
			}
			var left *node
			if entries := since(a.interned.periods(n), day); len(entries) > 0 {
				left = a.interned.node(id, entries)
			}
			a.replace(id, left)
		}
		maps.DeleteFunc(a.missing, func(_ missingKey, newest uint16) bool { return newest < day })
		a.compact()
		a.mu.Unlock()
	}
}

// compact copies what nodes still refer to into a new interner, if a quarter of the contents or
// most of the histories are unused. Selections under way keep the old one.
func (a *account) compact() {
	old := &a.interned.tables
	profiles, shapes := make([]bool, len(old.histories)), make([]bool, len(old.contents))
	usedProfiles, usedShapes := 0, 0
	for _, n := range a.nodes {
		if profiles[n.history] {
			continue
		}
		profiles[n.history] = true
		usedProfiles++
		for _, s := range old.histories[n.history].periods {
			if !shapes[s.content] {
				shapes[s.content] = true
				usedShapes++
			}
		}
	}
	if 4*usedShapes > 3*len(shapes) && 4*usedProfiles > len(profiles) || len(profiles) == 0 {
		return
	}
	fresh := newInterner()
	numbers := make([]uint32, len(shapes))
	for s, is := range shapes {
		if is {
			numbers[s] = fresh.copyContent(old, uint32(s))
		}
	}
	for id, n := range a.nodes {
		entries := old.periods(n)
		for i := range entries {
			entries[i].content = numbers[entries[i].content]
			entries[i].place = fresh.place(old.places[entries[i].place])
		}
		a.replace(id, fresh.node(id, entries))
	}
	a.interned = fresh
}

// ordered returns the nodes in order. The caller holds the lock; the slice is never changed.
func (a *account) ordered() []nodeRef {
	if a.sorted == nil {
		a.sorted = make([]nodeRef, 0, len(a.nodes))
		for _, n := range a.nodes {
			a.sorted = append(a.sorted, n.nodeRef)
		}
		slices.SortFunc(a.sorted, a.interned.compare)
	}
	return a.sorted
}

// compare orders nodes by where they are, or were last, and by id.
func (v *tables) compare(x, y nodeRef) int {
	if p, q := v.histories[x.history].periods[0].place,
		v.histories[y.history].periods[0].place; p != q {
		return v.places[p].compare(v.places[q])
	}
	return slices.Compare(x.id[:], y.id[:])
}

func (p place) compare(o place) int {
	for _, c := range [3][2]string{{p.cluster, o.cluster}, {p.datacenter, o.datacenter},
		{p.rack, o.rack}} {
		if d := strings.Compare(c[0], c[1]); d != 0 {
			return d
		}
	}
	return 0
}

// Stats is how large an Index is.
type Stats struct {
	Nodes int
	// of each node on its newest day; of a type that changed on that day, those of its largest
	// dictionary
	Series  int
	Bytes   int // an estimate of the memory it takes
	Pending int // nodes that are known and not loaded
	Missing int // dictionaries that cannot be read or have no room
}

// Stats returns how large the Index is. It looks at every node.
func (x *Index) Stats() Stats {
	var s Stats
	for _, a := range x.all() {
		a.mu.Lock()
		view, nodes := a.interned.tables, a.ordered()
		s.Bytes += a.interned.bytes + a.bytes
		s.Pending += a.pending
		s.Missing += len(a.missing)
		a.mu.Unlock()
		s.Nodes += len(nodes)
		counts := map[uint32]int{}
		for _, n := range nodes {
			count, known := counts[n.history]
			if !known {
				count = view.newest(&view.histories[n.history])
				counts[n.history] = count
			}
			s.Series += count
		}
	}
	return s
}

// newest counts the series of a history's last day.
func (v *tables) newest(p *history) int {
	byType := map[uint32]int{}
	for _, s := range p.periods {
		if sh := v.contents[s.content]; s.last == p.last {
			byType[sh.typ] = max(byType[sh.typ], len(v.lists[sh.list])*len(v.sets[sh.set].ids))
		}
	}
	total := 0
	for _, n := range byType {
		total += n
	}
	return total
}
