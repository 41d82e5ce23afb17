package main

import (
	"context"
	"slices"

	"github.com/ringwatch/ringwatch/access/limit"
	"github.com/ringwatch/ringwatch/api"
	"github.com/ringwatch/ringwatch/api/qps"
)

// The role api.
//
//	reader ──GET──► api.Server ──► query.Reader, query.Engine ──► recent.Reader ──► Redis, or memory
//	                   │                └─(miss, Redis away, or older)──► store.Store ──► Cassandra
//	                   ├─ which series there are ──► index.Index ◄── index.Loader ◄── store.Store
//	                   ├─ POST /v1/lookup ──► lookup.Lookup ──► throttle.Throttle ──► ring.Reader
//	                   ├─ /api/v1 ──► promapi ──► query.Engine, rules.Status
//	                   ├─ /v1/rules ──► rules.Status ◄── topics of the role rules
//	                   └─ the daily reports ──► query.Engine ──► a directory, a webhook, a topic

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

// apiParts wires the drawing above. It waits for Cassandra alone.
func (p *process) apiParts(ctx context.Context) (parts []part, err error) {
	catalogs, err := p.catalogs()
	if err != nil {
		return nil, err
	}
	conditions, err := p.conditions()
	if err != nil {
		return nil, err
	}
	advice, err := p.advice()
	if err != nil {
		return nil, err
	}
	throttle, parts, err := p.throttled()
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
	lookup, looking, err := p.lookupParts(throttle)
	if err != nil {
		return nil, err
	}
	redis, err := p.openReader()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			redis.Close()
		}
	}()
	p.API.Clock = clock
	nodes, forget, following := p.rosterParts()
	heard := &pulse{}
	q, err := p.questions(db, redis, nodes, heard, index)
	if err != nil {
		return nil, err
	}
	board, publish, boards, err := p.boardParts()
	if err != nil {
		return nil, err
	}
	reports, err := p.reportParts(q, catalogs, advice, apiStore{db}.Events)
	if err != nil {
		return nil, err
	}
	limiter, err := limit.New(p.Limits, redis.Redis(), p.metrics)
	if err != nil {
		return nil, err
	}
	server, err := api.New(p.API, api.Deps{
		Routes: slices.Concat(p.promAPI(q, board).Routes(), board.Routes(publish),
			p.lokiAPI(q, db).Routes()),
		Admit:       p.door.Admit,
		Limit:       limiter.Take,
		Reader:      q.reader,
		Engine:      q.engine,
		Catalog:     catalogs.of,
		Report:      reportsFor(q.engine, nodes, catalogs.of, advice, apiStore{db}.Events),
		Safe:        conditions.of,
		Advice:      advice.of,
		Series:      index,
		SeriesState: loader.State,
		StoreReady:  db.Ready,
		Warning:     p.warning(db),
		Lookup:      lookup,
		Work:        qps.Of(throttle),
		Installed:   p.installation(),
		Away:        heard.awayNow,
		MakeKey:     p.makeKey(db),
		Sessions:    p.sessions(db),
		Events:      apiStore{db}.Events,
		Forget:      forget,
		RecentReady: redis.Ping,
		Near:        p.limit.Near,
		Metrics:     p.metrics,
		Log:         p.log,
	})
	if err != nil {
		return nil, err
	}
	p.log.Info("api listens", "address", server.Addr())
	parts = slices.Concat(parts, looking, reports)
	return append(parts, following, p.hearing(heard), boards, loader.Run, p.young(db, q.reader, index),
		func(ctx context.Context) error {
			defer redis.Close()
			defer q.engine.Close()
			return server.Run(ctx)
		}), nil
}
