package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/bench/node"
	"github.com/ringwatch/ringwatch/ring"
)

// lookupTimeout is how long a lookup may take.
const lookupTimeout = 2 * time.Second

// side is a way to look items up. lookup fills into, an item for each id, and returns an error if
// one is missing or another's.
type side struct {
	name   string
	lookup func(ctx context.Context, ids []string, into []item) error
	hits   func() (kept, all float64) // of the row cache; nil: it has none
	// requests is how many ring has sent to nodes so far; nil: a way without ring.
	requests func() float64
	close    func()
}

// ways are how sides read, by name, in the order of the table.
var ways = []struct {
	name   string
	change func(c *ring.Config, o options) // nil: without ring
}{
	{"plain", nil},
	{"in", nil},
	{"grouped", func(*ring.Config, options) {}},
	{"cached", func(c *ring.Config, o options) { c.GroupKeys = 1; cached(c, o) }},
	{"grouped_cached", cached},
	{"grouped_raced", raced},
	{"all", func(c *ring.Config, o options) { cached(c, o); raced(c, o) }},
	{"all_p95", func(c *ring.Config, o options) { cached(c, o); c.Speculation = "p95" }},
}

func sideNames() (names []string) {
	for _, w := range ways {
		names = append(names, w.name)
	}
	return names
}

// cacheBytes is for the row cache.
func (o *options) cacheBytes() int64 {
	return int64(o.cacheShare * float64(o.items) * float64(o.itemBytes+keptBytes))
}

func cached(c *ring.Config, o options) {
	c.CacheBytes = o.cacheBytes()
	c.CacheTTL = map[string]time.Duration{"*": time.Hour}
}

// keptBytes is what an item takes in the row cache beside its description.
const keptBytes = 380

func raced(c *ring.Config, _ options) { c.Speculation = "15ms" }

// newSides returns the sides that the options want.
func (c *cluster) newSides(ctx context.Context, o options) (list []*side, err error) {
	defer func() {
		if err != nil {
			for _, s := range list {
				s.close()
			}
		}
	}()
	for _, w := range ways {
		if len(o.sides) > 0 && !slices.Contains(o.sides, w.name) {
			continue
		}
		session, err := c.session(gocql.TokenAwareHostPolicy(gocql.RoundRobinHostPolicy(),
			gocql.ShuffleReplicas()))
		if err != nil {
			return list, err
		}
		s := &side{name: w.name, close: session.Close}
		list = append(list, s)
		switch {
		case w.name == "plain":
			s.lookup = plain(session)
		case w.name == "in":
			s.lookup = in(session)
		default:
			config := ring.DefaultConfig()
			config.Datacenter, config.Speculation = "dc1", "never"
			w.change(&config, o)
			reg := prometheus.NewRegistry()
			reader, err := ring.Connect(ctx, session, config, nil, reg)
			if err != nil {
				return list, err
			}
			s.close = func() { reader.Close(); session.Close() }
			s.lookup = ringed(reader)
			s.requests = func() float64 { return node.Sum(reg, "ringwatch_ring_requests_total") }
			if config.CacheBytes > 0 {
				s.hits = func() (kept, all float64) {
					for by, n := range node.Values(reg, "ringwatch_ring_cache_keys_total") {
						if all += n; strings.HasPrefix(by, "kept ") { // and the table
							kept += n
						}
					}
					return kept, all
				}
			}
		}
	}
	return list, nil
}

// plain asks the replicas for each item alone, all at once: the 50 of a lookup are in flight
// together.
func plain(session *gocql.Session) func(context.Context, []string, []item) error {
	text := "SELECT id, name, price, stock, description FROM " + keyspace + ".items WHERE id = ?"
	return func(ctx context.Context, ids []string, into []item) error {
		errs := make([]error, len(ids))
		var all sync.WaitGroup
		all.Add(len(ids))
		for i := range ids {
			go func() {
				defer all.Done()
				var id string
				x := &into[i]
				errs[i] = session.Query(text, ids[i]).Idempotent(true).ScanContext(ctx, &id,
					&x.name, &x.price, &x.stock, &x.description)
				if errs[i] == nil && id != ids[i] {
					errs[i] = fmt.Errorf("asked for %s and got %s", ids[i], id)
				}
			}()
		}
		all.Wait()
		return errors.Join(errs...)
	}
}

// in asks one node for all items.
func in(session *gocql.Session) func(context.Context, []string, []item) error {
	text := "SELECT id, name, price, stock, description FROM " + keyspace + ".items WHERE id IN ?"
	return func(ctx context.Context, ids []string, into []item) error {
		places := make(map[string]int, len(ids))
		for i, id := range ids {
			places[id] = i
		}
		iter := session.Query(text, ids).Idempotent(true).IterContext(ctx)
		var id string
		var x item
		n := 0
		for iter.Scan(&id, &x.name, &x.price, &x.stock, &x.description) {
			i, ok := places[id]
			if !ok {
				return fmt.Errorf("got %s, which was not asked for", id)
			}
			into[i] = x
			n++
		}
		if err := iter.Close(); err != nil {
			return err
		}
		if n != len(ids) {
			return fmt.Errorf("got %d of %d items", n, len(ids))
		}
		return nil
	}
}

// ringed asks a ring.Reader.
func ringed(reader *ring.Reader) func(context.Context, []string, []item) error {
	query := ring.Query{Keyspace: keyspace, Table: "items", Columns: []string{"id", "name", "price",
		"stock", "description"}}
	return func(ctx context.Context, ids []string, into []item) error {
		keys := make([]ring.Key, len(ids))
		values := make([]any, len(ids))
		for i, id := range ids {
			values[i] = id
			keys[i] = values[i : i+1 : i+1]
		}
		results, err := reader.Read(ctx, query, keys)
		if err != nil {
			return err
		}
		var id string
		for i, r := range results {
			if r.Err != nil {
				return fmt.Errorf("%s: %w", ids[i], r.Err)
			}
			if len(r.Rows) != 1 {
				return fmt.Errorf("%s: got %d rows", ids[i], len(r.Rows))
			}
			x := &into[i]
			if err := r.Rows[0].Scan(&id, &x.name, &x.price, &x.stock, &x.description); err != nil {
				return err
			}
			if id != ids[i] {
				return fmt.Errorf("asked for %s and got %s", ids[i], id)
			}
		}
		return nil
	}
}
