package main

import (
	"context"
	"strings"

	"github.com/ringwatch/ringwatch/bench/fleet"
	"github.com/ringwatch/ringwatch/bench/node"
	"github.com/ringwatch/ringwatch/bench/peers"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/store"
)

// side is what is compared: a generation of the store, or a peer.
type side interface {
	pid() int // of the engine
	// write stores all nodes' windows of one start; settle flushes and compacts all.
	write(ctx context.Context, b *fleet.Batch, last bool) error
	settle(ctx context.Context) error
	disk(ctx context.Context, r *row) error
}

// generation is v1, v2 or v3 as the roles use it: frames one by one, then the close of the window,
// with its rollup, and an hour's at its end.
type generation struct {
	*node.Keeper
	cassandra *engines.Cassandra
	keyspace  string
}

func openGeneration(ctx context.Context, label string, c *engines.Cassandra) (*generation, error) {
	g := &generation{cassandra: c, keyspace: "bench_" + label}
	config := store.DefaultConfig()
	config.Hosts, config.Keyspace, config.Generation = []string{c.Addr()}, g.keyspace, label
	var err error
	g.Keeper, err = node.Keep(ctx, config, store.NewMetrics(nil))
	return g, err
}

func (g *generation) pid() int { return g.cassandra.Pid() }

func (g *generation) write(ctx context.Context, b *fleet.Batch, last bool) error {
	return g.Write(ctx, account, b, last)
}

func (g *generation) settle(ctx context.Context) error {
	if err := node.Tool(ctx, g.cassandra, "flush", g.keyspace); err != nil {
		return err
	}
	return node.Tool(ctx, g.cassandra, "compact", g.keyspace)
}

// disk finds what each table takes. The raw layer is what is left without frames, which live for an
// hour, short rows, which live until their hour is made, and rollups.
func (g *generation) disk(ctx context.Context, r *row) error {
	if err := node.Settled(ctx, g.cassandra, g.keyspace); err != nil {
		return err
	}
	var err error
	if r.tables, err = tableBytes(g.cassandra, g.keyspace); err != nil {
		return err
	}
	for table, size := range r.tables {
		switch all := size.data + size.index; {
		case table == "fresh":
			r.fresh += all
		case table == "v3_windows": // v1_windows and v2_windows are part of their raw layers
			r.short += all
		case strings.HasPrefix(table, "rollup_"):
			r.rollups += all
		default:
			r.data, r.index = r.data+size.data, r.index+size.index
		}
	}
	return nil
}

// peer is a Prometheus or a VictoriaMetrics as a side.
type peer struct{ *peers.Peer }

func (p *peer) pid() int { return p.Pid() }

func (p *peer) write(ctx context.Context, b *fleet.Batch, _ bool) error {
	for i := range b.Nodes {
		if err := p.Write(ctx, b.Nodes[i].Series, nil); err != nil {
			return err
		}
	}
	return nil
}

func (p *peer) settle(ctx context.Context) error { return p.Settle(ctx) }

func (p *peer) disk(_ context.Context, r *row) (err error) {
	r.data, r.index, err = p.Disk()
	return err
}
