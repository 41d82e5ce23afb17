package schedule

import (
	"hash/fnv"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/rows"
)

// TableName is the name of the table of what is to be made.
const TableName = "due"

// Layout is the table of what is to be made.
func Layout() *rows.Table {
	number := func(name string) rows.Column { return rows.Column{Name: name, Kind: rows.Int64} }
	return &rows.Table{
		Name: TableName,
		Comment: "Ringwatch: hours and days that are to be made of what was closed in them, " +
			"by partition of the stream",
		Partition: []rows.Column{{Name: "stream_partition", Kind: rows.Int32}, number("length"),
			rows.TimeColumn("start")},
		Clustering: []rows.Column{rows.TextColumn("account"), rows.IDColumn("node")},
		Values: []rows.Column{number("first"), number("since"), number("changed"),
			number("made")},
		TTL: dueFor, AgeUnit: time.Hour, Grace: 3 * time.Hour, Compression: rows.Fast,
	}
}

// Span is a span of a node that is to be made. length is an hour or a day.
type Span struct {
	Partition int32
	Account   string
	Node      uuid.UUID
	Start     int64
	Length    int64
}

// entry is what is known of a Span: its row, and how making it fares.
type entry struct {
	first    int64 // Offset of the earliest record of its frames; −1: they are in no stream
	since    int64 // when a window of it was closed first that is not in what was made, µs
	changed  int64 // when one was closed last that an entry tells of, µs
	made     int64 // when it was read to be made, as the entry says, µs; 0: never
	changes  int   // how often it has changed, so that a change while it is made is noticed
	recorded bool  // the entry says that it is to be made, whatever is being made now

	at     time.Time // when it is to be made
	making bool
	again  bool // its frames are wanted again

	failed int       // attempts in a row
	err    error     // the last one's
	after  time.Time // the next one is not before
	needs  int64     // more memory than this was needed
}

// key is the span's row.
func (d *Span) key() []any { return []any{d.Partition, d.Length, d.Start, d.Account, d.Node} }

// share returns a number from 0 to 1 that is a node's own, so that a fleet's work is spread evenly.
func share(node uuid.UUID) float64 {
	h := fnv.New32a()
	h.Write(node[:])
	return float64(h.Sum32()) / (1 << 32)
}

// dirty reports whether an entry says, at a time in µs, that its span is to be made. If the clocks
// of two processes may have put its times in the wrong order, the span is made again while there
// are rows of windows to make it of: without need that costs only a look at its heads.
func (o *entry) dirty(now int64) bool {
	return o.changed > o.made || o.changed+calendar.ClocksDiffer.Microseconds() > o.made &&
		now-o.changed < calendar.WindowTTL.Microseconds()
}
