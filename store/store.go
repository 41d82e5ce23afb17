// Package store keeps what nodes said, in Cassandra or in a directory of files, and answers by
// node, metric and time. Every reader and writer of metrics goes through it. Start with Store; it
// gives a Writer, a Reader and a Schema.
//
//	frame ──Writer.Handle──▶ fresh (a row per frame)
//	                           │ the five minutes are over: closer.go
//	                           ▼
//	                         v3_windows (rows live three hours)
//	                           │ the hour is over: due.go, make_hour.go
//	                           ├──▶ v3_hours (an hour by metric)
//	                           └──▶ rollup_5m ──make_day.go──▶ rollup_1h, rollup_1d
//
// v3 is the default Generation of tables. A window is answered from its hour or from its own rows
// if a head row has it, else from fresh. So there is neither gap nor doubling, whenever and by
// whomever it is closed. Package layout says how hours and windows lie in rows, package rows what
// an engine of rows is.
//
// What it promises: a frame that WriteFrame took is found by Reader.Read until its TTL, exactly
// once per series and instant, whatever was written twice, late, in which order, or by which
// process. A frame that arrives after its window was closed is seen at once, too: see late.go.
//
// What bites: windows with late frames are read from both layers until the frames have expired,
// which costs a read more.
//
// Of our other packages it imports frame, window, ring, memory, access and stream, and no role.
package store

import (
	"context"
	"hash/maphash"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/window"
)

// Store is a connection to Cassandra, or an open directory. Its methods may be called from many
// goroutines.
type Store struct {
	config  Config
	limits  *calendar.Limits
	metrics *Metrics
	log     *slog.Logger
	session database

	*Schema
	*keyRows
	*progressRows
	cutovers  *cutoverRows
	nodes     *nodeRows
	late      *lateRows
	fresh     *freshRows
	events    *eventRows
	series    *dictionaryRows
	announcer *announcer
	byName    map[string]*rows.Table // all tables
	clock     *calendar.Clock

	pace         *pace                                           // of closing windows
	dictionaries *recentCache[dictionaryKey, *window.Dictionary] // decoded
	kept         *recentCache[spanID, *keptSpan]                 // nil: none are kept
	fewRows      int                                             // see finalRunsReader
	sent         sentDictionaries                                // of key frames
}

type dictionaryKey struct {
	account string
	node    uuid.UUID
	hash    window.Hash
}

// dictionaryValues bounds decoded dictionaries, which weigh what they have of labels.
const dictionaryValues = 4_000_000

// New checks the configuration. It starts nothing: call Connect. m may be nil.
func New(c Config, m *Metrics) (*Store, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if m == nil {
		m = NewMetrics(nil)
	}
	db, err := newDatabase(&c, m)
	if err != nil {
		return nil, err
	}
	return newStore(db, c, m), nil
}

// newStore returns a store on a database, with a configuration that is valid.
func newStore(session database, c Config, m *Metrics) *Store {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	s := &Store{
		config: c, limits: c.limits(), metrics: m, log: c.Log, session: session,
		clock: calendar.NewClock(c.Now), pace: newPace(m.ClosingAtOnce.Set),
		dictionaries: newRecentCache[dictionaryKey, *window.Dictionary](dictionaryValues),
		byName:       map[string]*rows.Table{},
		fewRows:      fewRows,
		sent:         newSentDictionaries(),
	}
	for _, t := range c.tables() {
		s.byName[t.Name] = t
	}
	for _, name := range Generations() {
		g, _ := s.task(rows.Work{}, memory.Unbounded()).generation(name) // there is each of them
		for _, t := range g.Tables(&s.config) {
			s.byName[t.Name] = t
		}
	}
	if c.KeptBytes > 0 {
		s.kept = newRecentCache[spanID, *keptSpan](c.KeptBytes)
	}
	s.keyRows = &keyRows{engine: session, clock: s.clock, keys: keysLayout(),
		nodes: keyNodesLayout()}
	s.progressRows = &progressRows{engine: session, table: progressLayout()}
	s.cutovers = &cutoverRows{engine: session, table: cutoverLayout(), limits: s.limits,
		clock: s.clock, first: c.Generation}
	s.nodes = &nodeRows{engine: session, table: c.nodesLayout()}
	clusters := &lateClusterRows{engine: session, table: c.lateClustersLayout(), limits: s.limits, clock: s.clock,
		marked:   newRecentCache[clusterID, time.Time](lateMarks),
		accounts: map[string]*clusterMarks{},
		age:      lateAge}
	s.late = &lateRows{engine: session, table: c.lateLayout(), limits: s.limits, clock: s.clock,
		clusters: clusters, marked: newRecentCache[windowID, time.Time](lateMarks),
		known: newRecentCache[nodeID, nodeMarks](knownNodes)}
	s.fresh = &freshRows{engine: session, table: c.freshLayout()}
	s.events = &eventRows{engine: session, table: c.eventsLayout(), late: c.eventsLateLayout(),
		limits: s.limits, perMinute: c.EventsPerMinute, metrics: m, clock: s.clock,
		written: newRecentCache[clusterMinute, int](eventMinutes),
		let:     newRecentCache[frameMinute, int](eventMinutes), seed: maphash.MakeSeed(),
		atOnce: eventsAtOnce, pageWork: eventsWork, pageBytes: eventsBytes}
	s.series = &dictionaryRows{engine: session, series: c.seriesLayout(), written: writtenLayout(),
		metrics: m, log: c.Log, clock: s.clock,
		known: newRecentCache[writtenKey, []window.Hash](writtenBytes)}
	s.announcer = &announcer{dictionaries: s.series, fresh: s.fresh, clock: s.clock, log: c.Log,
		slots: make(chan struct{}, announcesAtOnce), sent: s.sent, catchUpAfter: catchUpAfter,
		keys:    newRecentCache[nodeDay, uint64](announcedNodes),
		windows: newRecentCache[windowID, time.Time](announcedNodes)}
	s.Schema = &Schema{config: &s.config, log: c.Log, clock: s.clock, session: session, cutovers: s.cutovers,
		tables: c.tables(), generation: s.task(rows.Work{}, memory.Unbounded()).generation}
	s.external, _ = session.(externalDatabase)
	return s
}

// Connect connects to Cassandra, trying again with backoff until it succeeds or ctx ends. Each
// failure is logged. A directory is opened at once, or not at all.
func (s *Store) Connect(ctx context.Context) error { return s.session.Connect(ctx) }

// Close ends the connection.
func (s *Store) Close() { s.session.Close() }

// retry calls f until it succeeds, its error is not retryable or ctx ends.
func (s *Store) retry(ctx context.Context, what string, f func() error) error {
	return rows.Retry(ctx, what, s.metrics.Retries.Inc, f)
}
