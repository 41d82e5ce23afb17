// Package events says how what happened on nodes is asked for: which events, in which order, and
// where a page of them ends. Begin with Query. Package store answers it.
//
// It reads and writes nothing. Of our packages it imports frame alone.
package events

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/frame"
)

// Event is something that happened on a node, as its frame said.
type Event struct {
	frame.Event
	Cluster string
	Node    uuid.UUID
	FrameAt int64 // when the frame was made that brought it, ms
	Index   int   // its place among the frame's events
	Came    int64 // when the store got it, ms, if the Query asked for Late ones
}

// LateAfter is how much older than its coming an event is that a Query for Late ones finds. Who
// follows the others must ask again for at least that, and for as long as a write may take.
const LateAfter = 4 * time.Minute

// ID returns what tells the event from all others of its account.
func (e *Event) ID() ID { return ID{e.At, e.Node, e.FrameAt, uint8(e.Index)} }

// Bytes is what the event takes in memory, about.
func (e *Event) Bytes() int64 {
	n := 200 + len(e.Kind) + len(e.Text)
	for _, l := range e.Labels {
		n += 32 + len(l.Name) + len(l.Value)
	}
	return int64(n)
}

// ID names an event. Events have an order, newest first: by ID.Compare.
type ID struct {
	At      int64 // when it happened, ms
	Node    uuid.UUID
	FrameAt int64
	Index   uint8
}

// Compare is less than 0 if an event comes before another one, newest first. Of those that one
// frame has of one instant, the last is the newest.
func (d ID) Compare(o ID) int {
	return cmp.Or(cmp.Compare(o.At, d.At), bytes.Compare(d.Node[:], o.Node[:]),
		cmp.Compare(o.FrameAt, d.FrameAt), cmp.Compare(o.Index, d.Index))
}

// NewerThan returns an ID that comes, newest first, before every event of an instant (ms), and
// after all that are newer.
func NewerThan(at int64) ID {
	return ID{At: at, FrameAt: math.MaxInt64, Index: math.MaxUint8}
}

// OlderThan returns an ID that comes, newest first, after every event of an instant (ms), and
// before all that are older.
func OlderThan(at int64) ID {
	last := ID{At: at}
	for i := range last.Node {
		last.Node[i] = math.MaxUint8
	}
	return last
}

// idBytes is how long an ID is before it is text.
const idBytes = 8 + 16 + 8 + 1

// String returns the ID as text for URLs.
func (d ID) String() string {
	b := make([]byte, 0, idBytes)
	b = binary.BigEndian.AppendUint64(b, uint64(d.At))
	b = append(b, d.Node[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(d.FrameAt))
	return base64.RawURLEncoding.EncodeToString(append(b, d.Index))
}

// ErrID says that a text is no ID.
var ErrID = errors.New("events: not an event's id")

// ParseID is String's inverse.
func ParseID(text string) (d ID, err error) {
	b, err := base64.RawURLEncoding.DecodeString(text[:min(len(text), 2*idBytes)])
	if err != nil || len(b) != idBytes || d.read(b).String() != text || d.At < 0 ||
		d.FrameAt < 0 {
		return ID{}, ErrID
	}
	return d, nil
}

func (d *ID) read(b []byte) *ID {
	d.At = int64(binary.BigEndian.Uint64(b))
	copy(d.Node[:], b[8:])
	d.FrameAt = int64(binary.BigEndian.Uint64(b[24:]))
	d.Index = b[32]
	return d
}

// Query says which events of an account are asked for. The zero value of a filter lets all pass.
type Query struct {
	Clusters []string // at least one
	From, To int64    // ms, both inclusive

	Nodes    []uuid.UUID
	Kinds    []string
	Severity frame.Severity // and what is worse
	Text     string         // stands in the event's text or a label's value, in whatever case

	// Limit is how many are wanted at most.
	Limit int
	// Before makes the page begin behind an ID, newest first. nil: with the newest.
	Before *ID
	// After asks, if it is not nil, for what is newer than an ID instead, the oldest first.
	After *ID
	// Late asks only for what came to the store LateAfter or more after it happened, in the order
	// in which it came. From, To and After, which is needed, are of when it came: an ID's At is
	// that. The store knows of a day.
	Late bool
}

// Page is an answer to a Query.
type Page struct {
	// Events are in the order that the Query asks for.
	Events []Event
	// Next is what Before, or After, is to be for what follows. nil: that was all. A page ends when
	// it has Limit events, when they take some megabytes, or when looking for more would be too
	// much work for one; then it may have few, or none.
	Next *ID
}

// Place returns the event's ID in the order of the Query's answers.
func (q *Query) Place(e *Event) ID {
	id := e.ID()
	if q.Late {
		id.At = e.Came
	}
	return id
}

// Matcher returns what reports whether an event passes the Query's filters. It does not look at
// when and in which cluster it happened, nor at pages.
func (q *Query) Matcher() func(*Event) bool {
	text := strings.ToLower(q.Text)
	has := func(s string) bool { return strings.Contains(strings.ToLower(s), text) }
	return func(e *Event) bool {
		return e.Severity >= q.Severity &&
			(len(q.Nodes) == 0 || slices.Contains(q.Nodes, e.Node)) &&
			(len(q.Kinds) == 0 || slices.Contains(q.Kinds, e.Kind)) &&
			(text == "" || has(e.Text) || slices.ContainsFunc(e.Labels, func(l frame.Label) bool {
				return has(l.Value)
			}))
	}
}
