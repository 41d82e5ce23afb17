package api_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/rueidis"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/api"
	"github.com/ringwatch/ringwatch/api/apitest"
	"github.com/ringwatch/ringwatch/api/reply"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/recent"
	"github.com/ringwatch/ringwatch/store"
	"github.com/ringwatch/ringwatch/stream"
)

// TestKeptAnswersAreTheAnswers lets a fleet live through what happens to fleets, and asks two
// servers on the same real engines after each step: one that keeps encoded answers and one that
// keeps none. They say the same, byte for byte, packed or not.
func TestKeptAnswersAreTheAnswers(t *testing.T) {
	redis := engines.MustRedis(t)
	f := &fixture{T: t, metrics: prometheus.NewRegistry()}
	f.now.Store(time.Now().UnixMilli())
	c := store.DefaultConfig()
	c.Hosts = []string{engines.SharedCassandra(t).Addr()}
	c.Timeout = time.Minute // a crowded machine is no outage
	c.Keyspace = fmt.Sprintf("answers_%d", os.Getpid())
	c.Now, c.Log = f.clock, slog.New(slog.DiscardHandler)
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
	f.start(redis.Addr(), realStore{db}.sources(), api.Deps{StoreReady: db.Ready},
		func(c *api.Config) { c.NodesTTL = time.Millisecond })
	// another returns a server of its own on the same engines.
	another := func(keep int64, change func(*api.Config)) string {
		base, _ := f.serve(func(c *api.Config, d *api.Deps) {
			registry, err := account.NewRegistry([]account.Account{
				{Name: f.account("acme"),
					Keys: []account.Key{{Name: "r", Key: acmeKey,
						Scopes: []account.Scope{account.Read}}}},
				{Name: f.account("other"),
					Keys: []account.Key{{Name: "r", Key: otherKey,
						Scopes: []account.Scope{account.Read}}}},
			})
			if err != nil {
				t.Fatal(err)
			}
			c.NodesTTL, c.AnswersBytes = time.Millisecond, keep
			change(c)
			rc := recent.DefaultConfig()
			rc.Addresses, rc.Clock, rc.Backoff, rc.ActiveFor, rc.DialTimeout,
				rc.ReadTimeout = []string{redis.Addr()}, f.clock, time.Nanosecond, 0,
				10*time.Second, 10*time.Second
			reader, err := recent.NewReader(rc, d.Metrics)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(reader.Close)
			d.Admit = account.NewDoor(registry.Authenticate).Admit
			sources := realStore{db}.sources()
			sources.Recent, sources.Miss, sources.Metrics = reader, recent.ErrMiss, d.Metrics
			d.Reader, d.StoreReady, d.RecentReady = apitest.MustReader(t, *c, sources), db.Ready,
				reader.Ping
		})
		return strings.TrimPrefix(base, "http://")
	}
	keeps, none := f.server.Addr(), another(0, func(*api.Config) {})
	// Two that have a limit which the second node's answer exceeds.
	narrow := func(c *api.Config) { c.MaxPoints = 150 }
	narrowKeeps, narrowNone := another(1<<20, narrow), another(0, narrow)

	for i := range 4 {
		f.nodes = append(f.nodes, frametest.New("fleet-"+fmt.Sprint(i%2), uint64(i+1), 2))
	}
	stranger := frametest.New("fleet-0", 1, 3) // the same id in another account, and another table
	writer, offset := store.NewWriter(db), int64(0)
	put := func(account string, n *frametest.Node, store_, redis bool) {
		n.Step()
		b := n.Frame(f.now.Load())
		if offset++; store_ {
			if err := writer.Handle(t.Context(),
				[]stream.Record{{Account: account, Offset: offset, Value: b}}); err != nil {
				t.Fatal(err)
			}
		}
		if redis {
			if err := f.writer.Handle(t.Context(),
				[]stream.Record{{Account: account, Value: b}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{redis.Addr()},
		DisableCache: true})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	silent := map[int]bool{}
	all := func() {
		for i, n := range f.nodes {
			if !silent[i] {
				put(f.account("acme"), n, true, true)
			}
		}
		put(f.account("other"), stranger, true, true)
	}
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	what := "the beginning"
	compare := func() {
		t.Helper()
		cluster := "/v1/clusters/" + f.nodes[random.IntN(2)].Cluster
		const text, open = "text/plain", "application/openmetrics-text"
		asks := []struct{ path, accept string }{{"/v1/datacenters/dc1/metrics", ""},
			{f.metricsPath(random.IntN(4)), ""}, {cluster + "/metrics", ""},
			{cluster + "/prometheus", text}, {cluster + "/prometheus", open}}
		for _, key := range []string{acmeKey, otherKey} {
			for _, ask := range asks {
				for _, pair := range [][2]string{{keeps, none}, {narrowKeeps, narrowNone}} {
					want := f.askAt(pair[1], key, ask.path, "identity", ask.accept)
					if kind := want.header.Get("Content-Type"); want.status == http.StatusOK &&
						(json.Valid(want.body) != (ask.accept == "") ||
							!strings.HasPrefix(kind, ask.accept)) {
						t.Fatalf("%s: %s %.300s", ask.path, kind, want.body)
					}
					for range 2 {
						for _, coding := range []string{"identity", "gzip"} {
							got := f.askAt(pair[0], key, ask.path, coding, ask.accept)
							if pair[0] == keeps && key == acmeKey && ask.accept == "" &&
								got.status != http.StatusOK || got.status != want.status ||
								got.status == http.StatusOK &&
									string(got.body) != string(want.body) ||
								got.header.Get(reply.PartialHeader) !=
									want.header.Get(reply.PartialHeader) ||
								got.header.Get("Content-Type") != want.header.Get("Content-Type") {
								t.Fatalf("seed %d, after %s: %v (%s): %d %.3000s\nwhere without "+
									"kept answers it is\n%d %.3000s", seed, what, ask, coding,
									got.status, got.body, want.status, want.body)
							}
						}
					}
				}
			}
		}
	}
	all()
	compare()
	acts := []struct {
		name string
		do   func()
	}{
		{"a frame of each", all},
		{"a frame of one", func() { put(f.account("acme"), f.nodes[random.IntN(4)], true, true) }},
		{"a frame that Redis did not take",
			func() { put(f.account("acme"), f.nodes[random.IntN(4)], true, false) }},
		{"a frame that the store does not have yet",
			func() { put(f.account("acme"), f.nodes[random.IntN(4)], false, true) }},
		{"nothing", func() {}},
		{"a pause in which frames become old", func() { f.now.Add(13_000) }},
		{"a node that is silent, or no longer",
			func() { i := random.IntN(4); silent[i] = !silent[i]; all() }},
		{"a wiped Redis", func() {
			if err := client.Do(t.Context(), client.B().Flushall().Build()).Error(); err != nil {
				t.Fatal(err)
			}
		}},
		{"a new window and a cluster of another name", func() {
			f.now.Add(300_000)
			name := fmt.Sprint("renamed-", random.IntN(100))
			for i := 0; i < 4; i += 2 { // all of it
				f.nodes[i].Cluster = name
				silent[i] = false
			}
			all()
		}},
	}
	for _, i := range append(random.Perm(len(acts)), random.Perm(len(acts))...) {
		f.now.Add(1 + random.Int64N(5_000))
		what = acts[i].name
		acts[i].do()
		compare()
	}
	// A wiped Redis gets delta frames again, and not what they need: it knows the newest frame's
	// time, and the store has a newer one.
	what = "a wiped Redis in the middle of a window"
	silent = map[int]bool{}
	f.now.Store(frame.WindowOf(f.now.Load()) + frame.WindowMillis + 60_000)
	all()
	compare()
	if err := client.Do(t.Context(), client.B().Flushall().Build()).Error(); err != nil {
		t.Fatal(err)
	}
	f.now.Add(1_000)
	all()
	compare()
	f.now.Add(1_000)
	for _, n := range f.nodes {
		put(f.account("acme"), n, true, false)
	}
	compare()
	if hits, misses := f.count("ringwatch_api_answers_total",
		"hit"), f.count("ringwatch_api_answers_total", "miss"); hits == 0 || misses == 0 {
		t.Errorf("%v hits, %v misses", hits, misses)
	}
	if n, bytes := f.count("ringwatch_api_answers"),
		f.count("ringwatch_api_answers_bytes"); n < 1 || bytes < 1_000 {
		t.Errorf("%v answers of %v bytes are kept", n, bytes)
	}
	// Another account's node of the same id is another.
	f.now.Add(1)
	all()
	if a, b := f.askAt(keeps, acmeKey, f.metricsPath(0), "gzip", ""), f.askAt(keeps, otherKey,
		f.metricsPath(0), "gzip", ""); a.status != 200 || b.status != 200 ||
		string(a.body) == string(b.body) {
		t.Errorf("%d %d: two accounts see the same", a.status, b.status)
	}
	// What is kept is not read again.
	f.now.Add(300_000)
	all()
	f.askAt(keeps, acmeKey, "/v1/datacenters/dc1/metrics", "gzip", "")
	before := f.count("ringwatch_recent_reads_total", "latest", "hit")
	f.askAt(keeps, acmeKey, "/v1/datacenters/dc1/metrics", "gzip", "")
	if after := f.count("ringwatch_recent_reads_total", "latest", "hit"); before == 0 ||
		after != before {
		t.Errorf("%v reads where nothing had changed", after-before)
	}
}

// askAt asks a server for a path with a key, and returns the answer unpacked.
func (f *fixture) askAt(server, key, path, coding, accept string) response {
	f.Helper()
	r, err := http.NewRequest(http.MethodGet, "http://"+server+path, nil)
	if err != nil {
		f.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Accept-Encoding", coding)
	if accept != "" {
		r.Header.Set("Accept", accept)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		f.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := unpacked(answer)
	if err != nil {
		f.Fatal(err)
	}
	header := answer.Header.Clone()
	for name, values := range answer.Trailer {
		header[name] = values
	}
	return response{answer.StatusCode, header, body}
}

// unpacked reads an answer's body, of which gzip must be one member.
func unpacked(answer *http.Response) ([]byte, error) {
	if answer.Header.Get("Content-Encoding") != "gzip" {
		return io.ReadAll(answer.Body)
	}
	body := bufio.NewReader(answer.Body)
	z, err := gzip.NewReader(body)
	if err != nil {
		return nil, err
	}
	z.Multistream(false)
	b, err := io.ReadAll(z)
	if err == nil {
		if n, _ := io.Copy(io.Discard, body); n > 0 {
			err = fmt.Errorf("%d bytes after the gzip member", n)
		}
	}
	return b, err
}
