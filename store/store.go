// Package store keeps what nodes said, in Cassandra or in a directory of files, and answers by
// node, metric and time. Every reader and writer of metrics goes through it. Start with Store; it
// gives a Writer, a Reader and a Schema.
//
//	frame ──Writer.Handle──▶ fresh (a row per frame)
//	                           │ the five minutes are over: package closing
//	                           ▼
//	                         v3_windows (rows live three hours)
//	                           │ the hour is over: packages schedule and hours
//	                           ├──▶ v3_hours (an hour by metric)
//	                           └──▶ rollup_5m ──the day is over──▶ rollup_1h, rollup_1d
//
// v3 is the default Generation of tables. A window is answered from its hour or from its own rows
// if a head row has it, else from fresh. So there is neither gap nor doubling, whenever and by
// whomever it is closed. Package layout says how hours and windows lie in rows, package rows what
// an engine of rows is.
//
// What it promises: a frame that WriteFrame took is found by Reader.Read until its TTL, exactly
// once per series and instant, whatever was written twice, late, in which order, or by which
// process. A frame that arrives after its window was closed is seen at once, too: see package late.
//
// What bites: windows with late frames are read from both layers until the frames have expired,
// which costs a read more.
//
// Its rooms, in the order in which data passes them. Those of the first list keep one thing each,
// in a table or two of their own, and know the engine and no other (but dictionaries, which reads
// key frames again):
//
//	cutovers      which generation of tables serves a window
//	late          marks of windows and clusters that get a frame late
//	fresh         frames, until their window is closed
//	events        what happened on nodes
//	nodes         what is known of monitored nodes
//	dictionaries  what the columns of windows and rollups refer to
//	progress      up to when the stream's frames are here
//	keys          API keys, and which nodes they are bound to
//
// Those of the second are made of them, each of the ones above it:
//
//	layout        how windows, hours and rollups lie in rows: pure
//	spans         windows, hours and runs of rollups: written, read, and cached as columns
//	samples       generations v1 and v2: a row per sample
//	columns       generation v3: windows and hours
//	generations   all of them, and which of them serves which windows
//	rollups       rollups of five minutes, hours and days
//	hours         makes hours of windows, and days of hours
//	schedule      says when, and does it
//	closing       makes windows of frames, when they are over
//	reading       answers from all of that
//	schema        makes the tables, and cuts over from one generation to another
//	moving        moves a directory into Cassandra
//
// Below them are calendar (windows, hours, days; how long what lives; the clock), cache, and rows,
// the engines. Here are the door, Store, Writer and Reader, and what takes frames: Handle and Load.
//
// Of our other packages it imports frame, window, ring, memory, access and stream, and no role.
package store

import (
	"context"
	"log/slog"
	"time"

	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/closing"
	"github.com/ringwatch/ringwatch/store/columns"
	"github.com/ringwatch/ringwatch/store/cutovers"
	"github.com/ringwatch/ringwatch/store/dictionaries"
	"github.com/ringwatch/ringwatch/store/events"
	"github.com/ringwatch/ringwatch/store/fresh"
	"github.com/ringwatch/ringwatch/store/generations"
	"github.com/ringwatch/ringwatch/store/hours"
	"github.com/ringwatch/ringwatch/store/keys"
	"github.com/ringwatch/ringwatch/store/late"
	"github.com/ringwatch/ringwatch/store/nodes"
	"github.com/ringwatch/ringwatch/store/progress"
	"github.com/ringwatch/ringwatch/store/reading"
	"github.com/ringwatch/ringwatch/store/rollups"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/samples"
	"github.com/ringwatch/ringwatch/store/schedule"
	"github.com/ringwatch/ringwatch/store/schema"
	"github.com/ringwatch/ringwatch/store/spans"
)

// Store is a connection to Cassandra, or an open directory. Its methods may be called from many
// goroutines.
type Store struct {
	config  Config
	limits  *calendar.Limits
	metrics *Metrics
	log     *slog.Logger
	session database
	// external is nil if the database is a directory, which is our own.
	external externalDatabase

	*schema.Schema   // tables, and which of them serve when
	*keys.Register   // API keys
	*progress.Ledger // up to when frames are here
	cutovers         *cutovers.Table
	generations      *generations.Set
	rollups          *rollups.Tables
	reading          *reading.Source
	hours            *hours.Maker
	nodes            *nodes.Nodes
	late             *late.Windows
	fresh            *fresh.Frames
	events           *events.Log
	series           *dictionaries.Table
	announcer        *dictionaries.Announcer
	byName           map[string]*rows.Table // all tables
	clock            *calendar.Clock

	closing  *closing.Maker
	schedule schedule.Config
	cache    *spans.Cache      // nil: nothing is kept
	sent     dictionaries.Sent // of key frames
}

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
	if c.Now == nil {
		c.Now = time.Now
	}
	return newStore(db, c, calendar.NewClock(c.Now), m), nil
}

