// Package roster knows which nodes each cluster has had, since when, and how nodes left.
//
// The role rules decides that a node has left, and a person may say so (ringwatch node forget).
// Both write a Record. Every process of rules and api keeps all of them in a Roster, so alerts,
// PromQL, the API and the console say the same. Start with Roster.
//
// What it promises: of two records of one node in one cluster the newer counts, in whatever order
// they come. An account's records say nothing of another account's nodes.
//
// What bites: a record is of a node in a cluster. A node that changed its cluster's name has two.
//
// It imports none of our packages.
package roster

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/google/uuid"
)

// Why a node left.
const (
	Decommissioned = "decommissioned" // it said so
	Replaced       = "replaced"       // a new node of its cluster has its address, or says so
	Moved          = "moved"          // it is in another cluster of the account now
	Forgotten      = "forgotten"      // a person said so
	Removed        = "removed"        // it was read from outside, and was taken out of the targets
)

// ModeLeft is the operation mode in which a node says that it has left. One that is DRAINED or
// stopped has not.
const ModeLeft = "DECOMMISSIONED"

// End says how a node left. Times are in ms since the Unix epoch.
type End struct {
	Why  string `json:"why"`
	At   int64  `json:"at"`
	By   string `json:"by,omitempty"`   // the new node's id, the new cluster, or the key's name
	Last int64  `json:"last,omitempty"` // when it was last heard of in its cluster; 0: not known
}

// Said reports whether the node's own frames said that it leaves.
func (e *End) Said() bool { return e.Why == Decommissioned || e.Why == Removed }

// Record is what is known of a node in a cluster.
type Record struct {
	Account string    `json:"-"`
	Cluster string    `json:"-"`
	Node    uuid.UUID `json:"-"`

	// Stamp orders the records of one node: the newer one counts.
	Stamp int64 `json:"stamp"`
	// Since is when the node was first heard of, or heard of again after an End, in ms since the
	// Unix epoch. 0: before anybody took note.
	Since int64 `json:"since,omitempty"`
	// Away is when it had left before it was heard of again at Since. 0: it had not.
	Away int64 `json:"away,omitempty"`
	End  *End  `json:"end,omitempty"` // nil: it has not left
	// What the node said of itself when it left.
	Datacenter string `json:"datacenter,omitempty"`
	Rack       string `json:"rack,omitempty"`
	Address    string `json:"address,omitempty"`
	// Nothing says that there is nothing to be known any more.
	Nothing bool `json:"-"`
}

// Pack returns a record's bytes; nil if there is nothing to be known.
func (r *Record) Pack() ([]byte, error) {
	if r.Nothing {
		return nil, nil
	}
	return json.Marshal(r)
}

// Unpack is the reverse of Pack, for the node whose record it is.
func Unpack(account, cluster, node string, b []byte) (Record, error) {
	r := Record{Nothing: b == nil}
	if b != nil {
		if err := json.Unmarshal(b, &r); err != nil {
			return r, fmt.Errorf("roster: the record of node %s cannot be read: %w", node, err)
		}
	}
	id, err := uuid.Parse(node)
	if err != nil {
		return r, fmt.Errorf("roster: %q is no node's id: %w", node, err)
	}
	r.Account, r.Cluster, r.Node = account, cluster, id
	return r, nil
}

// MaxRecords bounds what is kept of an account, some 300 bytes each. Nodes beyond it are up or down
// and never leave.
const MaxRecords = 50_000

// Roster is all records that a process knows. The zero Roster knows none. Its methods may be called
// from many goroutines.
type Roster struct {
	mu      sync.RWMutex
	of      map[string]*records // by account
	changes uint64
}

type records struct {
	nodes map[uuid.UUID][]Record // one for each cluster
	count int
}

// Take takes a record over, unless a newer one is known.
func (r *Roster) Take(rec Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.take(rec)
}

func (r *Roster) take(rec Record) {
	a := r.of[rec.Account]
	if a == nil {
		if rec.Nothing {
			return
		}
		if r.of == nil {
			r.of = map[string]*records{}
		}
		a = &records{nodes: map[uuid.UUID][]Record{}}
		r.of[rec.Account] = a
	}
	list := a.nodes[rec.Node]
	i := slices.IndexFunc(list, func(of Record) bool { return of.Cluster == rec.Cluster })
	switch {
	case rec.Nothing && i < 0:
		return
	case rec.Nothing && len(list) == 1:
		delete(a.nodes, rec.Node)
		a.count--
	case rec.Nothing:
		a.nodes[rec.Node] = slices.Delete(slices.Clone(list), i, i+1)
		a.count--
	case i < 0 && a.count >= MaxRecords || i >= 0 && rec.Stamp <= list[i].Stamp:
		return
	case i < 0:
		a.nodes[rec.Node] = append(slices.Clone(list), rec)
		a.count++
	default:
		list = slices.Clone(list)
		list[i] = rec
		a.nodes[rec.Node] = list
	}
	r.changes++
}

// Get returns what is known of a node in a cluster.
func (r *Roster) Get(account, cluster string, node uuid.UUID) (rec Record, known bool) {
	for _, of := range r.Of(account, node) {
		if of.Cluster == cluster {
			return of, true
		}
	}
	return Record{}, false
}

// End returns how a node left a cluster; nil if it did not.
func (r *Roster) End(account, cluster string, node uuid.UUID) *End {
	rec, _ := r.Get(account, cluster, node)
	return rec.End
}

// Of returns a node's records, one for each cluster. Nobody changes them.
func (r *Roster) Of(account string, node uuid.UUID) []Record {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if a := r.of[account]; a != nil {
		return a.nodes[node]
	}
	return nil
}

// Left returns the records of an account's nodes that left for a reason, by cluster and id.
func (r *Roster) Left(account, why string) []Record {
	return r.pick(account, func(rec *Record) bool { return rec.End != nil && rec.End.Why == why })
}

// Gone returns the records of the nodes that left a cluster, by id.
func (r *Roster) Gone(account, cluster string) []Record {
	return r.pick(account, func(rec *Record) bool {
		return rec.Cluster == cluster && rec.End != nil
	})
}

// Before returns the records, of all accounts, of nodes that left before a time.
func (r *Roster) Before(at int64) (list []Record) {
	r.mu.RLock()
	accounts := make([]string, 0, len(r.of))
	for name := range r.of {
		accounts = append(accounts, name)
	}
	r.mu.RUnlock()
	for _, name := range accounts {
		list = append(list, r.pick(name, func(rec *Record) bool {
			return rec.End != nil && rec.End.At < at
		})...)
	}
	return list
}

func (r *Roster) pick(account string, is func(*Record) bool) (list []Record) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if a := r.of[account]; a != nil {
		for _, of := range a.nodes {
			for i := range of {
				if is(&of[i]) {
					list = append(list, of[i])
				}
			}
		}
	}
	slices.SortFunc(list, func(a, b Record) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), slices.Compare(a.Node[:], b.Node[:]))
	})
	return list
}

// Changed returns the newest record of a node after a change that is made at a time, in ms. It is
// newer than what is known, whatever the clocks say. The Roster itself does not take it.
func (r *Roster) Changed(
	account, cluster string, node uuid.UUID, now int64, change func(*Record),
) Record {
	rec, _ := r.Get(account, cluster, node)
	rec.Account, rec.Cluster, rec.Node = account, cluster, node
	rec.Stamp = max(now, rec.Stamp+1)
	change(&rec)
	return rec
}

// Changes grows with each record that is taken over.
func (r *Roster) Changes() uint64 {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.changes
}
