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

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/query/cache"
	"github.com/ringwatch/ringwatch/query/fleet"
	"github.com/ringwatch/ringwatch/query/results"
	"github.com/ringwatch/ringwatch/query/roster"
	"github.com/ringwatch/ringwatch/query/share"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/rollup"
)

// Recent is the source that is asked first. Times are in ms since the Unix epoch.
type Recent interface {
	// Touch says that a cluster's newest values are read, so that they are kept at hand. It returns
	// at once.
	Touch(account, cluster string)
	// Latest returns the newest frame and, before it, its key frame if that is another, and when
	// the node was heard of by it: the frame's time, but when it arrived if it is dated ahead of
	// that. The error is Sources.Miss if it does not hold them.
	Latest(ctx context.Context, account string, node uuid.UUID) (
		frames [][]byte, seen int64, err error)
	// Frames returns the frames from from to to with their key frames, and whether these are surely
	// all.
	Frames(ctx context.Context, account string, node uuid.UUID, from, to int64) (
		frames [][]byte, complete bool, err error)
	// Claimed returns the nodes of which several senders have sent frames within the last minutes.
	Claimed(ctx context.Context, account string) (map[uuid.UUID]bool, error)
	// LastSeen returns when those nodes that it knows were heard of, as Latest does.
	LastSeen(ctx context.Context, account string, nodes []uuid.UUID) (map[uuid.UUID]int64, error)
	// Instants returns by node when it sent frames from from to to, ascending, and whether these
	// are surely all.
	Instants(ctx context.Context, account string, nodes []uuid.UUID, from, to int64) (
		instants [][]int64, whole []bool, err error)
}

// Store is the source that has everything. Times are in ms since the Unix epoch.
type Store interface {
	// Nodes returns the account's nodes, each once.
	Nodes(ctx context.Context, account string) ([]window.Node, error)
	// LatestFrames is Recent's Latest; no frames and no error if there are none. newer says that
	// there are newer ones, which cannot be read before their key frame comes.
	LatestFrames(ctx context.Context, account string, node uuid.UUID) (
		frames [][]byte, seen int64, newer bool, err error)
	// Windows returns windows that have at least what matches all matchers, from from to to, both
	// inclusive, of histograms these facets (none: all); see Windows.
	Windows(ctx context.Context, account string, node uuid.UUID, from, to int64,
		facets []window.Facet, matchers ...*labels.Matcher) (Windows, error)
}

// Rollups returns a node's rollups of one level for periods that hold instants from from to to, in
// ms, sorted by labels, and in words what is stored of them and cannot be read. facets are what is
// needed of histograms; none: all.
type Rollups func(ctx context.Context, account string, node uuid.UUID, level rollup.Level,
	from, to int64, facets []window.Facet, matchers ...*labels.Matcher) (
	series []rollup.Series, missing []string, err error)

// Windows are what a node sent in a time range. They are shared, nobody changes them.
type Windows struct {
	// List is by ascending first instant. Windows may also have other metrics, and instants outside
	// of the range. Where two know an instant the first one counts.
	List []*window.Window
	From int64 // what windows have before it has expired
	// Instants are when the node sent frames that were read, from the range's begin to its end, in
	// ms, ascending, each once, whatever was selected: a series that has no value at one of them
	// was not there, and between two of them nothing is known of any.
	Instants []int64
	Missing  []string // in words what is stored, or may soon be, and is not in here
}

// Values are Windows as series.
type Values struct {
	Series   []window.Series // sorted by labels, each of them once
	Instants []int64
	Missing  []string
}

// Config says how a Reader chooses.
type Config struct {
	// RecentSpan is how far back the recent source is asked; what is older is the store's.
	RecentSpan time.Duration
	// NodesTTL is how long what the store says of a node that is down is held, at least.
	NodesTTL time.Duration
	// Timeout bounds a reading, which goes on for as long as any request waits for it.
	Timeout time.Duration
	// KeptBytes bounds what is kept of newest states that were asked for by selectors, until they
	// are not the newest any more. 0 keeps none.
	KeptBytes int64
	// HeardBytes bounds what is kept of when nodes were heard of, an hour of a node that sends
	// every five seconds some 1 KB. 0 keeps nothing.
	HeardBytes int64
	Clock      func() time.Time // nil: time.Now
}

