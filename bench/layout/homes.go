package main

import (
	"context"
	"fmt"
	"sync"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/ring"
)

// home is a way to lay hours out.
type home interface {
	name() string
	columns() string // of the table, with its primary key
	// write writes a node's hour, its head last.
	write(ctx context.Context, c *cluster, node, hour int, rows []row) error
	// read reads metrics of nodes, over the hours from … to. All of the cluster's nodes may be
	// asked for, or one.
	read(ctx context.Context, c *cluster, nodes []int, list []metric, from, to int64,
		take func(blob []byte)) error
}

// row is what is written of a metric; the first of an hour is its head.
type row struct {
	metric
	blob []byte
}

var makers = map[string]func(d *driver) home{
	"node":        func(d *driver) home { return &byNode{d} },
	"metric_day":  func(d *driver) home { return &byMetricDay{d} },
	"metric_hour": func(d *driver) home { return &byMetricHour{d} },
}

var titles = map[string]string{"node": "node + day", "metric_day": "cluster + metric + day",
	"metric_hour": "cluster + metric + hour"}

const (
	batchBytes   = 256 << 10 // of one partition's rows
	asksInFlight = 8         // as the store's
	// rows of one hour that are written at once if they are partitions' of their own
	writeInFlight = 16
	nodesInQuery  = 100 // as package ring's
)

func tableOf(h home) string { return keyspace + "." + h.name() }

// parallel calls do for each, some at once.
func parallel[T any](ctx context.Context, limit int, list []T,
	do func(ctx context.Context, t T) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(limit)
	for _, t := range list {
		g.Go(func() error { return do(ctx, t) })
	}
	return g.Wait()
}

// query reads through the driver, page by page.
func (d *driver) query(ctx context.Context, take func([]byte), statement string,
	args ...any) error {
	iter := d.session.Query(statement, args...).Idempotent(true).IterContext(ctx)
	var b []byte
	for iter.Scan(&b) {
		take(b)
		b = nil
	}
	return iter.Close()
}

// keys reads many partitions at once.
func (d *driver) keys(ctx context.Context, h home, take func([]byte), keys []ring.Key, where string,
	args ...any) error {
	results, err := d.ring.Read(ctx, ring.Query{Keyspace: keyspace, Table: h.name(),
		Columns: []string{"blob"}, Where: where, Args: args}, keys)
	if err != nil {
		return err
	}
	for _, r := range results {
		if r.Err != nil {
			return r.Err
		}
		for _, row := range r.Rows {
			var b []byte
			if err := row.Scan(&b); err != nil {
				return err
			}
			take(b)
		}
	}
	return nil
}

// locked lets several goroutines call take.
func locked(take func([]byte)) func([]byte) {
	var mu sync.Mutex
	return func(b []byte) {
		mu.Lock()
		defer mu.Unlock()
		take(b)
	}
}

// byNode has a partition for each node and day: a metric's hours are neighbours there.
type byNode struct{ *driver }

func (h *byNode) name() string { return "node" }

func (h *byNode) columns() string {
	return "account text, node uuid, day timestamp, entity_type text, metric text, hour " +
		"timestamp, blob blob, PRIMARY KEY ((account, node, day), entity_type, metric, hour)"
}

