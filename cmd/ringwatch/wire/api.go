package wire

import (
	"context"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/access/limit"
	"github.com/ringwatch/ringwatch/api"
	"github.com/ringwatch/ringwatch/api/fleet"
	"github.com/ringwatch/ringwatch/api/lookup"
	"github.com/ringwatch/ringwatch/api/qps"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/clock"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	"github.com/ringwatch/ringwatch/ring/throttle"
)

// The role api.
//
//	reader ──GET──► api.Server ──► read.Reader, query.Engine ──► recent.Reader ──► Redis, or memory
//	                   │                └─(miss, Redis away, or older)──► store.Store ──► Cassandra
//	                   ├─ which series there are ──► index.Index ◄── index.Loader ◄── store.Store
//	                   ├─ POST /v1/lookup ──► lookup.Lookup ──► throttle.Throttle ──► ring.Reader
//	                   ├─ /api/v1 ──► promapi ──► query.Engine, rules.Status
//	                   ├─ /alertmanager ──► notify.Notifier of the role rules
//	                   ├─ /v1/rules ──► rules.Status ◄── topics of the role rules
//	                   └─ the daily reports ──► query.Engine ──► a directory, a webhook, a topic

// API wires the drawing above. It waits for Cassandra alone.
func API(ctx context.Context, p *Process) (parts []Part, err error) {
	catalogs, err := p.Config.Catalogs()
	if err != nil {
		return nil, err
	}
	conditions, err := p.Config.Conditions()
	if err != nil {
		return nil, err
	}
	advice, err := p.Config.Advice()
	if err != nil {
		return nil, err
	}
	throttle, parts, err := p.Throttled()
	if err != nil {
		return nil, err
	}
	db, err := p.OpenStore(ctx)
	if err != nil {
		return nil, err
	}
	index, loader, err := seriesParts(p, db)
	if err != nil {
		return nil, err
	}
	lookup, looking, err := lookupParts(p, throttle)
	if err != nil {
		return nil, err
	}
	redis, err := p.OpenReader()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			redis.Close()
		}
	}()
	p.Config.API.Clock = clock.Now
	nodes, forget, following := rosterParts(p)
	heard := &pulse{}
	q, err := newQuestions(p, db, redis, nodes, heard, index)
	if err != nil {
		return nil, err
	}
	board, publish, boards, err := boardParts(p)
	if err != nil {
		return nil, err
	}
	reported := ReportSource{Engine: q.engine, Roster: nodes, Catalog: catalogs.For, Advice: advice,
		Happened: APIStore{db}.Events, Told: p.told}
	reports, err := reportParts(p, q, reported)
	if err != nil {
		return nil, err
	}
	p.insights.Store(&insights{nodes: fleet.New(q.reader, p.Config.API.NodesTTL), engine: q.engine,
		advice: advice, happened: APIStore{db}.Events})
	limiter, err := limit.New(p.Config.Limits, redis.Redis(), p.Metrics)
	if err != nil {
		return nil, err
	}
	server, err := api.New(p.Config.API, api.Deps{
		Routes: slices.Concat(prometheusAPI(p, q, board).Routes(), board.Routes(publish),
			lokiAPI(p, q, db).Routes(), alertmanagerAPI(p)),
		Admit:       p.Door.Admit,
		Limit:       limiter.Take,
		Reader:      q.reader,
		Engine:      q.engine,
		Catalog:     catalogs.For,
		Report:      reported.Make,
		Safe:        conditions.For,
		Advice:      advice.For,
		Series:      index,
		SeriesState: loader.State,
		StoreReady:  db.Ready,
		Warning:     p.Warning(db),
		Lookup:      lookup,
		Work:        qps.Of(throttle),
		Installed:   installation(p.Config),
		Away:        heard.awayNow,
		MakeKey:     keyMaker(p, db),
		Sessions:    newSessions(p, db),
		Events:      APIStore{db}.Events,
		Forget:      forget,
		RecentReady: redis.Ping,
		Near:        p.limit.Near,
		Metrics:     p.Metrics,
		Log:         p.Log,
	})
	if err != nil {
		return nil, err
	}
	p.Log.Info("api listens", "address", server.Addr())
	parts = slices.Concat(parts, looking, reports)
	return append(parts, following, hearPulse(p, heard), boards, loader.Run,
		indexYoung(p, db, q.reader, index),
		func(ctx context.Context) error {
			defer redis.Close()
			defer q.engine.Close()
			return server.Run(ctx)
		}), nil
}

// lookupParts wires HTTP → the throttle → the Cassandra that has the tables.
func lookupParts(p *Process, t *throttle.Throttle) (lookup.Read, []Part, error) {
	c := p.Config.LookupOrStore()
	if !c.On() {
		return nil, nil, nil
	}
	if err := c.TLS.Check(); err != nil {
		return nil, nil, exit.Usage(err)
	}
	l, err := lookup.New(c, p.Config.Ring, t.In(c.Datacenter),
		prometheus.WrapRegistererWith(prometheus.Labels{"reader": "lookup"}, p.Metrics), p.Log)
	if err != nil {
		return nil, nil, err
	}
	return l.Read, []Part{l.Run}, nil
}
