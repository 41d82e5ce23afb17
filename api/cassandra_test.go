package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/api"
	"github.com/ringwatch/ringwatch/api/reply"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/store"
	"github.com/ringwatch/ringwatch/stream"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
	"github.com/ringwatch/ringwatch/window/events"
)

// realStore is store.Store in the words of query.
type realStore struct{ *store.Store }

func (s realStore) reader(ctx context.Context, account string) store.Reader {
	return s.Store.Reader(store.Dashboard(account), memory.Of(ctx))
}

func (s realStore) LatestFrames(ctx context.Context, account string,
	node uuid.UUID) ([][]byte, int64, bool, error) {
	return s.reader(ctx, account).LatestFrames(ctx, account, node)
}

func (s realStore) LastSeen(ctx context.Context, account string,
	nodes []uuid.UUID) (map[uuid.UUID]int64, error) {
	return s.reader(ctx, account).LastSeen(ctx, account, nodes)
}

func (s realStore) Nodes(ctx context.Context, account string) ([]window.Node, error) {
	list, err := s.reader(ctx, account).Nodes(ctx, account)
	var nodes []window.Node
	for _, n := range list {
		nodes = append(nodes, n.Node)
	}
	return nodes, err
}

func (s realStore) Windows(ctx context.Context, account string, node uuid.UUID, from, to int64,
	facets []blobs.Facet, matchers ...*labels.Matcher) (read.Windows, error) {
	list, report, err := s.reader(ctx, account).Windows(ctx, account, node, from, to, facets,
		matchers...)
	return read.Windows{List: list, From: report.From, Instants: report.Instants,
		Missing: report.Missing()}, err
}

func (s realStore) Events(ctx context.Context, account string,
	q events.Query) (events.Page, error) {
	return s.reader(ctx, account).Events(ctx, account, q)
}

func (s realStore) sources() read.Sources {
	return read.Sources{Store: s, LastSeen: s.LastSeen}
}

// TestRealEngines writes frames to a real Redis and a real Cassandra as the two consumers do, and
// finds them by the API: from Redis, across both, and from Cassandra alone after Redis was
// killed.
func TestRealEngines(t *testing.T) {
	redis := engines.MustRedis(t)
	f := &fixture{T: t, metrics: prometheus.NewRegistry()}
	f.now.Store(time.Now().UnixMilli())
	c := store.DefaultConfig()
	c.Hosts = []string{engines.SharedCassandra(t).Addr()}
	c.Timeout = time.Minute // a crowded machine is no outage
	c.Keyspace = fmt.Sprintf("api_%d", os.Getpid())
	c.Now = f.clock
	c.Log = slog.New(slog.DiscardHandler)
	db, err := store.New(c, store.NewMetrics(f.metrics))
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	if err := db.Apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.start(redis.Addr(), realStore{db}.sources(), api.Deps{StoreReady: db.Ready})
	writer, offset := store.NewWriter(db), int64(0)
	f.fill(2, 3, 25*time.Minute, func(b []byte) {
		offset++
		if err := writer.Handle(t.Context(),
			[]stream.Record{{Account: f.account("acme"), Offset: offset, Value: b}}); err != nil {
			t.Fatal(err)
		}
		if err := writer.CloseDue(t.Context(), f.clock()); err != nil {
			t.Fatal(err)
		}
	})
	minute, now := int64(60_000), f.now.Load()
	check := func(sources ...string) {
		t.Helper()
		for i, n := range f.nodes {
			at := f.newest(i)
			compare(t, "newest", f.metricsOf(i, nil).flat(t),
				want(n, f.history[i], everything, func(a int64) bool { return a == at }))
			for _, r := range []struct{ from, to int64 }{{now - 9*minute, now},
				{now - 24*minute, now}, {now - 24*minute, now - 16*minute},
				{now - 7*minute, now - 7*minute + 12_000}} {
				before := 0.0
				for _, s := range sources {
					before += f.count("ringwatch_api_reads_total", "range", s)
				}
				query := url.Values{"metrics": {`{__name__=~".+"}`},
					"from": {strconv.FormatInt(r.from, 10)}, "to": {strconv.FormatInt(r.to, 10)}}
				compare(t, fmt.Sprint(r), f.metricsOf(i, query).flat(t),
					want(n, f.history[i], everything, func(a int64) bool {
						return a >= r.from && a <= r.to
					}))
				for _, s := range sources {
					before -= f.count("ringwatch_api_reads_total", "range", s)
				}
				if before != -1 {
					t.Errorf("%v did not come from %v", r, sources)
				}
			}
		}
		var nodes []struct{ State string }
		if f.get("/v1/nodes", nil, &nodes); len(nodes) != 2 || nodes[0].State != "up" ||
			nodes[1].State != "up" {
			t.Error(nodes)
		}
	}
	check("recent", "both", "store")
	if f.count("ringwatch_api_reads_total", "range", "recent") == 0 {
		t.Error("nothing came from Redis")
	}
	if err := redis.Kill(); err != nil {
		t.Fatal(err)
	}
	check("store")
	testPartial(t, f, c, now)
	if r := f.ask(otherKey, f.metricsPath(0), nil); r.status != 404 ||
		strings.Contains(string(r.body), "fleet") {
		t.Errorf("another account: %d %s", r.status, r.body)
	}
}