func (h *byNode) write(ctx context.Context, c *cluster, node, hour int, rows []row) error {
	at := c.hour(hour)
	write := func(rows []row) error {
		batch := h.session.Batch(gocql.UnloggedBatch)
		for _, r := range rows {
			batch.Query("INSERT INTO "+tableOf(h)+
				" (account, node, day, entity_type, metric, hour, blob) VALUES (?, ?, ?, "+
				"?, ?, ?, ?)",
				account, gocql.UUID(c.node(node)), dayOf(at), r.entity, r.metric.name, at, r.blob)
		}
		return batch.ExecContext(ctx)
	}
	head, rows := rows[:1], rows[1:]
	for len(rows) > 0 {
		n, size := 0, 0
		for n < len(rows) && (n == 0 || size+len(rows[n].blob) <= batchBytes) {
			size += len(rows[n].blob)
			n++
		}
		if err := write(rows[:n]); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return write(head)
}

func (h *byNode) read(ctx context.Context, c *cluster, nodes []int, list []metric, from, to int64,
	take func([]byte)) error {
	take = locked(take)
	byType := map[string][]string{}
	for _, m := range list {
		byType[m.entity] = append(byType[m.entity], m.name)
	}
	type ask struct {
		span
		entity string
		names  []string
	}
	var asks []ask
	for _, s := range days(from, to) {
		for entity, names := range byType {
			asks = append(asks, ask{s, entity, names})
		}
	}
	return parallel(ctx, asksInFlight, asks, func(ctx context.Context, a ask) error {
		const where = "entity_type = ? AND metric IN ? AND hour >= ? AND hour <= ?"
		if len(nodes) == 1 {
			return h.query(ctx, take,
				"SELECT blob FROM "+tableOf(h)+" WHERE account = ? AND node = ? AND day = ? AND "+
					where,
				account, gocql.UUID(c.node(nodes[0])), a.day, a.entity, a.names, a.from, a.to)
		}
		keys := make([]ring.Key, len(nodes))
		for i, n := range nodes {
			keys[i] = ring.Key{account, gocql.UUID(c.node(n)), a.day}
		}
		return h.keys(ctx, h, take, keys, where, a.entity, a.names, a.from, a.to)
	})
}

// byMetricDay has a partition for each metric of a cluster and day: a node's hours are neighbours
// there.
type byMetricDay struct{ *driver }

func (h *byMetricDay) name() string { return "metric_day" }

func (h *byMetricDay) columns() string {
	return "account text, cluster text, metric text, day timestamp, node uuid, hour timestamp, " +
		"blob blob, PRIMARY KEY ((account, cluster, metric, day), node, hour)"
}

func (h *byMetricDay) write(ctx context.Context, c *cluster, node, hour int, rows []row) error {
	at := c.hour(hour)
	return singly(ctx, rows, func(ctx context.Context, r row) error {
		return h.session.Query("INSERT INTO "+tableOf(h)+
			" (account, cluster, metric, day, node, hour, blob) VALUES (?, ?, ?, ?, ?, ?, ?)",
			account, c.name, r.key(), dayOf(at), gocql.UUID(c.node(node)), at,
			r.blob).ExecContext(ctx)
	})
}

// singly writes rows of partitions of their own, and then the head.
func singly(ctx context.Context, rows []row, write func(ctx context.Context, r row) error) error {
	if err := parallel(ctx, writeInFlight, rows[1:], write); err != nil {
		return err
	}
	return write(ctx, rows[0])
}

func (h *byMetricDay) read(ctx context.Context, c *cluster, nodes []int, list []metric,
	from, to int64, take func([]byte)) error {
	take = locked(take)
	if len(nodes) == 1 && len(list) > 1 {
		return parallel(ctx, asksInFlight, days(from, to), func(ctx context.Context, s span) error {
			var keys []ring.Key
			for i := range list {
				keys = append(keys, ring.Key{account, c.name, list[i].key(), s.day})
			}
			return h.keys(ctx, h, take, keys, "node = ? AND hour >= ? AND hour <= ?",
				gocql.UUID(c.node(nodes[0])), s.from, s.to)
		})
	}
	type ask struct {
		span
		metric string
		nodes  []gocql.UUID
	}
	var asks []ask
	for _, s := range days(from, to) {
		for i := range list {
			for rest := nodes; len(rest) > 0; {
				n := min(len(rest), nodesInQuery)
				a := ask{s, list[i].key(), nil}
				for _, node := range rest[:n] {
					a.nodes = append(a.nodes, gocql.UUID(c.node(node)))
				}
				asks, rest = append(asks, a), rest[n:]
			}
		}
	}
	return parallel(ctx, asksInFlight, asks, func(ctx context.Context, a ask) error {
		return h.query(ctx, take,
			"SELECT blob FROM "+tableOf(h)+
				" WHERE account = ? AND cluster = ? AND metric = ? AND day = ? AND node IN ? AND "+
				"hour >= ? AND hour <= ?",
			account, c.name, a.metric, a.day, a.nodes, a.from, a.to)
	})
}

// byMetricHour has a partition for each metric of a cluster and hour.
type byMetricHour struct{ *driver }

func (h *byMetricHour) name() string { return "metric_hour" }

func (h *byMetricHour) columns() string {
	return "account text, cluster text, metric text, hour timestamp, node uuid, blob blob, " +
		"PRIMARY KEY ((account, cluster, metric, hour), node)"
}

func (h *byMetricHour) write(ctx context.Context, c *cluster, node, hour int, rows []row) error {
	return singly(ctx, rows, func(ctx context.Context, r row) error {
		return h.session.Query("INSERT INTO "+tableOf(h)+
			" (account, cluster, metric, hour, node, blob) VALUES (?, ?, ?, ?, ?, ?)",
			account, c.name, r.key(), c.hour(hour), gocql.UUID(c.node(node)),
			r.blob).ExecContext(ctx)
	})
}

func (h *byMetricHour) read(ctx context.Context, c *cluster, nodes []int, list []metric,
	from, to int64, take func([]byte)) error {
	take = locked(take)
	where, args := "", []any(nil)
	switch len(nodes) {
	case 1:
		where, args = "node = ?", []any{gocql.UUID(c.node(nodes[0]))}
	case c.nodes: // the whole partition
	default:
		return fmt.Errorf("asked for %d of %d nodes", len(nodes), c.nodes)
	}
	// Keys that differ in one column alone can share a request: in the one of which there are more.
	var groups [][]ring.Key
	for at := from; at <= to; at += hourMillis {
		var keys []ring.Key
		for i := range list {
			keys = append(keys, ring.Key{account, c.name, list[i].key(), at})
		}
		groups = append(groups, keys)
	}
	if len(list) < len(groups) {
		turned := make([][]ring.Key, len(list))
		for _, keys := range groups {
			for i, k := range keys {
				turned[i] = append(turned[i], k)
			}
		}
		groups = turned
	}
	return parallel(ctx, asksInFlight, groups, func(ctx context.Context, keys []ring.Key) error {
		return h.keys(ctx, h, take, keys, where, args...)
	})
}