func (c *Config) validate() error {
	var wrong []error
	for _, d := range []struct {
		name  string
		value time.Duration
	}{{"recent span", c.RecentSpan}, {"time to hold nodes", c.NodesTTL}, {"timeout", c.Timeout}} {
		if d.value <= 0 {
			err := fmt.Errorf("the %s is %v: use more than 0", d.name, d.value)
			wrong = append(wrong, err)
		}
	}
	return errors.Join(wrong...)
}

// Sources are what a Reader reads.
type Sources struct {
	Store Store
	// Rollups is the store's; nil: there are none, and Reader.Rollups is not to be called.
	Rollups Rollups
	// LastSeen is Recent's of the store; with an error it has those nodes that could be read. nil:
	// only the recent source knows.
	LastSeen func(ctx context.Context, account string, nodes []uuid.UUID) (
		map[uuid.UUID]int64, error)
	// Behind tells whether frames of a cluster that were acknowledged may not be in the store
	// yet, or of any cluster if that is empty, and since when, in ms; 0: it is not known since
	// when. nil: nobody knows.
	Behind func(ctx context.Context, account, cluster string) (since int64, is bool)

	// Pulse returns since when agents have been heard without a break, and until when that is
	// known; zero where it is not. nil: they always have been.
	Pulse func() (since, until time.Time)
	// Away returns when nobody took frames, the oldest first; one that lasts has no end. Nil: nothing
	// is known of it.
	Away func() []Span

	// Unchanged tells whether a reading of an account's clusters that began at an instant, in ms,
	// still says what a new one would of what was older than Settles then. nil: nobody knows, and
	// no results are kept.
	Unchanged func(ctx context.Context, account string, owns func(cluster string) bool,
		began int64) (bool, error)
	// Settles is how long after an instant the store has all of it that Unchanged does not tell of.
	Settles time.Duration

	// Roster knows which nodes have left; nil: none has.
	Roster *roster.Roster

	// Build is window.BuildWanted for who may have built the same before: of frames of one window,
	// which begins at start, in ms; wanted names what want wants. What it returns is shared. nil:
	// every window is built anew.
	Build func(allow window.Allowance, node window.Node, start int64, frames [][]byte,
		want *frame.Wanted,
		wanted string) (*window.Window, window.Report, error)

	Recent Recent // nil: every read is the store's
	// Miss is the error with which Recent says that it does not hold what was asked for; any other
	// is an outage.
	Miss error

	// Memory is what readings may take, per account and together. nil: whatever they need.
	Memory  *memory.Budget
	Metrics prometheus.Registerer // the reader's own metrics go in; nil: nowhere
}

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
	config  Config
	sources Sources
	metrics *metrics
	// Results are the metrics of what an Engine keeps; they are registered with the reader's own.
	Results *results.Metrics
	nodes   *fleet.List
	down    downNodes
	// Shared are the readings that requests share, and the scopes of what they have read.
	Shared *share.Readings

	dictionaries dictionaries
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
	r := &Reader{config: c, sources: s}
	if s.Roster == nil {
		r.sources.Roster = &roster.Roster{}
	}
	if s.Build == nil {
		r.sources.Build = func(allow window.Allowance, node window.Node, _ int64, frames [][]byte,
			want *frame.Wanted, _ string) (*window.Window, window.Report, error) {
			return window.BuildWanted(allow, node, frames, want)
		}
	}
	r.nodes = fleet.NewList(c.Clock, s.Store.Nodes)
	r.Shared = share.NewReadings(s.Memory, c.Timeout, func() { r.metrics.flights.Inc() })
	if r.latest, err = cache.New("newest states", c.KeptBytes, latestBytes); err != nil {
		return nil, err
	}
	if r.instants, err = cache.New("when nodes were heard of", c.HeardBytes,
		instantsBytes); err != nil {
		return nil, err
	}
	if r.metrics, err = newMetrics(s.Metrics); err == nil {
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
func (r *Reader) Roster() *roster.Roster { return r.sources.Roster }

// Left returns how a node has left its cluster; nil if it has not.
func (r *Reader) Left(account string, n *window.Node) *roster.End {
	return r.sources.Roster.End(account, n.Cluster, n.ID)
}

// HasRollups reports whether Rollups may be called.
func (r *Reader) HasRollups() bool { return r.sources.Rollups != nil }
