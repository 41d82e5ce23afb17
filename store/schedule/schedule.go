// Package schedule says when hours and days are made, and makes them then.
//
// Hours and days are made by the process that has the node's partition of the stream. When it has
// closed a window, it first writes to the table due that the window's hour is due, and then forgets
// the window. So offsets need not wait until the hour is made, and the process that has the
// partition next finds what is due. When it has made an hour, it writes that the day is due, and
// then that the hour is made. An entry says when its span was changed last and when it was made
// last. A span that was made from a reading after its last change is done.
//
// Rows of windows live three hours. If an hour could not be made for so long, its frames are read
// from the stream again: the entry has the offset where they begin.
package schedule

import (
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/ring/throttle"
	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/hours"
	"github.com/ringwatch/ringwatch/store/rows"
)

// Config is what a Schedule works with.
type Config struct {
	Engine rows.Engine
	Maker  *hours.Maker
	Memory *memory.Budget // of closing windows, too; nil: whatever it needs
	Clock  *calendar.Clock
	Log    *slog.Logger
	// Grace is for how long windows wait for late frames, HourSpread over how long the hours of a
	// fleet are made.
	Grace, HourSpread time.Duration
	Metrics           Metrics
}

// Metrics count what is to be made.
type Metrics struct {
	Owed    prometheus.Gauge   // hours and days
	Retries prometheus.Counter // of calls
}

// Window is a window that is to be closed before its hour is made.
type Window struct {
	Account string
	Node    uuid.UUID
	Start   int64
}

// ErrExpired says that a window's frames may have expired before it was closed, because Cassandra
// was away for too long: they must be read from the stream again.
var ErrExpired = errors.New("store: frames expired before their window was closed; they will be " +
	"read from the stream again")

// Schedule are the hours and days of a Writer's partitions that are to be made.
type Schedule struct {
	config  Config
	table   *rows.Table
	work    rows.Work       // what its calls are for
	open    func() []Window // that are closed first
	loads   bool            // what comes is in no stream
	expired *atomic.Bool    // rows may be gone before they were made into an hour, see Writer.Again

	mu       sync.Mutex
	spans    map[Span]*entry
	assigned map[int32]bool // partitions of the Writer
	unread   map[int32]bool // of those, where it has yet to look for what is due
	replayed map[Span]bool  // hours whose frames were read from the stream a second time
}

// New returns a Schedule of no partition. open returns the windows that are to be closed, loads
// says that what comes is in no stream, and expired is set when frames must come again.
func New(c Config, work rows.Work, open func() []Window, loads bool,
	expired *atomic.Bool) *Schedule {
	return &Schedule{config: c, table: Layout(), work: work, open: open, loads: loads,
		expired: expired, spans: map[Span]*entry{}, assigned: map[int32]bool{},
		unread: map[int32]bool{}, replayed: map[Span]bool{}}
}

const (
	// ExpirySlack is how long before what it is made of expires something must be begun: reading
	// takes a few calls of a query's time at most.
	ExpirySlack = time.Minute
	// dueFor is how long an entry lives: the stream keeps a day.
	dueFor = 3 * 24 * time.Hour
	// lateSpanDelay is how long a change of a span that is long over waits for others.
	lateSpanDelay = time.Minute
	// daySpread is over how many times HourSpread the days of a fleet are made.
	daySpread = 6
	// lookEvery is how often run looks for spans that are to be made, and madeAtOnce how
	// many are made at once.
	lookEvery  = 5 * time.Second
	madeAtOnce = 2
	// mostLate is how long a span waits for a window in it that cannot be closed.
	mostLate = time.Hour
	// readEvery is how often a process looks again for what is due in its partitions. Another
	// process may have written it: one that died, or that lost the partition and did not know it.
	readEvery = 15 * time.Minute
	// leastMemory is with how much making a span begins, and largeRetry after how long one is tried
	// again that needs more memory than there is.
	leastMemory = 4 << 20
	largeRetry  = time.Minute
	// streamKeeps is for how long the stream has frames.
	streamKeeps = 24 * time.Hour
)

// rollingPatience is how long rolling up waits for the throttle. It uses what closes windows, which
// must not wait behind it; it is tried again.
const rollingPatience = time.Second

// Rolling is what making hours and days is for: a load's is the load's.
func Rolling(work rows.Work) rows.Work {
	if work.Class != "" {
		return work
	}
	return rows.Work{Class: throttle.Bulk, Client: "Ringwatch/rollups", Patience: rollingPatience}
}