// newStore returns a store on a database, with a configuration that is valid.
func newStore(session database, c Config, clock *calendar.Clock, m *Metrics) *Store {
	if c.Log == nil {
		c.Log = slog.Default()
	}
	s := &Store{config: c, limits: c.limits(), metrics: m, log: c.Log, session: session,
		clock: clock, sent: dictionaries.NewSent()}
	s.cache = spans.NewCache(c.KeptBytes, s.limits, s.clock)
	s.makeKeepers()
	s.makeGenerations()
	s.makeWorkers()
	s.makeSchema()
	return s
}

// makeKeepers makes the rooms that keep one thing each.
func (s *Store) makeKeepers() {
	c := &s.config
	s.Register = keys.New(s.session, s.clock)
	s.Ledger = progress.New(s.session)
	s.cutovers = cutovers.New(s.session, s.limits, s.clock, c.Generation)
	s.nodes = nodes.New(s.session, c.RawTTL)
	s.late = late.New(s.session, s.limits, s.clock)
	s.fresh = fresh.New(s.session, c.FreshTTL)
	s.events = events.New(s.session, s.limits, c.EventsPerMinute, s.clock, s.metrics.events)
	s.series = dictionaries.New(s.session, c.RawTTL, s.clock, s.metrics.dictionaries, s.log)
	s.announcer = dictionaries.NewAnnouncer(s.series, s.fresh, s.sent, s.clock, s.log)
}

// makeGenerations makes what windows, hours and rollups are kept in.
func (s *Store) makeGenerations() {
	ttl, m := s.config.RawTTL, s.metrics
	s.generations = &generations.Set{Cutovers: s.cutovers,
		V1: samples.V1(s.series, ttl, m.samples),
		V2: samples.V2(s.series, ttl, m.samples),
		V3: columns.New(s.series, s.limits, s.clock, s.cache, m.columns)}
	s.rollups = rollups.New(s.series, s.limits, s.cache, m.rollupBytes)
}

// makeWorkers makes what answers from the others, and what makes more of them.
func (s *Store) makeWorkers() {
	c, m := &s.config, s.metrics
	s.reading = &reading.Source{Generations: s.generations, Rollups: s.rollups, Fresh: s.fresh,
		Late: s.late, Sent: s.sent, Limits: s.limits, Clock: s.clock, Cache: s.cache,
		FewRows: reading.FewRows, Metrics: m.reading}
	s.hours = &hours.Maker{Generations: s.generations, Rollups: s.rollups, Dictionaries: s.series,
		Limits: s.limits, Clock: s.clock, Log: s.log, Metrics: m.hours}
	s.closing = &closing.Maker{Engine: s.session, Generations: s.generations, Fresh: s.fresh,
		Sent: s.sent, Limits: s.limits, Clock: s.clock, Log: s.log, Memory: c.Memory,
		AtOnce: closing.NewLimiter(m.closingLimit.Set), Metrics: m.closing}
	s.schedule = schedule.Config{Engine: s.session, Maker: s.hours, Memory: c.Memory,
		Clock: s.clock, Log: s.log, Grace: c.Grace, HourSpread: c.HourSpread, Metrics: m.schedule}
}

// makeSchema makes the schema of all tables.
func (s *Store) makeSchema() {
	c := &s.config
	shared := c.tables(s.rollups)
	s.byName = map[string]*rows.Table{}
	for _, t := range shared {
		s.byName[t.Name] = t
	}
	for _, name := range generations.Names() {
		g, _ := s.generations.Named(name, spans.Task{}) // there is each of them
		for _, t := range g.Tables() {
			s.byName[t.Name] = t
		}
	}
	of := schema.Config{Database: s.session, Cutovers: s.cutovers, Generations: s.generations,
		Tables: shared, Clock: s.clock, Log: s.log, Generation: c.Generation, Keyspace: c.Keyspace,
		RawTTL: c.RawTTL}
	if external, is := s.session.(externalDatabase); is {
		s.external, of.External = external, external
	}
	s.Schema = schema.New(of)
}

// Connect connects to Cassandra, trying again with backoff until it succeeds or ctx ends. Each
// failure is logged. A directory is opened at once, or not at all.
func (s *Store) Connect(ctx context.Context) error { return s.session.Connect(ctx) }

// Close ends the connection.
func (s *Store) Close() { s.session.Close() }

// task is the store's engine at work for somebody.
func (s *Store) task(work rows.Work, lease *memory.Lease) spans.Task {
	return spans.Task{Engine: s.session, Work: work, Lease: lease}
}

// retry calls f until it succeeds, its error is not retryable or ctx ends.
func (s *Store) retry(ctx context.Context, what string, f func() error) error {
	return rows.Retry(ctx, what, s.metrics.retries.Inc, f)
}
