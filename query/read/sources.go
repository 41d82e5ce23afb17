package read

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/query/roster"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
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
		facets []blobs.Facet, matchers ...*labels.Matcher) (Windows, error)
}

// Rollups returns a node's rollups of one level for periods that hold instants from from to to, in
// ms, sorted by labels, and in words what is stored of them and cannot be read. facets are what is
// needed of histograms; none: all.
type Rollups func(ctx context.Context, account string, node uuid.UUID, level rollup.Level,
	from, to int64, facets []blobs.Facet, matchers ...*labels.Matcher) (
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
	// Away returns when nobody took frames, the oldest first; one that lasts has no end. Nil:
	// nothing is known of it.
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

	// Build is building.Wanted for who may have built the same before: of frames of one window,
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
