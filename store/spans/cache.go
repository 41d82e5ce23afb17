package spans

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/store/cache"
	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
	"github.com/ringwatch/ringwatch/window/rollup"
)

// This is a cache. A stored span stays the same until a late frame comes, and dashboards ask for
// the same hours again and again. So the columns that were read of a span are kept, decoded and
// bounded in bytes, by account, node and span; whoever asks for them next takes what is there and
// reads the rest.
//
// Each reading asks which windows have late frames, and reads a span again if it was made before
// its mark. A mark is there before its frame, and before the window is closed again. Marks live
// twice as long as frames, so an entry that was checked within the life of a frame has missed no
// mark.
//
// Runs of rollups are kept the same way. What others make of spans they keep here, too, under names
// of their own.

// Cache has what was read of spans, and what was made of that. A nil one keeps nothing.
type Cache struct {
	entries *cache.Cache[ID, any]
	limits  *calendar.Limits
	clock   *calendar.Clock
}

// NewCache returns a cache of so many bytes; of 0, nil.
func NewCache(bytes int, limits *calendar.Limits, clock *calendar.Clock) *Cache {
	if bytes <= 0 {
		return nil
	}
	return &Cache{entries: cache.New[ID, any](bytes), limits: limits, clock: clock}
}

// Get returns what is kept under an ID; nil if nothing is.
func (c *Cache) Get(id ID) any {
	found, _ := c.entries.Get(id)
	return found
}

// Put keeps something of a weight, in bytes.
func (c *Cache) Put(id ID, of any, weight int) { c.entries.Put(id, of, weight) }

// ID names a span of a node.
type ID struct {
	Account       string
	Node          uuid.UUID
	Start, Length int64
	// In is the table of a run of rollups, or what else it is that is kept; empty: a window or an
	// hour.
	In string
}

// Entry is the head of a span, with those of its columns that were asked for. A span of which
// nothing is stored has no head: nothing will be without a mark, or until then.
type Entry struct {
	Stored *Head
	Head   *blobs.Head     // of a window or an hour
	Run    *rollup.RunHead // of a run of rollups
	Until  int64           // ms; 0: for as long as there is no mark

	looked atomic.Int64 // when it was last known to be what is stored, ms

	mu    sync.Mutex
	of    Columns // nil: no column was read
	has   map[Column][]blobs.PartID
	asked map[string]bool // questions of which all columns are kept
}

// Columns are columns of one span.
type Columns interface {
	Bytes() int64
	// And returns them with others of the span, which count where both have a column.
	And(Columns) Columns
}

// WindowColumns are those of a window or an hour.
type WindowColumns struct{ *window.Window }

// And returns them with others of the same window or hour.
func (c WindowColumns) And(more Columns) Columns {
	return WindowColumns{c.JoinColumns(more.(WindowColumns).Window)}
}

// Column names a column of a span: the number of its type in the head, and the metric's.
type Column struct{ Type, Metric int }

// EntryCost is what an entry takes beside its head and its columns, in bytes.
const EntryCost = 500

func (s *Entry) weight() int {
	n := int64(EntryCost)
	if s.Stored != nil {
		n += 2 * int64(len(s.Stored.Row.Blob))
	}
	if s.Head != nil {
		n += int64(8*cap(s.Head.Times) + 80*len(s.Head.Types))
	}
	if s.of != nil {
		n += s.of.Bytes()
	}
	for _, ids := range s.has {
		n += 64 + 32*int64(len(ids))
	}
	for text := range s.asked {
		n += 48 + int64(len(text))
	}
	return int(n)
}

// holds reports whether all of these parts of a column are kept.
func (s *Entry) holds(c Column, ids []blobs.PartID) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	have, is := s.has[c]
	return is && len(have) >= len(ids) && !slices.ContainsFunc(ids, func(id blobs.PartID) bool {
		return !slices.Contains(have, id)
	})
}

// columns returns the columns that are kept; nil if there are none.
func (s *Entry) columns() Columns {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.of
}
