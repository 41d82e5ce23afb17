package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/stream"
)

// attackLimit is what each role may have of memory while it is attacked.
const attackLimit = 1 << 30

// TestAttacks lets one account attack with valid keys, at ten times the size of what once took the
// service from all, while another one sends frames and reads. Each role is a process with a GB.
// What ingest refuses also comes from the topic, as if another program had let it pass.
func TestAttacks(t *testing.T) {
	a := startAttacked(t)
	stop := a.serve(t)
	t.Run("FramesThatUnpack", a.framesThatUnpack)
	t.Run("WindowsOfLargeFrames", a.windowsOfLargeFrames)
	t.Run("SeriesOfManyBuckets", a.seriesOfManyBuckets)
	t.Run("RegularExpressions", a.regularExpressions)
	t.Run("SlowConnections", a.slowConnections)
	stop()
	for role, p := range a.roles {
		if !p.Running() {
			t.Errorf("role %s has ended", role)
			continue
		}
		most := peak(t, p.Pid())
		t.Logf("role %s had %d MiB at most", role, most>>20)
		if most > attackLimit {
			t.Errorf("role %s had %d bytes, more than it may", role, most)
		}
	}
}

// elsewhere dials from another address than the good account does.
var elsewhere = &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}

// attacked is a line of roles with two accounts.
type attacked struct {
	ingest, api, storeURL string
	roles                 map[string]*engines.Process
	evil, good            string       // keys
	elsewhere             *http.Client // the evil account's, from an address of its own
	node                  *frametest.Node
	producer              *stream.Producer
	rounds                atomic.Int64 // of the good account
}

func startAttacked(t *testing.T) *attacked {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cassandra, kafka, redis := engines.MustCassandra(t), engines.MustKafka(t), engines.MustRedis(t)
	a := &attacked{roles: map[string]*engines.Process{}, evil: account.NewKey(),
		good: account.NewKey(), node: frametest.New("good", 1, 20)}
	a.elsewhere = &http.Client{Transport: &http.Transport{DialContext: elsewhere.DialContext}}
	ports := engines.FreePorts(t, 4)
	at := func(i int) string { return fmt.Sprintf("127.0.0.1:%d", ports[i]) }
	a.ingest, a.api, a.storeURL = "http://"+at(0), "http://"+at(1), "http://"+at(2)
	text := fmt.Sprintf(`
memory: {limit_bytes: %d}
accounts:
  - {name: evil, clusters: [evil], keys: [{name: all, sha256: %s, scopes: [read, write]}]}
  - {name: good, clusters: [good], keys: [{name: all, sha256: %s, scopes: [read, write]}]}
kafka: {brokers: [%q], partitions: 4}
cassandra: {hosts: [%q], grace: 1s, timeout: 30s}
redis: {addresses: [%q], read_timeout: 10s, dial_timeout: 10s}
ingest: {listen: %q}
api: {listen: %q, request_timeout: 10s}
store: {listen: %q}
recent: {listen: %q}
`, attackLimit, account.Hash(a.evil), account.Hash(a.good), kafka.Addr(), cassandra.Addr(),
		redis.Addr(), at(0), at(1), at(2), at(3))
	config := filepath.Join(dir, "ringwatch.yaml")
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, role := range []string{"ingest", "api", "store", "recent"} {
		p, err := engines.StartProcess(engines.ProcessConfig{Name: "ringwatch " + role, Path: self,
			Args: []string{role, "--config", config}, Env: []string{asRingwatch},
			Log: filepath.Join(dir, role+".log")})
		if err != nil {
			t.Fatal(err)
		}
		a.roles[role] = p
		t.Cleanup(func() {
			p.Kill()
			if b, err := os.ReadFile(p.LogFile()); t.Failed() && err == nil {
				t.Logf("the end of %s's log:\n%s", role, b[max(0, len(b)-4<<10):])
			}
		})
		eventually(t, "role "+role, func(ctx context.Context) error {
			return ready(ctx, "http://"+at(i))
		})
	}
	if a.producer, err = stream.NewProducer(mustStream(t, kafka), stream.DefaultConfig(),
		prometheus.NewRegistry()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.producer.Close)
	return a
}

