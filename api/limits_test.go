package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/limit"
	"github.com/ringwatch/ringwatch/api"
	"github.com/ringwatch/ringwatch/api/apitest"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/recent"
)

// serve runs another server on the fixture's store, as another process would be, and returns its
// URL and what ends it and waits.
func (f *fixture) serve(change func(*api.Config, *api.Deps)) (base string, stop func() error) {
	f.Helper()
	registry, err := account.NewRegistry(
		[]account.Account{{Name: f.account("acme"),
			Keys: []account.Key{{Name: "r", Key: acmeKey, Scopes: []account.Scope{account.Read}}}}})
	if err != nil {
		f.Fatal(err)
	}
	c := api.DefaultConfig()
	c.Listen, c.Clock = "127.0.0.1:0", f.clock
	d := api.Deps{Admit: account.NewDoor(registry.Authenticate).Admit, StoreReady: f.store.Ready,
		Metrics: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler)}
	change(&c, &d)
	if d.Reader == nil {
		sources := f.store.Sources()
		sources.Metrics = d.Metrics
		d.Reader = apitest.MustReader(f.T, c, sources)
	}
	s, err := api.New(c, d)
	if err != nil {
		f.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	stopped := false
	stop = func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		return <-ended
	}
	f.Cleanup(func() { stop() })
	scheme := "http://"
	if c.TLS.On() {
		scheme = "https://"
	}
	return scheme + s.Addr(), stop
}

// refusal is what an answer says is wrong.
type refusal struct{ Reason, Field, Message string }

// fetch asks a server with acme's key.
func (f *fixture) fetch(address string) (response, refusal) {
	f.Helper()
	q, err := http.NewRequest(http.MethodGet, address, nil)
	if err != nil {
		f.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer "+acmeKey)
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		f.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		f.Fatal(err)
	}
	var e struct{ Error refusal }
	_ = json.Unmarshal(body, &e) // a good answer is a list
	return response{answer.StatusCode, answer.Header, body}, e.Error
}

// TestLimits: two servers that share a Redis let through together what one may, and each by
// itself when Redis is gone.
func TestLimits(t *testing.T) {
	redis := engines.MustRedis(t)
	f := newFixture(t, inMemory, 2, 1, time.Minute)
	var servers []string
	for range 2 {
		base, _ := f.serve(func(c *api.Config, d *api.Deps) {
			rc := recent.DefaultConfig()
			rc.Addresses, rc.Backoff, rc.DialTimeout = []string{redis.Addr()}, time.Nanosecond,
				10*time.Second
			reader, err := recent.NewReader(rc, prometheus.NewRegistry())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(reader.Close)
			lc := limit.DefaultConfig()
			// nothing comes back during the test
			lc.RequestsPerSecond, lc.Burst, lc.NodeRequestsPerSecond, lc.NodeBurst = 1e-3,
				9, 1e-3, 6
			lc.Timeout, lc.Backoff = time.Minute, time.Nanosecond
			limiter, err := limit.New(lc, reader.Redis(), prometheus.NewRegistry())
			if err != nil {
				t.Fatal(err)
			}
			d.Limit = limiter.Take
		})
		servers = append(servers, base)
	}
	ask := func(server int, path string) (allowed bool, e refusal) {
		t.Helper()
		r, e := f.fetch(servers[server] + path)
		if r.status == http.StatusOK {
			return true, e
		}
		after, err := strconv.Atoi(r.header.Get("Retry-After"))
		if r.status != http.StatusTooManyRequests || err != nil || after < 1 ||
			e.Reason != "too_many_requests" || !strings.Contains(e.Message, "ask again in") {
			t.Fatalf("%d %s, Retry-After %q", r.status, r.body, r.header.Get("Retry-After"))
		}
		return false, e
	}
	count := func(path, field string, which ...int) (allowed int) {
		t.Helper()
		for i := range 20 {
			ok, e := ask(which[i%len(which)], path)
			if ok {
				allowed++
			} else if e.Field != field {
				t.Errorf("%s: %+v, want %s", path, e, field)
			}
		}
		return allowed
	}
	first, second := f.metricsPath(0)+"?metrics=up", f.metricsPath(1)+"?metrics=up"
	if n := count(first, "id", 0, 1); n != 6 {
		t.Errorf("a node at two servers: %d", n)
	}
	if n := count(second, "Authorization", 0, 1); n != 3 {
		t.Errorf("another node, of the account's rest: %d", n)
	}
	if n := count("/v1/nodes", "Authorization", 0, 1); n != 0 {
		t.Errorf("nothing is left: %d", n)
	}
	if r, _ := f.fetch(servers[0] + "/-/healthy"); r.status != 200 {
		t.Error("health is limited:", r.status)
	}
	if err := redis.Kill(); err != nil {
		t.Fatal(err)
	}
	for i := range servers {
		if n := count(first, "id", i); n != 6 {
			t.Errorf("a node at server %d without Redis: %d", i, n)
		}
		if n := count("/v1/nodes", "Authorization", i); n != 3 {
			t.Errorf("server %d without Redis: %d", i, n)
		}
	}
}

