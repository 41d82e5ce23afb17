// Package read gives what nodes have sent: a node's newest state, a range of its values, when it
// was heard of. It is the only reader of all sources: the recent source where that surely has
// everything, the store where it has not, and rollups for who asks for them.
//
// Start with Reader. Sources are what it reads, which cmd fills in.
//
//	Reader.Latest, Range, Windows, Rollups, Instants, LastSeen
//	  share.Read   who wants the same at the same time shares a reading
//	    recent source │ store │ both
//
// What it promises: an answer is right whether the recent source is there or not, and the metrics
// say which source gave it. It is of one account. What is stored and cannot be read, or may still
// be on its way to the store, is named in words (Missing) and never left out in silence.
//
// What bites: the list of an account's nodes is remembered, see Nodes. What a reading returns
// counts as memory in use until the context's scope ends, so whoever asks opens a scope of
// Reader.Shared, and a part of it for each of many nodes. The keys of its own readings begin with
// latest/, values/, range/, heard/, young/, seen/ and newest/.
//
// It may import access, frame, memory and window.
package read

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/query/cache"
	"github.com/ringwatch/ringwatch/query/fleet"
	"github.com/ringwatch/ringwatch/query/results"
	"github.com/ringwatch/ringwatch/query/roster"
	"github.com/ringwatch/ringwatch/query/share"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/building"
)

// How many nodes one selector reads at once: newest states come from Redis in pipelines, ranges
// from many partitions of the store each.
const (
	RangesAtOnce = 8
	StatesAtOnce = 64
)

// Reader reads. NewReader makes one; it starts nothing of its own and is for any number of
// goroutines.
//
// Errors are the store's, the context's, and package memory's where the account's share does not
// suffice.
type Reader struct {
	source *source
	ranges *ranges
	// Results are the metrics of what an Engine keeps; they are registered with the reader's own.
	Results *results.Metrics
	nodes   *fleet.List
	down    downNodes
	// Shared are the readings that requests share, and the scopes of what they have read.
	Shared *share.Readings

	dictionaries *dictionaries
	latest       cache.Cache[latestKey, *LatestSeries]
	instants     cache.Cache[hourKey, *instantsHour]
}

// New validates and registers the reader's metrics.
func New(c Config, s Sources) (*Reader, error) {
	if c.Clock == nil {
		c.Clock = time.Now
	}
	err := c.validate()
	if s.Store == nil {
		err = errors.Join(err, errors.New("there is no store to read"))
	}
	if err != nil {
		return nil, fmt.Errorf("query: %w", err)
	}
	r := &Reader{source: &source{config: c, sources: s}, dictionaries: &dictionaries{}}
	r.ranges = &ranges{source: r.source, dictionaries: r.dictionaries}
	if s.Roster == nil {
		r.source.sources.Roster = &roster.Roster{}
	}
	if s.Build == nil {
		r.source.sources.Build = func(allow window.Allowance, node window.Node, _ int64,
			frames [][]byte,
			want *frame.Wanted, _ string) (*window.Window, window.Report, error) {
			return building.Wanted(allow, node, frames, want)
		}
	}
	r.nodes = fleet.NewList(c.Clock, s.Store.Nodes)
	r.Shared = share.NewReadings(s.Memory, c.Timeout, func() { r.source.metrics.flights.Inc() })
	if r.latest, err = cache.New("newest states", c.KeptBytes, latestBytes); err != nil {
		return nil, err
	}
	if r.instants, err = cache.New("when nodes were heard of", c.HeardBytes,
		instantsBytes); err != nil {
		return nil, err
	}
	if r.source.metrics, err = newMetrics(s.Metrics); err == nil {
		r.Results, err = results.NewMetrics(s.Metrics)
	}
	if err != nil {
		return nil, fmt.Errorf("query: cannot register a metric: %w", err)
	}
	return r, nil
}

// Nodes returns the nodes that a key may see, by cluster, datacenter, rack and id. The list is not
// older than age, unless the store is away: then the old one counts. It is shared and not to be
// changed.
func (r *Reader) Nodes(
	ctx context.Context, p account.Principal, age time.Duration,
) ([]window.Node, error) {
	f, err := r.nodes.Get(ctx, p, age, false)
	if err != nil {
		return nil, err
	}
	return slices.Clip(f.Nodes), nil
}

// Fleets returns the nodes that a key may see as Nodes does, and the virtual nodes that carry what
// rules record (frame.RecorderID).
func (r *Reader) Fleets(
	ctx context.Context, p account.Principal, age time.Duration,
) (nodes, recorders *fleet.Fleet, err error) {
	if nodes, err = r.nodes.Get(ctx, p, age, false); err == nil {
		recorders, err = r.nodes.Get(ctx, p, age, true)
	}
	return nodes, recorders, err
}

// Roster returns what is known of nodes that have left.
func (r *Reader) Roster() *roster.Roster { return r.source.sources.Roster }

// Left returns how a node has left its cluster; nil if it has not.
func (r *Reader) Left(account string, n *window.Node) *roster.End {
	return r.source.sources.Roster.End(account, n.Cluster, n.ID)
}

// HasRollups reports whether Rollups may be called.
func (r *Reader) HasRollups() bool { return r.source.sources.Rollups != nil }

// InFlight says in words that frames which belong to a range that ends at to (ms) may still be on
// their way to the store: frames of a cluster, or of any cluster if that is empty. It returns
// nothing if none are known to be.
func (r *Reader) InFlight(ctx context.Context, account, cluster string, to int64) []string {
	return r.source.inFlight(ctx, account, cluster, to)
}