// Ready asks a role whether it is ready.
func ready(ctx context.Context, base string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/-/ready", nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", answer.Status, b)
	}
	return err
}

// peak is the most memory that a process has had, in bytes.
func peak(t *testing.T, pid int) (n int64) {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if rest, found := strings.CutPrefix(line, "VmHWM:"); found {
			if _, err := fmt.Sscan(rest, &n); err != nil {
				t.Fatal(err)
			}
		}
	}
	return n << 10
}

// Do sends a request with a key and returns its status and answer.
func (a *attacked) do(ctx context.Context, method, key, address string,
	body []byte) (int, string, error) {
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Authorization", "Bearer "+key)
	if body != nil {
		req.Header.Set("Content-Type", frame.ContentType)
	}
	client := http.DefaultClient
	if key != a.good {
		client = a.elsewhere
	}
	answer, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(b), err
}

// serve sends a frame of the good account and reads its newest values, again and again until the
// function that it returns is called. Every frame must be acknowledged and every read answered;
// what is slow may be tried again, what is bounded may not be refused.
func (a *attacked) serve(t *testing.T) (stop func()) {
	t.Helper()
	one := func(ctx context.Context) (sent, read time.Duration, err error) {
		a.node.Step()
		if sent, err = a.patiently(ctx, http.MethodPost, a.ingest+"/v1/frames",
			a.node.Frame(time.Now().UnixMilli())); err != nil {
			return 0, 0, fmt.Errorf("a frame of the good account: %w", err)
		}
		if read, err = a.patiently(ctx, http.MethodGet,
			a.api+"/v1/clusters/good/metrics?metrics=node_load1", nil); err != nil {
			return 0, 0, fmt.Errorf("a read of the good account: %w", err)
		}
		return sent, read, nil
	}
	// The node is not known at once.
	a.node.Step()
	if _, err := a.patiently(t.Context(), http.MethodPost, a.ingest+"/v1/frames",
		a.node.Frame(time.Now().UnixMilli())); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the good account's node", func(ctx context.Context) error {
		_, _, err := one(ctx)
		return err
	})
	ctx, cancel := context.WithCancel(t.Context())
	var sent, read []time.Duration
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			s, r, err := one(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			sent, read = append(sent, s), append(read, r)
			a.rounds.Add(1)
		}
	}()
	return func() {
		cancel()
		<-ended
		if len(sent) == 0 {
			t.Error("the good account was not served")
			return
		}
		t.Logf("%d frames of the good account: acknowledged after %s at most, read after %s "+
			"at most", len(sent), slices.Max(sent), slices.Max(read))
	}
}

// slow are answers of a machine, or of an engine, that is slow.
var slow = []string{"503 kafka", "503 unavailable", "503 key_check", "504 timeout"}

// patiently asks for the good account until it is answered well, and returns how long that took. It
// gives up at an answer that no slow machine gives.
func (a *attacked) patiently(ctx context.Context, method, address string,
	body []byte) (time.Duration, error) {
	began := time.Now()
	for {
		status, answer, err := a.do(ctx, method, a.good, address, body)
		if err == nil && status/100 == 2 {
			return time.Since(began), nil
		}
		if err != nil || !slices.Contains(slow, fmt.Sprint(status, " ", reasonOf(answer))) {
			return 0, fmt.Errorf("%d %s %v", status, answer, err)
		}
	}
}

// served waits until the good account has been served while f runs.
func (a *attacked) served(t *testing.T, f func()) {
	t.Helper()
	before := a.rounds.Load()
	f()
	eventually(t, "the good account to be served", func(context.Context) error {
		if n := a.rounds.Load() - before; n < 3 {
			return fmt.Errorf("%d rounds", n)
		}
		return nil
	})
}

