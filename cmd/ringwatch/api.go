package main

import (
	"context"
	"errors"
	"math"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/limit"
	"github.com/ringwatch/ringwatch/api"
	"github.com/ringwatch/ringwatch/api/promapi"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/query/selector"
	"github.com/ringwatch/ringwatch/recent"
	"github.com/ringwatch/ringwatch/ring/throttle"
	"github.com/ringwatch/ringwatch/store"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/rollup"
)

type apiCmd struct{ roleFlags }

func (c *apiCmd) Run(ctx context.Context) error {
	p, err := c.start(ctx, "api", func(c *config) []engine {
		return []engine{c.cassandra(), c.redis()}
	})
	if err != nil {
		return err
	}
	if len(p.Kafka.Brokers) == 0 {
		p.log.Warn("alerts and nodes that have left are not known: " + errNoStream.Error())
	}
	parts, err := p.apiParts(ctx)
	if err != nil {
		return err
	}
	keys, err := p.keyParts()
	if err != nil {
		return err
	}
	return p.run(ctx, append(parts, keys...)...)
}

// apiParts wires HTTP → query.Reader → Redis, else Cassandra; HTTP → the index of series ←
// Cassandra; HTTP → tables that may be looked up; and the daily reports, if there are any.
func (p *process) apiParts(ctx context.Context) ([]part, error) {
	catalogs, err := p.catalogs()
	if err != nil {
		return nil, err
	}
	held, parts, err := p.throttled()
	if err != nil {
		return nil, err
	}
	db, err := p.openStore(ctx)
	if err != nil {
		return nil, err
	}
	index, loader, err := p.seriesParts(db)
	if err != nil {
		return nil, err
	}
	lookup, more, err := p.lookupParts(held)
	if err != nil {
		return nil, err
	}
	parts = append(parts, more...)
	redis, err := p.openReader()
	if err != nil {
		return nil, err
	}
	limiter, err := limit.New(p.Limits, redis.Redis(), p.metrics)
	if err != nil {
		redis.Close()
		return nil, err
	}
	p.API.Clock = clock
	nodes, forget, following := p.rosterParts()
	parts = append(parts, following)
	reader, err := query.NewReader(p.API.Reader(), query.Sources{
		Store:     apiStore{db},
		Rollups:   apiStore{db}.ReadRollup,
		LastSeen:  apiStore{db}.LastSeen,
		Behind:    behind(db.Progress, p.role == "all"),
		Roster:    nodes,
		Unchanged: db.Unchanged,
		Settles:   p.Cassandra.Settles(),
		Build:     db.Build,
		Recent:    redis,
		Miss:      recent.ErrMiss,
		Memory:    p.budget,
		Metrics:   p.metrics,
	})
	if err != nil {
		redis.Close()
		return nil, err
	}
	selectors, err := selector.New(p.API.Selectors)
	if err != nil {
		redis.Close()
		return nil, err
	}
	p.Query.Clock, p.Query.NodesTTL, p.Query.RawRetention = clock, p.API.NodesTTL,
		p.Cassandra.RawTTL
	p.Query.RollupRetention =
		map[rollup.Level]time.Duration{rollup.FiveMinutes: p.Cassandra.FiveMinutesTTL,
			rollup.Hour: p.Cassandra.HourTTL, rollup.Day: p.Cassandra.DayTTL}
	engine, err := query.NewEngine(p.Query, reader, index, selectors, p.metrics, p.log)
	if err != nil {
		redis.Close()
		return nil, err
	}
	p.engine.Store(engine)
	board, publish, boards, err := p.boardParts()
	if err != nil {
		redis.Close()
		return nil, err
	}
	parts = append(parts, boards)
	reports, err := p.reportParts(reader, engine, catalogs)
	if err != nil {
		redis.Close()
		return nil, err
	}
	parts = append(parts, reports...)
	prometheusAPI := promapi.New(promapi.Deps{
		Rules: promRules(board, selectors), Alerts: promAlerts(board),
		Engine: engine, Reader: reader, Version: version(), MaxRequestBytes: p.API.MaxRequestBytes,
		Clock: clock, Log: p.log,
		Config: shownConfig(p.Query), Flags: shownFlags(&p.Query),
	})
	server, err := api.New(p.API, api.Deps{
		Routes:      append(prometheusAPI.Routes(), board.Routes(publish)...),
		Admit:       p.door.Admit,
		Limit:       limiter.Take,
		Reader:      reader,
		Engine:      engine,
		Catalog:     catalogs.of,
		Report:      apiReport(engine, catalogs.of),
		Series:      index,
		SeriesState: loader.State,
		StoreReady:  db.Ready,
		Warning:     p.warning(db),
		Lookup:      lookup,
		Work:        api.WorkOf(held),
		MakeKey:     p.makeKey(db),
		Forget:      forget,
		RecentReady: redis.Ping,
		Near:        p.limit.Near,
		Metrics:     p.metrics,
		Log:         p.log,
	})
	if err != nil {
		redis.Close()
		return nil, err
	}
	p.log.Info("api listens", "address", server.Addr())
	return append(parts, loader.Run, p.young(db, reader, index), func(ctx context.Context) error {
		defer redis.Close()
		defer engine.Close()
		return server.Run(ctx)
	}), nil
}

