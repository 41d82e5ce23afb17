package main

import (
	"context"
	"errors"
	"math"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/query/index"
	"github.com/ringwatch/ringwatch/query/roster"
	"github.com/ringwatch/ringwatch/query/selector"
	"github.com/ringwatch/ringwatch/recent"
	"github.com/ringwatch/ringwatch/ring/throttle"
	"github.com/ringwatch/ringwatch/store"
	"github.com/ringwatch/ringwatch/window/blobs"
	"github.com/ringwatch/ringwatch/window/events"
	"github.com/ringwatch/ringwatch/window/rollup"
)

// questions are what answers readers' questions of the store and of the last 15 minutes.
type questions struct {
	reader    *query.Reader
	engine    *query.Engine
	selectors *selector.Parser
}

// questions makes them over the store, the last 15 minutes, who has left, and the index of series.
func (p *process) questions(db *store.Store, redis *recent.Reader, nodes *roster.Roster,
	heard *pulse, idx *index.Index) (q questions, err error) {
	q.reader, err = query.NewReader(p.API.Reader(), query.Sources{
		Store:     apiStore{db},
		Rollups:   apiStore{db}.ReadRollup,
		LastSeen:  apiStore{db}.LastSeen,
		Behind:    behind(db.Progress, p.role == "all"),
		Roster:    nodes,
		Pulse:     heard.unbroken,
		Away:      heard.awayNow,
		Unchanged: db.Unchanged,
		Settles:   p.Cassandra.Settles(),
		Build:     db.Build,
		Recent:    redis,
		Miss:      recent.ErrMiss,
		Memory:    p.budget,
		Metrics:   p.metrics,
	})
	if err != nil {
		return q, err
	}
	if q.selectors, err = selector.New(p.API.Selectors); err != nil {
		return q, err
	}
	p.Query.Clock, p.Query.NodesTTL, p.Query.RawRetention = clock, p.API.NodesTTL,
		p.Cassandra.RawTTL
	p.Query.RollupRetention =
		map[rollup.Level]time.Duration{rollup.FiveMinutes: p.Cassandra.FiveMinutesTTL,
			rollup.Hour: p.Cassandra.HourTTL, rollup.Day: p.Cassandra.DayTTL}
	q.engine, err = query.NewEngine(p.Query, q.reader, idx, q.selectors, p.metrics, p.log)
	p.engine.Store(q.engine)
	return q, err
}

// apiStore is the store for query. It binds each reading to its account and to the memory of its
// request, says in words what an answer lacks, and makes what the throttle refused a 429.
type apiStore struct{ *store.Store }

// reader reads for an account with the memory of a request.
func (s apiStore) reader(ctx context.Context, account string) store.Reader {
	return s.Store.Reader(store.Dashboard(account), memory.Of(ctx))
}

func (s apiStore) Windows(ctx context.Context, account string, node uuid.UUID, from, to int64,
	facets []blobs.Facet, matchers ...*labels.Matcher) (query.Windows, error) {
	list, report, err := s.reader(ctx, account).Windows(ctx, account, node, from, to, facets,
		matchers...)
	return query.Windows{List: list, From: report.From, Instants: report.Instants,
		Missing: report.Missing()}, apiError(err)
}

// LatestFrames and LastSeen are store.Reader's.
func (s apiStore) LatestFrames(ctx context.Context, account string,
	node uuid.UUID) ([][]byte, int64, bool, error) {
	frames, seen, newer, err := s.reader(ctx, account).LatestFrames(ctx, account, node)
	return frames, seen, newer, apiError(err)
}

func (s apiStore) LastSeen(ctx context.Context, account string,
	nodes []uuid.UUID) (map[uuid.UUID]int64, error) {
	seen, err := s.reader(ctx, account).LastSeen(ctx, account, nodes)
	return seen, apiError(err)
}

// apiError makes what the throttle refused a 429.
func apiError(err error) error {
	held, ok := errors.AsType[*throttle.Error](err)
	if !ok {
		return err
	}
	return &listener.Error{Status: http.StatusTooManyRequests, Reason: "throttled",
		Message:    "too many reads are under way: ask again in a moment, or for less",
		RetryAfter: max(1, int(math.Ceil(held.RetryAfter.Seconds()))), Cause: err}
}

// Events is store.Reader.Events.
func (s apiStore) Events(ctx context.Context, account string,
	q events.Query) (events.Page, error) {
	page, err := s.reader(ctx, account).Events(ctx, account, q)
	return page, apiError(err)
}

// ReadRollup is store.Reader.ReadRollup with its report in words.
func (s apiStore) ReadRollup(
	ctx context.Context, account string, node uuid.UUID, level rollup.Level, from, to int64,
	facets []blobs.Facet, matchers ...*labels.Matcher,
) ([]rollup.Series, []string, error) {
	series, report, err := s.reader(ctx, account).ReadRollup(ctx, account, node, level, from, to,
		facets, matchers...)
	return series, report.Missing(), apiError(err)
}

// Nodes gives each node once: one that has changed its cluster's name is listed under both, and
// the newer counts.
func (s apiStore) Nodes(ctx context.Context, account string) ([]query.Node, error) {
	known, err := s.reader(ctx, account).Nodes(ctx, account)
	newest := map[uuid.UUID]int64{}
	for i := range known {
		newest[known[i].ID] = max(newest[known[i].ID], known[i].LastKey)
	}
	var nodes []query.Node
	for i := range known {
		if known[i].LastKey == newest[known[i].ID] {
			nodes = append(nodes, known[i].Node)
		}
	}
	return nodes, apiError(err)
}