// testPartial damages one row of a window in Cassandra and holds the answer to saying so.
func testPartial(t *testing.T, f *fixture, c store.Config, now int64) {
	host, port, err := net.SplitHostPort(c.Hosts[0])
	if err != nil {
		t.Fatal(err)
	}
	cluster := gocql.NewCluster(host)
	cluster.Port, _ = strconv.Atoi(port)
	cluster.Keyspace, cluster.Timeout = c.Keyspace, time.Minute
	session, err := cluster.CreateSession()
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	var key struct {
		hour, at int64
		part     int
	}
	id := gocql.UUID(f.nodes[0].ID)
	iter := session.Query("SELECT hour, part, at FROM v3_windows WHERE account = ? AND node = ? "+
		"ALLOW FILTERING", f.account("acme"), id).IterContext(t.Context())
	for key.part == 0 && iter.Scan(&key.hour, &key.part, &key.at) {
	}
	if err := iter.Close(); err != nil || key.part == 0 {
		t.Fatalf("no row of a window: %v", err)
	}
	window := frame.WindowOf(key.at)
	query := url.Values{"metrics": {`{__name__=~".+"}`}, "from": {strconv.FormatInt(window, 10)},
		"to": {strconv.FormatInt(window+299_999, 10)}}
	if r := f.ask(acmeKey, f.metricsPath(0), query); r.header.Get(reply.PartialHeader) != "" ||
		strings.Contains(string(r.body), `"partial"`) {
		t.Errorf("a whole answer says that it is partial: %v", r.header)
	}
	err = session.Query("UPDATE v3_windows USING TIMESTAMP ? SET blob = 0xff WHERE account = ? "+
		"AND node = ? AND hour = ? AND part = ? AND at = ?",
		(now+3600_000)*1000, f.account("acme"), id, key.hour, key.part,
		key.at).ExecContext(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := f.ask(acmeKey, f.metricsPath(0), query)
	var answer []struct {
		Partial []string
		Payload []any
	}
	if err := json.Unmarshal(r.body, &answer); err != nil || r.status != 200 || len(answer) != 1 {
		t.Fatalf("%d %v %.300s", r.status, err, r.body)
	}
	// this node says so little that one row has all
	if r.header.Get(reply.PartialHeader) != "1" || len(answer[0].Partial) != 1 {
		t.Errorf("of a damaged row the answer says %q and the header %q, beside %d series",
			answer[0].Partial, r.header.Get(reply.PartialHeader), len(answer[0].Payload))
	}
	if n := f.count("ringwatch_api_partial_answers_total"); n != 1 {
		t.Errorf("%v partial answers are counted", n)
	}
	t.Logf("partial: %q", answer[0].Partial)
}