// Send posts frames of the evil account and counts the answers by status and reason.
func (a *attacked) send(t *testing.T, atOnce int, frames ...[]byte) map[string]int {
	t.Helper()
	var mu sync.Mutex
	got := map[string]int{}
	each(atOnce, len(frames), func(i int) {
		status, body, err := a.do(t.Context(), http.MethodPost, a.evil, a.ingest+"/v1/frames",
			frames[i])
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		got[fmt.Sprint(status, " ", reasonOf(body))]++
	})
	return got
}

func reasonOf(body string) string {
	var e struct{ Error struct{ Reason string } }
	_ = json.Unmarshal([]byte(body), &e) // an answer that is no refusal has none
	return e.Error.Reason
}

// each calls f for 0 ≤ i < n, some at once.
func each(atOnce, n int, f func(i int)) {
	var wg sync.WaitGroup
	next := atomic.Int64{}
	for range atOnce {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	wg.Wait()
}

// Publish brings frames into the topic past ingest.
func (a *attacked) publish(t *testing.T, frames ...[]byte) {
	t.Helper()
	for _, b := range frames {
		if err := a.producer.Publish(t.Context(), "evil", "evil", b); err != nil {
			t.Fatal(err)
		}
	}
}

// framesThatUnpack: rows 1, 2 and 5 of what was found, as frames for ingest.
func (a *attacked) framesThatUnpack(t *testing.T) {
	now := time.Now().UnixMilli()
	var frames [][]byte
	for _, b := range [][]byte{
		frametest.HistogramFrame(uuid.New(), "evil", now, 4000, 4000, 1, false),
		frametest.HistogramFrame(uuid.New(), "evil", now, 1000, 4000, 1, true),
		frametest.HistogramFrame(uuid.New(), "evil", now, 1_000_000, 1, 1023, false),
		frametest.HistogramFrame(uuid.New(), "evil", now, 2000, 45, 1023, true),
		frametest.ZeroFrame(uuid.New(), "evil", now, 32<<20),
	} {
		for range 40 {
			frames = append(frames, b)
		}
	}
	a.served(t, func() {
		got := a.send(t, 32, frames...)
		t.Log(got)
		for answer := range got {
			if status, _, _ := strings.Cut(answer, " "); status != "413" && status != "429" &&
				status != "204" {
				t.Errorf("frames that unpack to much: %v", got)
			}
		}
	})
}

// windowsOfLargeFrames: row 1, in the topic: 200 frames of 4 million histograms in one window, and
// windows of smaller ones.
func (a *attacked) windowsOfLargeFrames(t *testing.T) {
	start := frame.WindowOf(time.Now().Add(-10 * time.Minute).UnixMilli())
	largest, smaller := uuid.New(), []uuid.UUID{uuid.New(), uuid.New(), uuid.New()}
	a.served(t, func() {
		large := frametest.HistogramFrame(largest, "evil", start+1, 1000, 4000, 1, true)
		for i := range int64(200) {
			a.publish(t, frametest.Restamp(large, largest, start+i*1000+1))
		}
		small := frametest.HistogramFrame(largest, "evil", start+1, 300, 400, 1, true)
		for _, id := range smaller {
			for i := range int64(30) {
				a.publish(t, frametest.Restamp(small, id, start+i*10_000+1))
			}
		}
		eventually(t, "the store to set windows aside", func(ctx context.Context) error {
			m, err := metricsOf(ctx, a.storeURL+"/metrics")
			if err == nil && m["ringwatch_store_windows_set_aside"] < 1 {
				err = fmt.Errorf("%v of %v open", m["ringwatch_store_windows_set_aside"],
					m["ringwatch_store_windows_open"])
			}
			return err
		})
	})
	_, body, err := a.do(t.Context(), http.MethodGet, a.good, a.storeURL+"/-/ready", nil)
	if err != nil || !strings.Contains(body, "set aside") ||
		!strings.Contains(body, largest.String()) {
		t.Errorf("the store says %q, %v", body, err)
	}
}

// seriesOfManyBuckets: row 2, in the topic and then asked for, by many at once.
func (a *attacked) seriesOfManyBuckets(t *testing.T) {
	ids := make([]uuid.UUID, 10)
	now := time.Now().UnixMilli()
	bomb := frametest.HistogramFrame(uuid.New(), "evil", now, 1_000_000, 1, 1023, true)
	for i := range ids {
		ids[i] = uuid.New()
		a.publish(t, frametest.Restamp(bomb, ids[i], now))
	}
	eventually(t, "the evil account's nodes", func(ctx context.Context) error {
		status, body, err := a.do(ctx, http.MethodGet, a.evil, a.api+"/v1/nodes", nil)
		for _, id := range ids {
			if err == nil && !strings.Contains(body, id.String()) {
				err = fmt.Errorf("%d, node %s is not there", status, id)
			}
		}
		return err
	})
	var paths []string
	from := time.UnixMilli(now).Add(-2 * time.Minute).UTC().Format(time.RFC3339)
	for _, id := range ids {
		paths = append(paths, "/v1/nodes/"+id.String()+"/prometheus",
			"/v1/nodes/"+id.String()+"/metrics",
			"/v1/nodes/"+id.String()+"/metrics?metrics=m0000&from="+from)
	}
	paths = append(paths, "/v1/clusters/evil/prometheus", "/v1/clusters/evil/metrics",
		"/v1/series?match[]=m0000", "/v1/labels", "/v1/label/number/values")
	var mu sync.Mutex
	got := map[string]int{}
	a.served(t, func() {
		each(16, len(paths), func(i int) {
			status, body, err := a.do(t.Context(), http.MethodGet, a.evil, a.api+paths[i], nil)
			mu.Lock()
			defer mu.Unlock()
			got[fmt.Sprint(status, " ", reasonOf(body))]++
			if err != nil {
				t.Errorf("%s: %v", paths[i], err)
			}
		})
	})
	t.Log(got)
}

// regularExpressions: row 3.
func (a *attacked) regularExpressions(t *testing.T) {
	var long strings.Builder
	for long.Len() < 14<<10 {
		long.WriteString("a{0,1000}b{0,1000}")
	}
	var mu sync.Mutex
	got := map[string]int{}
	a.served(t, func() {
		each(60, 120, func(i int) {
			expression := long.String()[:[]int{14 << 10, 9000, 900, 90}[i%4]/18*18]
			query := url.Values{"match[]": {`{__name__=~"` + expression + `"}`}}
			status, body, err := a.do(t.Context(), http.MethodGet, a.evil,
				a.api+"/v1/series?"+query.Encode(), nil)
			mu.Lock()
			defer mu.Unlock()
			got[fmt.Sprint(status, " ", reasonOf(body))]++
			if err != nil ||
				status != http.StatusBadRequest && status != http.StatusRequestURITooLong &&
					status != http.StatusTooManyRequests {
				t.Errorf("%d bytes: %d %.200s %v", len(expression), status, body, err)
			}
		})
	})
	t.Log(got)
}

// slowConnections: row 4, 640 connections that announce 8 MiB and send a byte.
func (a *attacked) slowConnections(t *testing.T) {
	a.served(t, func() {
		var list []net.Conn
		defer func() {
			for _, c := range list {
				c.Close()
			}
		}()
		for range 640 {
			c, err := elsewhere.DialContext(t.Context(), "tcp",
				strings.TrimPrefix(a.ingest, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, c)
			if _, err := fmt.Fprintf(c,
				"POST /v1/frames HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+
					"%s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\nR", a.evil,
				frame.ContentType, 8<<20); err != nil {
				t.Fatal(err)
			}
		}
		before := a.rounds.Load()
		eventually(t, "the good account to be served beside them", func(context.Context) error {
			if n := a.rounds.Load() - before; n < 3 {
				return fmt.Errorf("%d rounds", n)
			}
			return nil
		})
	})
}
