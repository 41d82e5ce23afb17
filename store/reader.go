package store

import (
	"context"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/store/dictionaries"
	"github.com/ringwatch/ringwatch/store/nodes"
	"github.com/ringwatch/ringwatch/store/reading"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/spans"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/events"
)

// WrittenFor is how far back DictionariesWritten knows: who has not looked for longer reads every
// node's dictionaries again.
const WrittenFor = dictionaries.WrittenFor

// Reader reads what is stored. It is a small value, made for a piece of work; its methods may be
// called from many goroutines.
type Reader struct {
	reading.Reader // windows and rollups

	store *Store
	task  spans.Task
}

// Reader returns a Reader whose calls are for work, and whose answers take their memory from the
// lease. Who wants no bound says memory.Unbounded.
func (s *Store) Reader(work rows.Work, lease *memory.Lease) Reader {
	t := s.task(work, lease)
	return Reader{s.reading.At(t), s, t}
}

// Build is building.Wanted for frames of one window, which begins at start (ms). wanted names what
// want wants: who names the same wants the same. What is kept is shared, and nobody changes it.
func (s *Store) Build(allow window.Allowance, node window.Node, start int64, frames [][]byte,
	want *frame.Wanted, wanted string) (*window.Window, window.Report, error) {
	return s.reading.Build(allow, node, start, frames, want, wanted)
}

// LatestFrames returns the node's newest frame of the last 15 minutes and, if that is a delta
// frame, its key frame before it: enough for building.Window and Latest; and when the node was
// heard of by it, in ms: its time, but when it arrived if it is dated ahead of that. If the newest
// one's key frame is not there it is the newest that can be read, and newer says so. None: no
// frames and no error.
func (r Reader) LatestFrames(ctx context.Context, account string,
	node uuid.UUID) (frames [][]byte, seen int64, newer bool, err error) {
	return r.store.fresh.Latest(ctx, r.task.Work, r.task.Lease, account, node,
		r.store.clock.Millis())
}

// LastSeen returns when each node was heard of by its newest stored frame, milliseconds since the
// Unix epoch: the frame's time, but when it arrived if it is dated ahead of that. That is exact if
// it is at most 15 minutes ago, else to the key frame before it. A node that was never heard of, or
// longer ago than the raw TTL, is not in it. With an error it has the nodes that could be read.
//
// It asks for a window of many nodes in one request to a replica that has them.
func (r Reader) LastSeen(ctx context.Context, account string,
	nodes []uuid.UUID) (map[uuid.UUID]int64, error) {
	s, work := r.store, r.task.Work
	times, silent, err := s.fresh.LastHeard(ctx, work, account, nodes, s.clock.Millis())
	if err != nil || len(silent) == 0 {
		return times, err
	}
	known, err := s.nodes.List(ctx, work, account)
	unheard := make(map[uuid.UUID]bool, len(silent))
	for _, node := range silent {
		unheard[node] = true
	}
	for _, n := range known { // a node that moved to another cluster name is there twice
		if unheard[n.ID] && n.LastKey > 0 {
			times[n.ID] = max(times[n.ID], n.LastKey)
		}
	}
	return times, err
}

// NodeIDs returns the ids of the account's nodes. A node that is under two clusters' names is there
// once.
func (r Reader) NodeIDs(ctx context.Context, account string) ([]uuid.UUID, error) {
	return r.store.nodes.IDs(ctx, r.task.Work, account)
}

// Nodes returns the account's nodes by cluster and id. A node that has sent nothing for the raw TTL
// is forgotten.
func (r Reader) Nodes(ctx context.Context, account string) ([]nodes.Node, error) {
	return r.store.nodes.List(ctx, r.task.Work, account)
}

// Events returns what happened, by the query; see events.Query. All that WriteFrame took is found
// until it expires.
func (r Reader) Events(ctx context.Context, account string, q events.Query) (events.Page, error) {
	return r.store.events.Page(ctx, r.task.Work, r.task.Lease, account, q)
}

// DictionariesWritten returns the dictionaries that were written since a time, in milliseconds
// since the Unix epoch, for windows of whatever day. A clock that is wrong by a minute and a write
// that is under way must be allowed for: ask from two minutes earlier. What was written more than a
// day ago is not found here any more.
func (r Reader) DictionariesWritten(ctx context.Context, account string,
	since int64) ([]window.DictionaryID, error) {
	return r.store.series.Since(ctx, r.task.Work, account, since)
}

// DictionariesOf returns which dictionaries a node had on the day of a time and on those after it.
func (r Reader) DictionariesOf(ctx context.Context, account string, node uuid.UUID,
	from int64) ([]window.DictionaryID, error) {
	return r.store.series.IDs(ctx, r.task.Work, account, node, from)
}

// ReadDictionaries calls take for those of the named dictionaries, all of one node, that can be
// read. They do not enter the store's own cache.
func (r Reader) ReadDictionaries(ctx context.Context, account string, node uuid.UUID,
	ids []window.DictionaryID, take func(window.Hash, *window.Dictionary)) error {
	return r.store.series.Read(ctx, r.task.Work, account, node, ids, take)
}