// maxMadeKeys is how many keys an account may have before the API makes no more: all processes read
// all keys every few seconds, some 200 bytes each.
const maxMadeKeys = 1000

// makeKey is how the API makes keys; nil if the store holds none.
func (p *process) makeKey(db *store.Store) api.MakeKey {
	if !p.Keys.Stored {
		return nil
	}
	maker := account.NewMaker(db.Keys, db.CreateKey, maxMadeKeys)
	return func(ctx context.Context, k *account.StoredKey) (string, error) {
		text, err := maker.Make(ctx, k)
		if errors.Is(err, store.ErrKeysRights) {
			return "", &api.Error{Status: http.StatusConflict, Reason: "keys_not_ours",
				Message: "the server's role in Cassandra may not write API keys: run ringwatch " +
					"key create, " +
					"or grant it what ringwatch schema grants --for keys prints", Cause: err}
		}
		return text, err
	}
}

// apiStore is store.Store in the words of query.
type apiStore struct{ *store.Store }

// reader reads for an account with the memory of a request.
func (s apiStore) reader(ctx context.Context, account string) store.Reader {
	return s.Store.Reader(store.Dashboard(account), memory.Of(ctx))
}

func (s apiStore) Windows(ctx context.Context, account string, node uuid.UUID, from, to int64,
	facets []window.Facet, matchers ...*labels.Matcher) (query.Windows, error) {
	list, report, err := s.reader(ctx, account).Windows(ctx, account, node, from, to, facets,
		matchers...)
	return query.Windows{List: list, From: report.From, Instants: report.Instants,
		Missing: report.Missing()}, apiError(err)
}

// LatestFrames and LastSeen are store.Reader's.
func (s apiStore) LatestFrames(ctx context.Context, account string,
	node uuid.UUID) ([][]byte, int64, error) {
	frames, seen, err := s.reader(ctx, account).LatestFrames(ctx, account, node)
	return frames, seen, apiError(err)
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
	return &api.Error{Status: http.StatusTooManyRequests, Reason: "throttled",
		Message:    "too many reads are under way: ask again in a moment, or for less",
		RetryAfter: max(1, int(math.Ceil(held.RetryAfter.Seconds()))), Cause: err}
}

// ReadRollup is store.Reader.ReadRollup with its report in words.
func (s apiStore) ReadRollup(
	ctx context.Context, account string, node uuid.UUID, level rollup.Level, from, to int64,
	facets []window.Facet, matchers ...*labels.Matcher,
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