// TestSizes: what is too large is refused before its first byte, and the limits mean what they say.
func TestSizes(t *testing.T) {
	f := newFixture(t, inMemory, 1, 3, 10*time.Minute)
	all, text := f.metricsPath(0), "/v1/nodes/"+f.nodes[0].ID.String()+"/prometheus"
	ranged := f.metricsPath(0) + "?period=8m&metrics=" + url.QueryEscape(`{__name__=~".+"}`)
	rolled := ranged + "&rollup=5m"
	length := map[string]int{}
	open, _ := f.serve(func(*api.Config, *api.Deps) {})
	for _, path := range []string{all, text, ranged, rolled} {
		r, _ := f.fetch(open + path)
		if r.status != 200 {
			t.Fatal(path, r.status, string(r.body))
		}
		length[path] = len(r.body)
	}
	for path, n := range length {
		for share, want := range map[float64]int{0.6: 400, 1.7: 200} {
			base, stop := f.serve(func(c *api.Config, _ *api.Deps) {
				c.MaxResponseBytes = int64(share * float64(n))
			})
			r, e := f.fetch(base + path)
			if r.status != want ||
				want == 400 && (e.Reason != "too_large" || e.Field == "" || e.Message == "") {
				t.Errorf("%s of %d bytes where %.1f of that are allowed: %d %.200s", path, n, share,
					r.status, r.body)
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
		}
	}
	base, _ := f.serve(func(c *api.Config, _ *api.Deps) {
		c.MaxSeries, c.MaxQueryBytes, c.MaxRequestBytes = 10, 100, 1000
	})
	for _, path := range []string{all, text, f.metricsPath(0) + "?period=1m&metrics=" +
		url.QueryEscape(`{__name__=~".+"}`)} {
		if r, e := f.fetch(base + path); r.status != 400 || e.Reason != "too_many_series" {
			t.Errorf("%s: %d %.200s", path, r.status, r.body)
		}
	}
	if r, e := f.fetch(base + all + "?metrics=" + strings.Repeat("x", 100)); r.status !=
		http.StatusRequestURITooLong || e.Reason != "query_too_long" || e.Field != "query" {
		t.Errorf("%d %s", r.status, r.body)
	}
	q, err := http.NewRequest(http.MethodGet, base+"/v1/nodes",
		strings.NewReader(strings.Repeat("x", 1001)))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusRequestEntityTooLarge {
		t.Error("a large body:", answer.Status)
	}
}

// TestDrain: requests under way get their answer when the server ends, in bounded time, and new
// ones are refused.
func TestDrain(t *testing.T) {
	f := newFixture(t, inMemory, 1, 1, time.Minute)
	for _, timeout := range []time.Duration{time.Minute, 50 * time.Millisecond} {
		entered, release := make(chan struct{}), make(chan struct{})
		var log bytes.Buffer
		base, stop := f.serve(func(c *api.Config, d *api.Deps) {
			c.ShutdownTimeout, c.AccessLog = timeout, true
			d.Log = slog.New(slog.NewTextHandler(&log, nil))
			admit := d.Admit
			d.Admit = func(r *http.Request) (account.Principal, error) {
				close(entered)
				<-release
				return admit(r)
			}
		})
		got := make(chan string, 1)
		go func() {
			q, _ := http.NewRequest(http.MethodGet, base+"/v1/nodes", nil)
			q.Header.Set("Authorization", "Bearer "+acmeKey)
			q.Header.Set("X-Request-Id", "drained")
			answer, err := http.DefaultClient.Do(q)
			if err != nil {
				got <- "cut"
				return
			}
			answer.Body.Close()
			got <- answer.Status + " " + answer.Header.Get("X-Request-Id")
		}()
		<-entered
		ended := make(chan error, 1)
		go func() { ended <- stop() }()
		for deadline := time.Now().Add(time.Minute); ; <-time.After(5 * time.Millisecond) {
			c, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
			if err != nil {
				break
			}
			c.Close()
			if time.Now().After(deadline) {
				t.Fatal("new connections are taken")
			}
		}
		if timeout == time.Minute {
			close(release)
			if answer, err := <-got, <-ended; answer != "200 OK drained" || err != nil {
				t.Errorf("%s, %v", answer, err)
			}
			for _, want := range []string{"request=drained", `path=/v1/nodes`, "status=200",
				"account=" + f.account("acme"), "key=r"} {
				if !strings.Contains(log.String(), want) {
					t.Errorf("nothing of %s in %s", want, log.String())
				}
			}
			if strings.Contains(log.String(), acmeKey) {
				t.Error("the log has a key")
			}
			continue
		}
		if answer, err := <-got, <-ended; answer != "cut" || err == nil ||
			!strings.Contains(fmt.Sprint(err), "cut off") {
			t.Errorf("%s, %v", answer, err)
		}
		close(release)
	}
}
