// Package spans keeps windows, hours and runs of rollups: in rows, and decoded for who asks next.
// All of these are spans: what a node said over some time, column by column.
//
// Hours and runs lie in tables of one form: in a node's partition a row for each part of each span,
// by type, part and time, and a head row. See package layout for what a row holds. A metric's spans
// are neighbours: a read of one metric is one slice, and compression sees what repeats from hour to
// hour.
//
// Heads are read first. They say which parts there are, a Plan which of those are wanted and not
// cached, and ReadPlanned reads the rest.
package spans

import (
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/window"
)

// Task is an engine at work for somebody: what the throttle is told of its calls, and whose memory
// their answers take.
type Task struct {
	Engine rows.Engine
	Work   rows.Work
	Lease  *memory.Lease
}

// ReadsInFlight is how many partitions of a layer one reading asks at once.
const ReadsInFlight = 8

// Layout is a table of spans.
func Layout(name, comment string, ttl time.Duration) *rows.Table {
	return &rows.Table{
		Name: name, Comment: comment,
		Partition: []rows.Column{rows.TextColumn("account"), rows.IDColumn("node"),
			rows.TimeColumn("bucket")},
		Clustering: []rows.Column{rows.TextColumn("entity_type"), rows.TextColumn("part"),
			rows.TimeColumn("at")},
		Values: []rows.Column{{Name: "blob", Kind: rows.Blob}},
		TTL:    ttl, AgeUnit: time.Hour, Grace: 3 * time.Hour, Compression: rows.Zip(3, 64),
	}
}

// DrawEdition returns a number for the rows of a span that lasts so long, milliseconds.
func DrawEdition(length int64) int64 { return 1 + rand.Int64N(min(length, window.HourMillis)-1) }

// Partition is one partition of a table of spans.
type Partition struct {
	Table   *rows.Table
	Account string
	Node    uuid.UUID
	Bucket  int64
}

// NewPartition returns the partition of a node's bucket.
func NewPartition(t *rows.Table, account string, node uuid.UUID, bucket int64) Partition {
	return Partition{Table: t, Account: account, Node: node, Bucket: bucket}
}

func (p *Partition) key() []any { return []any{p.Account, p.Node, p.Bucket} }
