package api_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/api"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/recent"
	"github.com/ringwatch/ringwatch/store"
	"github.com/ringwatch/ringwatch/stream"
)

// listed is how many nodes BenchmarkLists lists, and ofCluster how many of them a cluster has.
const (
	listed    = 10_000
	ofCluster = 50
)

// BenchmarkLists asks for lists of 10,000 nodes over HTTP. The store is in a directory. What a node
// sent last is in memory, in Redis, or in the store alone. In a cold round the list of nodes that
// the process remembers is too old, so the store is read.
func BenchmarkLists(b *testing.B) {
	frames := fleetFrames(time.Now().UnixMilli())
	db := mustDirectory(b, frames)
	for _, where := range []string{"memory", "redis", "store"} {
		b.Run(where, func(b *testing.B) {
			rc := recent.DefaultConfig()
			rc.ActiveFor, rc.ReadTimeout, rc.WriteTimeout = 0, time.Minute, time.Minute
			switch where {
			case "memory":
				rc.Memory = recent.NewMemory(1<<30, nil, prometheus.NewRegistry())
			case "redis":
				rc.Addresses = []string{engines.MustRedis(b).Addr()}
			}
			sources := realStore{db}.sources()
			if where != "store" {
				sources.Recent, sources.Miss = mustRecent(b, rc, frames), recent.ErrMiss
			}
			for _, ttl := range []time.Duration{time.Hour, time.Nanosecond} {
				base := mustList(b, sources, ttl)
				for _, path := range []string{"/v1/nodes", "/v1/nodes?limit=100", "/v1/clusters"} {
					b.Run(fmt.Sprint(path[len("/v1/"):], "/cold=", ttl < time.Second),
						func(b *testing.B) {
							for b.Loop() {
								b.ReportMetric(float64(ask(b, base+path)), "bytes")
							}
						})
				}
			}
		})
	}
}

// fleetFrames returns a key frame of each node.
func fleetFrames(now int64) []stream.Record {
	list := make([]stream.Record, listed)
	for i := range list {
		n := frametest.New(fmt.Sprintf("fleet-%03d", i/ofCluster), uint64(i+1), 1)
		n.Interval = 600_000 // none is late meanwhile
		address := fmt.Sprintf("10.%d.%d.%d:7000", i>>16, i>>8&255, i&255)
		n.Identity.Rack = fmt.Sprint("rack", i%3+1)
		n.Identity.Facts = []frame.Fact{
			{Name: "address", Value: address},
			{Name: "agent_version", Value: "1.0.0"},
			{Name: "cassandra_version", Value: "5.0.6"},
			{Name: "hostname", Value: fmt.Sprintf("cassandra-%05d.example.com", i)},
			{Name: "java_version", Value: "17.0.17+10-Debian-1"},
			{Name: "os", Value: "Linux 6.12.48+deb13-amd64 amd64"},
			{Name: "rpc_address", Value: address},
		}
		n.Step()
		list[i] = stream.Record{Account: "acme", Offset: int64(i + 1), Value: n.Frame(now)}
	}
	return list
}

func mustDirectory(b *testing.B, frames []stream.Record) *store.Store {
	b.Helper()
	c := store.DefaultConfig()
	c.Dir, c.Log = b.TempDir(), slog.New(slog.DiscardHandler)
	db, err := store.New(c, store.NewMetrics(nil))
	if err == nil {
		err = db.Connect(b.Context())
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(db.Close)
	if err := db.Apply(b.Context()); err != nil {
		b.Fatal(err)
	}
	if err := store.NewWriter(db).Handle(b.Context(), frames); err != nil {
		b.Fatal(err)
	}
	return db
}

func mustRecent(b *testing.B, c recent.Config, frames []stream.Record) *recent.Reader {
	b.Helper()
	w, err := recent.NewWriter(c, nil, prometheus.NewRegistry())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(w.Close)
	for len(frames) > 0 {
		n := min(500, len(frames))
		if err := w.Handle(b.Context(), frames[:n]); err != nil {
			b.Fatal(err)
		}
		frames = frames[n:]
	}
	r, err := recent.NewReader(c, prometheus.NewRegistry())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(r.Close)
	return r
}

// mustList serves lists that are remembered for as long as ttl.
func mustList(b *testing.B, sources read.Sources, ttl time.Duration) (base string) {
	b.Helper()
	key := account.Key{Name: "r", Key: acmeKey, Scopes: []account.Scope{account.Read}}
	registry, err := account.NewRegistry(
		[]account.Account{{Name: "acme", Keys: []account.Key{key}}})
	if err != nil {
		b.Fatal(err)
	}
	c := api.DefaultConfig()
	c.Listen, c.NodesTTL = "127.0.0.1:0", ttl
	sources.Metrics = prometheus.NewRegistry()
	reader, err := read.New(c.Reader(), sources)
	if err != nil {
		b.Fatal(err)
	}
	s, err := api.New(c, api.Deps{Admit: account.NewDoor(registry.Authenticate).Admit,
		Reader: reader, Metrics: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler),
		StoreReady: func(context.Context) error { return nil }})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	b.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	})
	return "http://" + s.Addr()
}

// ask returns how many bytes an answer has.
func ask(b *testing.B, address string) int64 {
	r, err := http.NewRequest(http.MethodGet, address, nil)
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+acmeKey)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	defer answer.Body.Close()
	n, err := io.Copy(io.Discard, answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		b.Fatal(answer.Status, err)
	}
	return n
}
