package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/ringwatch/ringwatch/frame"
)

// kinds are how events are divided among kinds on a cluster that has some trouble: out of 100.
var kinds = []struct {
	name  string
	share int
	make  func(*rand.Rand, *frame.Event)
}{
	{"slow_query", 30, func(r *rand.Rand, e *frame.Event) {
		table := label(e, r, "SELECT")
		add(e, "slowest_seconds", fmt.Sprintf("%.3f", 0.5+r.ExpFloat64()))
		add(e, "times", strconv.Itoa(1+r.IntN(50)))
		e.Text = fmt.Sprintf("SELECT id, placed_at, state, total FROM shop.%s WHERE customer = ? "+
			"AND placed_at > ? ORDER BY placed_at DESC LIMIT ?", table)
	}},
	{"gc_pause", 15, func(r *rand.Rand, e *frame.Event) {
		add(e, "duration_seconds", fmt.Sprintf("%.3f", 0.2+r.ExpFloat64()/3))
		add(e, "gc", "G1 Young Generation")
		e.Text = fmt.Sprintf(
			"G1 Young Generation GC in %dms.  G1 Eden Space: %d -> 0; G1 Old Gen: "+
				"%d -> %d; G1 Survivor Space: %d -> %d;", 200+r.IntN(2000), r.Uint32(), r.Uint32(),
			r.Uint32(), r.Uint32(), r.Uint32())
	}},
	{"tombstones", 15, func(r *rand.Rand, e *frame.Event) {
		table := label(e, r, "SELECT")
		n := 1000 + r.IntN(90_000)
		add(e, "tombstones", strconv.Itoa(n))
		e.Text = fmt.Sprintf("Read %d live rows and %d tombstone cells for query SELECT * FROM "+
			"shop.%s WHERE customer = ? LIMIT ?; token ?", r.IntN(5000), n, table)
	}},
	{"warning", 12, func(r *rand.Rand, e *frame.Event) {
		e.Text = fmt.Sprintf(
			"Query returned %d rows, which is more than what is usual here for the "+
				"client at /10.0.%d.%d", r.IntN(90_000), r.IntN(9), r.IntN(250))
	}},
	{"error", 5, func(r *rand.Rand, e *frame.Event) {
		e.Text = fmt.Sprintf("Exception in thread Thread[Messaging-EventLoop-3-%d,5,main] "+
			"java.nio.channels.ClosedChannelException: connection to 10.0.0.%d was closed",
			r.IntN(64), r.IntN(250))
	}},
	{"dropped", 6, func(r *rand.Rand, e *frame.Event) {
		n := 1 + r.IntN(3000)
		add(e, "messages", strconv.Itoa(n))
		add(e, "verb", "MUTATION_REQ")
		e.Text = fmt.Sprintf("MUTATION_REQ messages were dropped in last 5000 ms: %d internal and "+
			"%d cross node. Mean internal dropped latency: %d ms", n, r.IntN(n), 2000+r.IntN(2000))
	}},
	{"large_partition", 5, func(r *rand.Rand, e *frame.Event) {
		table := label(e, r, "")
		size := 100<<20 + r.Uint32()
		add(e, "partition", strconv.FormatInt(r.Int64(), 10))
		add(e, "size_bytes", strconv.Itoa(int(size)))
		e.Text = fmt.Sprintf("Writing large partition shop/%s (%d bytes) to sstable", table, size)
	}},
	{"node_down", 5, peer}, {"node_up", 5, peer},
	{"repair", 1, func(r *rand.Rand, e *frame.Event) {
		add(e, "command", strconv.Itoa(r.IntN(500)))
		add(e, "keyspace", "shop")
		e.Text = "Repair command finished in 14 minutes 3 seconds"
	}},
	{"schema", 1, func(r *rand.Rand, e *frame.Event) {
		label(e, r, "")
		add(e, "change", "altered")
		e.Text = "columns added: state, discount"
	}},
}

func peer(r *rand.Rand, e *frame.Event) {
	address := fmt.Sprintf("10.0.0.%d:7000", r.IntN(250))
	add(e, "peer", address)
	e.Text = strings.TrimPrefix(e.Kind, "node_") + ": " + address
}

// label adds which table of the keyspace shop an event is about, and how it was read.
func label(e *frame.Event, r *rand.Rand, operation string) (table string) {
	add(e, "keyspace", "shop")
	if operation != "" {
		add(e, "operation", operation)
	}
	table = []string{"orders", "orders_by_customer", "items", "carts", "sessions"}[r.IntN(5)]
	add(e, "table", table)
	return table
}

func add(e *frame.Event, name, value string) {
	e.Labels = append(e.Labels, frame.Label{Name: name, Value: value})
}

// anEvent is one that happened at an instant.
func anEvent(r *rand.Rand, at int64) frame.Event {
	e := frame.Event{At: at, Severity: frame.Warning}
	n := r.IntN(100)
	for _, k := range kinds {
		if n -= k.share; n < 0 {
			e.Kind = k.name
			k.make(r, &e)
			break
		}
	}
	slices.SortFunc(e.Labels, func(a, b frame.Label) int { return strings.Compare(a.Name, b.Name) })
	return e
}
