package wire

import (
	"context"
	"errors"
	"math"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/clock"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/query/index"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/query/roster"
	"github.com/ringwatch/ringwatch/query/selector"
	"github.com/ringwatch/ringwatch/recent"
	"github.com/ringwatch/ringwatch/ring/throttle"
	"github.com/ringwatch/ringwatch/store"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
	"github.com/ringwatch/ringwatch/window/events"
	"github.com/ringwatch/ringwatch/window/rollup"
)

// questions are what answers readers' questions of the store and of the last 15 minutes.
type questions struct {
	reader    *read.Reader
	engine    *query.Engine
	selectors *selector.Parser
}

// newQuestions makes them over the store, the last 15 minutes, who has left, and the index of
// series.
func newQuestions(p *Process, db *store.Store, redis *recent.Reader, nodes *roster.Roster,
	heard *pulse, idx *index.Index) (q questions, err error) {
	q.reader, err = read.New(p.Config.API.Reader(), read.Sources{
		Store:     APIStore{db},
		Rollups:   APIStore{db}.ReadRollup,
		LastSeen:  APIStore{db}.LastSeen,
		Behind:    behind(db.Progress, p.Role == "all"),
		Roster:    nodes,
		Pulse:     heard.unbroken,
		Away:      heard.awayNow,
		Unchanged: db.Unchanged,
		Settles:   p.Config.Cassandra.Settles(),
		Build:     db.Build,
		Recent:    redis,
		Miss:      recent.ErrMiss,
		Memory:    p.budget,
		Metrics:   p.Metrics,
	})
	if err != nil {
		return q, err
	}
	if q.selectors, err = selector.New(p.Config.API.Selectors); err != nil {
		return q, err
	}
	p.Config.Query.Clock, p.Config.Query.NodesTTL, p.Config.Query.RawRetention = clock.Now,
		p.Config.API.NodesTTL,
		p.Config.Cassandra.RawTTL
	p.Config.Query.RollupRetention =
		map[rollup.Level]time.Duration{rollup.FiveMinutes: p.Config.Cassandra.FiveMinutesTTL,
			rollup.Hour: p.Config.Cassandra.HourTTL, rollup.Day: p.Config.Cassandra.DayTTL}
	q.engine, err = query.NewEngine(p.Config.Query, q.reader, idx, q.selectors, p.Metrics, p.Log)
	p.engine.Store(q.engine)
	return q, err
}

// APIStore is the store for query. It binds each reading to its account and to the memory of its
// request, says in words what an answer lacks, and makes what the throttle refused a 429.
type APIStore struct{ *store.Store }

// reader reads for an account with the memory of a request.
func (s APIStore) reader(ctx context.Context, account string) store.Reader {
	return s.Store.Reader(store.Dashboard(account), memory.Of(ctx))
}

func (s APIStore) Windows(ctx context.Context, account string, node uuid.UUID, from, to int64,
	facets []blobs.Facet, matchers ...*labels.Matcher) (read.Windows, error) {
	list, report, err := s.reader(ctx, account).Windows(ctx, account, node, from, to, facets,
		matchers...)
	return read.Windows{List: list, From: report.From, Instants: report.Instants,
		Missing: report.Missing()}, APIError(err)
}

// LatestFrames and LastSeen are store.Reader's.
func (s APIStore) LatestFrames(ctx context.Context, account string,
	node uuid.UUID) ([][]byte, int64, bool, error) {
	frames, seen, newer, err := s.reader(ctx, account).LatestFrames(ctx, account, node)
	return frames, seen, newer, APIError(err)
}

func (s APIStore) LastSeen(ctx context.Context, account string,
	nodes []uuid.UUID) (map[uuid.UUID]int64, error) {
	seen, err := s.reader(ctx, account).LastSeen(ctx, account, nodes)
	return seen, APIError(err)
}

// APIError makes what the throttle refused a 429.
func APIError(err error) error {
	held, ok := errors.AsType[*throttle.Error](err)
	if !ok {
		return err
	}
	return &listener.Error{Status: http.StatusTooManyRequests, Reason: "throttled",
		Message:    "too many reads are under way: ask again in a moment, or for less",
		RetryAfter: max(1, int(math.Ceil(held.RetryAfter.Seconds()))), Cause: err}
}

// Events is store.Reader.Events.
func (s APIStore) Events(ctx context.Context, account string,
	q events.Query) (events.Page, error) {
	page, err := s.reader(ctx, account).Events(ctx, account, q)
	return page, APIError(err)
}

// ReadRollup is store.Reader.ReadRollup with its report in words.
func (s APIStore) ReadRollup(
	ctx context.Context, account string, node uuid.UUID, level rollup.Level, from, to int64,
	facets []blobs.Facet, matchers ...*labels.Matcher,
) ([]rollup.Series, []string, error) {
	series, report, err := s.reader(ctx, account).ReadRollup(ctx, account, node, level, from, to,
		facets, matchers...)
	return series, report.Missing(), APIError(err)
}

// Nodes gives each node once: one that has changed its cluster's name is listed under both, and
// the newer counts.
func (s APIStore) Nodes(ctx context.Context, account string) ([]window.Node, error) {
	known, err := s.reader(ctx, account).Nodes(ctx, account)
	newest := map[uuid.UUID]int64{}
	for i := range known {
		newest[known[i].ID] = max(newest[known[i].ID], known[i].LastKey)
	}
	var nodes []window.Node
	for i := range known {
		if known[i].LastKey == newest[known[i].ID] {
			nodes = append(nodes, known[i].Node)
		}
	}
	return nodes, APIError(err)
}
