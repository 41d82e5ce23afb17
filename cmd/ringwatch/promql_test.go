package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/storage"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/settings"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/query/querytest"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/query/selector"
	"github.com/ringwatch/ringwatch/store"
	"github.com/ringwatch/ringwatch/stream"
)

// quickPromQL are those of Prometheus's files of tests that write few windows; make test-full runs
// all of them.
var quickPromQL = []string{
	"collision", "fill-modifier", "limit", "name_label_dropping", "native_histograms",
	"operators", "range_queries", "staleness", "trig_functions",
}

// TestPrometheusTests runs Prometheus's own tests of PromQL on the whole line: what they load is
// written as frames, goes through the stream and the role store, and is read back as users'
// queries are; with RINGWATCH_TEST_FULL through Kafka and Cassandra. What frames cannot hold is
// kept aside, in Prometheus's own storage, and logged with its reason.
func TestPrometheusTests(t *testing.T) {
	// Query's TestPrometheusTestsInMemory asks the same files of the engine alone.
	engines.Needed(t, "twenty seconds of a processor")
	l := startPromQL(t)
	engine := promqltest.NewTestEngine(t, false, 0, promqltest.DefaultMaxSamplesPerQuery)
	reasons := map[string][]string{}
	promqltest.RunBuiltinTestsWithStorage(someFiles{t}, engine, func(t testing.TB) storage.Storage {
		l.runs.Add(1)
		cluster := fmt.Sprintf("run-%d", l.runs.Load())
		sent := map[uuid.UUID]int{}
		return querytest.New(t, l.shift, cluster,
			func(frames querytest.Frames) (storage.Queryable, error) {
				return l.send(t, cluster, frames, sent)
			}, func(series, reason string) { reasons[reason] = append(reasons[reason], series) })
	})
	for reason, list := range reasons {
		t.Logf("%d series kept aside for %s: %s", len(list), reason,
			strings.Join(list[:min(len(list), 5)], " "))
	}
}

// someFiles leaves out the files that make test has no time for.
type someFiles struct{ *testing.T }

func (s someFiles) Run(name string, f func(*testing.T)) bool {
	file := strings.TrimSuffix(filepath.Base(name), ".test")
	if os.Getenv("RINGWATCH_TEST_FULL") == "" && !slices.Contains(quickPromQL, file) {
		return true
	}
	return s.T.Run(file, f)
}

// promqlLine is a stream, a role store and a reader of what that writes, in this process.
type promqlLine struct {
	shift    int64
	runs     atomic.Int64
	producer *stream.Producer
	db       *store.Store
	engine   *query.Engine
	reader   *read.Reader
	who      account.Principal
}

func startPromQL(t *testing.T) *promqlLine {
	t.Helper()
	config := fmt.Sprintf("data: {dir: %q, retention: 365d}\ncassandra: {grace: 100ms}\nkafka: "+
		"{partitions: 4}\n", t.TempDir())
	if os.Getenv("RINGWATCH_TEST_FULL") != "" {
		config = fmt.Sprintf(`
cassandra: {hosts: [%q], keyspace: promql, grace: 100ms, timeout: 30s, raw_ttl: 365d, five_minutes_ttl: 400d, hour_ttl: 500d}
kafka: {brokers: [%q], topic: promql, partitions: 4}
`, engines.SharedCassandra(t).Addr(), engines.SharedKafka(t).Addr())
	}
	flags := settings.RoleFlags{Config: configFile(t, "accounts: [{name: test}]\n"+config)}
	p, err := wire.Prepare(&flags, "all")
	if err != nil {
		t.Fatal(err)
	}
	p.Log = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	ctx, cancel := context.WithCancel(context.Background())
	parts, err := wire.Store(ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- wire.Together(ctx, parts...) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		p.Database.Load().Close()
		if err := p.Topics.Close(); err != nil {
			t.Error(err)
		}
	})
	topics, err := p.Topics.Open()
	if err != nil {
		t.Fatal(err)
	}
	// Half a year ago: every window is closed as soon as it was written, and is read from raw.
	l := &promqlLine{db: p.Database.Load(),
		shift: frame.WindowOf(time.Now().Add(-180 * 24 * time.Hour).UnixMilli()),
		who:   querytest.Principal(t, "test")}
	if l.producer, err = stream.NewProducer(topics, p.Config.Kafka.FramesConfig,
		prometheus.NewRegistry()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.producer.Close)
	l.reader, err = read.New(read.Config{RecentSpan: time.Minute,
		NodesTTL: time.Minute, Timeout: time.Minute},
		read.Sources{Store: wire.APIStore{Store: l.db}})
	if err != nil {
		t.Fatal(err)
	}
	parser, err := selector.New(selector.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	qc := query.DefaultConfig()
	qc.RawRetention, qc.NodesTTL, qc.MaxPerAccount = 365*24*time.Hour, time.Millisecond,
		qc.MaxConcurrent
	if l.engine, err = query.NewEngine(qc, l.reader, nil, parser, nil,
		slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	return l
}

// Send publishes the frames that were not sent before, and waits until all can be read.
func (l *promqlLine) send(t testing.TB, cluster string, frames querytest.Frames,
	sent map[uuid.UUID]int) (storage.Queryable, error) {
	for id, list := range frames {
		for _, b := range list[sent[id]:] {
			if err := l.producer.Publish(t.Context(), "test", cluster, b); err != nil {
				return nil, err
			}
		}
		sent[id] = len(list)
	}
	none := labels.MustNewMatcher(labels.MatchEqual, labels.MetricName, "")
	deadline := time.Now().Add(5 * time.Minute)
	for id, want := range sent {
		for {
			_, report, err := l.db.Reader(store.Dashboard("test"), memory.Unbounded()).Read(
				t.Context(), "test", id, l.shift, time.Now().UnixMilli(), none)
			if err == nil && len(report.Instants) == want {
				break
			}
			if time.Now().After(deadline) {
				return nil, fmt.Errorf("of the %d frames of node %s %d can be read, %v", want, id,
					len(report.Instants), err)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	for {
		nodes, err := l.db.Reader(store.Dashboard("test"), memory.Unbounded()).Nodes(t.Context(),
			"test")
		listed := 0
		for i := range nodes {
			if sent[nodes[i].ID] > 0 {
				listed++
			}
		}
		if err == nil && listed == len(sent) {
			break
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("of %d nodes %d are listed, %v", len(sent), listed, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
	q, _, end, err := l.engine.Queryable(t.Context(), l.who, 0)
	if err != nil {
		return nil, err
	}
	end() // nothing is bounded here, and queries are one after the other
	return inCluster{q, cluster}, nil
}

// inCluster asks for one cluster only: each run has its own.
type inCluster struct {
	storage.Queryable
	cluster string
}

func (c inCluster) Querier(from, to int64) (storage.Querier, error) {
	q, err := c.Queryable.Querier(from, to)
	return inClusterQuerier{q, c.cluster}, err
}

type inClusterQuerier struct {
	storage.Querier
	cluster string
}

func (c inClusterQuerier) Select(ctx context.Context, sorted bool, hints *storage.SelectHints,
	matchers ...*labels.Matcher) storage.SeriesSet {
	return c.Querier.Select(ctx, sorted, hints,
		append(slices.Clone(matchers), labels.MustNewMatcher(labels.MatchEqual, "cluster",
			c.cluster))...)
}
