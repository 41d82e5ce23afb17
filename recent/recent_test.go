package recent

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/redis/rueidis"

	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/dev/eventually"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/stream"
)

func TestMain(m *testing.M) { engines.Main(m) }

// clock is a time that tests set.
type clock struct{ millis atomic.Int64 }

func (c *clock) now() time.Time { return time.UnixMilli(c.millis.Load()) }

// start is 40 s into a window.
const start = int64(1_700_000_100_000/frame.WindowMillis*frame.WindowMillis + 40_000)

type fixture struct {
	*testing.T
	clock  clock
	memory *Memory // nil: it is a Redis that keeps everything
	writer *Writer
	reader *Reader
	log    log
}

// log is what the consumer's log holds: one partition, offsets from 0 on.
type log struct {
	mu      sync.Mutex
	records []stream.Record
	read    int // how often it was read again
}

func (l *log) add(records ...stream.Record) []stream.Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range records {
		records[i].Offset = int64(len(l.records))
		l.records = append(l.records, records[i])
	}
	return records
}

func (l *log) reads() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.read
}

// again is what a consumer's log offers.
func (l *log) again(_ context.Context, w stream.Walk, f func([]stream.Record) error) error {
	l.mu.Lock()
	l.read++
	var found []stream.Record
	for _, r := range l.records[:w.Until] {
		if h, _, err := frame.Parse(r.Value); err == nil && r.Offset >= w.Offset &&
			(w.Offset >= 0 || h.At >= w.Since.UnixMilli()) && w.Wanted(r.Account, r.Cluster) {
			found = append(found, r)
		}
	}
	l.mu.Unlock()
	return f(found)
}

// inMemory is an address where nothing is but the memory of the process.
const inMemory = ""

func newFixture(t *testing.T, addr string, change ...func(*Config)) *fixture {
	t.Helper()
	f := &fixture{T: t}
	f.clock.millis.Store(start)
	c := DefaultConfig()
	if addr == inMemory {
		f.memory = NewMemory(1<<30, time.Now, prometheus.NewRegistry())
		c.Memory = f.memory
	} else {
		c.Addresses = []string{addr}
	}
	c.Clock = f.clock.now
	// a crowded machine is no outage
	c.DialTimeout, c.ReadTimeout, c.WriteTimeout = time.Minute, time.Minute, time.Minute
	c.ActiveFor = 0
	for _, f := range change {
		f(&c)
	}
	var err error
	reg := prometheus.NewRegistry()
	if f.writer, err = NewWriter(c, f.log.again, reg); err != nil {
		t.Fatal(err)
	}
	if f.reader, err = NewReader(c, reg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		f.ledger()
		f.writer.Close()
		f.reader.Close()
	})
	return f
}

// hasty is for tests in which Redis is away.
func hasty(c *Config) {
	c.DialTimeout, c.ReadTimeout, c.WriteTimeout = time.Second, time.Second, time.Second
}

func (f *fixture) ledger() {
	f.Helper()
	m := f.writer.metrics
	sum := value(m.written) + value(m.pending)
	for _, r := range dropReasons {
		sum += value(m.dropped.WithLabelValues(r))
	}
	if accepted := value(m.accepted); accepted != sum || value(m.pending) != 0 {
		f.Errorf("accepted %v, written + dropped + pending %v, pending %v", accepted, sum,
			value(m.pending))
	}
}

func (f *fixture) dropped(reason string) float64 {
	return value(f.writer.metrics.dropped.WithLabelValues(reason))
}

// run writes frames every interval from now on for a while and returns them by time.
func (f *fixture) run(account string, n *frametest.Node, span time.Duration) map[int64][]byte {
	f.Helper()
	frames := map[int64][]byte{}
	var records []stream.Record
	for end := f.clock.millis.Load() + span.Milliseconds(); f.clock.millis.Load() <
		end; f.clock.millis.Add(n.Interval) {
		n.Step()
		at := f.clock.millis.Load()
		frames[at] = n.Frame(at)
		records = append(records, stream.Record{Account: account, Value: frames[at]})
	}
	f.clock.millis.Add(-n.Interval) // the time of the newest
	if err := f.writer.Handle(f.Context(), records); err != nil {
		f.Fatal(err)
	}
	return frames
}

func between(frames map[int64][]byte, from, to int64) [][]byte {
	var want [][]byte
	var times []int64
	need := map[int64]bool{}
	for at, b := range frames {
		if at >= from && at <= to {
			h, _, _ := frame.Parse(b)
			need[at], need[h.KeyAt()] = true, true
		}
	}
	for at := range need {
		times = append(times, at)
	}
	slices.Sort(times)
	for _, at := range times {
		want = append(want, frames[at])
	}
	return want
}

func equal(a, b [][]byte) bool { return slices.EqualFunc(a, b, bytes.Equal) }

func TestWriteAndRead(t *testing.T) {
	for name, addr := range map[string]string{"redis": engines.SharedRedis(t).Addr(),
		"memory": inMemory} {
		t.Run(name, func(t *testing.T) { writeAndRead(newFixture(t, addr)) })
	}
}

func writeAndRead(f *fixture) {
	t, account := f.T, uuid.NewString()
	ctx := t.Context()
	a, b := frametest.New("one", 1, 3), frametest.New("one", 2, 3)
	if _, _, err := f.reader.Latest(ctx, account, a.ID); !errors.Is(err, ErrMiss) {
		t.Fatal("want a miss, got", err)
	}
	began := f.clock.millis.Load()
	frames := f.run(account, a, 14*time.Minute)
	now := f.clock.millis.Load()
	latest, _, err := f.reader.Latest(ctx, account, a.ID)
	if err != nil || !equal(latest, between(frames, now, now)) {
		t.Fatalf("latest: %d frames, %v", len(latest), err)
	}
	if _, _, err := f.reader.Latest(ctx, "other", a.ID); !errors.Is(err, ErrMiss) {
		t.Fatal("another account sees the node:", err)
	}
	seen, err := f.reader.LastSeen(ctx, account, []uuid.UUID{a.ID, b.ID})
	if err != nil || len(seen) != 1 || seen[a.ID] != now {
		t.Fatal(seen, err)
	}
	for _, r := range []struct {
		name     string
		from, to int64
		complete bool
	}{
		{"all since the second frame", began + 1, now, true},
		{"up to a future", began + 1, now + 3_600_000, true},
		{"the first frame too: what came before is unknown", began, now, false},
		{"before the first", began - 100_000, now, false},
		{"one minute in one window", began + 30_000, began + 90_000, true},
		{"one instant", began + 5000, began + 5000, true},
		{"between two instants", began + 5001, began + 9999, true},
		{"across windows", began + 200_000, began + 700_000, true},
	} {
		got, complete, err := f.reader.Frames(ctx, account, a.ID, r.from, r.to)
		if err != nil || complete != r.complete || !equal(got, between(frames, r.from, r.to)) {
			t.Errorf("%s: %d frames, complete %v, %v", r.name, len(got), complete, err)
		}
	}
	// A silent node is no longer complete up to now.
	f.clock.millis.Add(20_000)
	if _, complete, err := f.reader.Frames(ctx, account, a.ID, now-60_000, now+20_000); complete ||
		err != nil {
		t.Error("complete without the newest frames", err)
	}
	if _, complete, err := f.reader.Frames(ctx, account, a.ID, now-60_000, now-30_000); !complete ||
		err != nil {
		t.Error("incomplete in the past", err)
	}
	f.clock.millis.Add(-20_000)
	// A lost frame makes a range incomplete, what lies after it not.
	a.Skip()
	f.clock.millis.Add(2 * a.Interval)
	later := f.run(account, a, time.Minute)
	if _, complete, _ := f.reader.Frames(ctx, account, a.ID, now-60_000,
		f.clock.millis.Load()); complete {
		t.Error("complete over a lost frame")
	}
	if got, complete, err := f.reader.Frames(ctx, account, a.ID, now+15_000,
		f.clock.millis.Load()); !complete || err != nil || len(got) < len(later)-2 {
		t.Error("incomplete after a lost frame", len(got), err)
	}
}

func TestKeyFrameIsMissing(t *testing.T) {
	f := newFixture(t, inMemory)
	n := frametest.New("one", 11, 2)
	n.Frame(start - 5000) // never written
	f.run("acme", n, 20*time.Second)
	if _, _, err := f.reader.Latest(t.Context(), "acme", n.ID); !errors.Is(err, ErrMiss) {
		t.Error("want a miss, got", err)
	}
	if _, _, err := f.reader.Frames(t.Context(), "acme", n.ID, start+5000,
		start+15_000); !errors.Is(err, ErrMiss) {
		t.Error("want a miss, got", err)
	}
}

func TestOldAndMalformedAreDropped(t *testing.T) {
	f := newFixture(t, inMemory)
	n := frametest.New("one", 12, 1)
	old := n.Frame(start - 15*60_000 - 1)
	good := n.Frame(start)
	if err := f.writer.Handle(t.Context(), []stream.Record{{Account: "acme", Value: old},
		{Account: "acme", Value: good[:20]}, {Account: "acme", Value: good}}); err != nil {
		t.Fatal(err)
	}
	if f.dropped(dropOld) != 1 || f.dropped(dropMalformed) != 1 ||
		value(f.writer.metrics.written) != 1 {
		t.Error("wrong counts")
	}
	// An older frame that comes late does not become the newest.
	late := frametest.New("one", 12, 1).Frame(start - 1000)
	if err := f.writer.Handle(t.Context(), []stream.Record{{Account: "acme", Value: late}}); err !=
		nil {
		t.Fatal(err)
	}
	if got, _, err := f.reader.Latest(t.Context(), "acme", n.ID); err != nil ||
		!equal(got, [][]byte{good}) {
		t.Error("the late frame is the newest", err)
	}
}

func TestEveryKeyExpires(t *testing.T) {
	server := engines.MustRedis(t)
	f := newFixture(t, server.Addr())
	for i := range uint64(20) {
		f.clock.millis.Store(start)
		f.run("acme", frametest.New("one", i, 1), 12*time.Minute)
	}
	if _, err := f.reader.Claim(t.Context(), "acme", uuid.New(), "sender"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.reader.backend.addToSet(t.Context(), activeKey, []string{"acme/read"},
		start, time.Hour),
		f.writer.setMarks(t.Context(), []string{"acme/read"}, true)); err != nil {
		t.Fatal(err)
	}
	client := plain(t, server.Addr())
	keys, err := client.Do(t.Context(), client.B().Keys().Pattern("*").Build()).AsStrSlice()
	if err != nil || len(keys) != 20*3+3 {
		t.Fatal(len(keys), err)
	}
	for _, k := range keys {
		least, most := int64(1), int64(3600)
		if strings.HasPrefix(k, "rw:{acme/") {
			least, most = 14*60, 15*60
		}
		if ttl, err := client.Do(t.Context(),
			client.B().Ttl().Key(k).Build()).AsInt64(); err != nil || ttl < least || ttl > most {
			t.Error(k, ttl, err)
		}
	}
}

func plain(t *testing.T, addr string) rueidis.Client {
	t.Helper()
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr},
		DisableCache: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

func TestRedisAway(t *testing.T) {
	server := engines.MustRedis(t)
	f := newFixture(t, server.Addr(), hasty)
	n := frametest.New("one", 1, 2)
	write := func() {
		if err := f.writer.Handle(t.Context(),
			[]stream.Record{{Account: "acme", Value: n.Frame(f.clock.millis.Add(5000))}}); err !=
			nil {
			t.Fatal(err)
		}
	}
	latest := func() error {
		_, _, err := f.reader.Latest(t.Context(), "acme", n.ID)
		return err
	}
	bounded := func(what string, do func()) {
		began := time.Now()
		do()
		// the deadline is 1 s; the rest is for a crowded machine
		if took := time.Since(began); took > time.Minute {
			t.Errorf("%s took %v", what, took)
		}
	}
	eventually.True(t, "a frame is read", func() bool { write(); return latest() == nil })
	for _, outage := range []struct {
		name       string
		begin, end func() error
	}{
		{"stopped", server.Kill, func() error { return server.Restart(context.Background()) }},
		{"frozen", server.Pause, server.Resume},
	} {
		t.Run(outage.name, func(t *testing.T) {
			if err := outage.begin(); err != nil {
				t.Fatal(err)
			}
			before := f.dropped(dropAway)
			bounded("a read", func() {
				if err := latest(); !errors.Is(err, ErrAway) {
					t.Error("want ErrAway, got", err)
				}
			})
			bounded("a write", write)
			if f.dropped(dropAway) != before+1 {
				t.Error("the lost frame is not counted")
			}
			bounded("a read in the backoff", func() {
				if err := latest(); !errors.Is(err, ErrAway) {
					t.Error("want ErrAway, got", err)
				}
			})
			if err := outage.end(); err != nil {
				t.Fatal(err)
			}
			eventually.True(t, "a frame written after the outage is read", func() bool {
				n = frametest.New("one", 1, 2) // always a key frame, as when the next window begins
				write()
				return latest() == nil
			})
		})
	}
}

func TestRedisAwayFromTheStart(t *testing.T) {
	server := engines.MustRedis(t)
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	f := newFixture(t, server.Addr(), hasty)
	if err := f.reader.Ping(t.Context()); !errors.Is(err, ErrAway) {
		t.Error("want ErrAway, got", err)
	}
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually.True(t, "Redis answers", func() bool { return f.reader.Ping(t.Context()) == nil })
}

func TestRedisOutOfMemoryRefuses(t *testing.T) {
	server := engines.MustRedis(t, func(c *engines.RedisConfig) {
		c.MaxMemory, c.Policy = "100kb", "noeviction"
	})
	f := newFixture(t, server.Addr())
	f.run("acme", frametest.New("one", 1, 2), 20*time.Second)
	if f.dropped(dropRefused) == 0 {
		t.Error("nothing was refused")
	}
	memory := &f.writer.metrics.memory
	fill := func() { memory.set(f.writer.backend.memoryUsage(t.Context())) }
	fill()
	used, most := value(memory.used.WithLabelValues()), value(memory.most.WithLabelValues())
	if most != 100<<10 || used < 100<<10 {
		t.Errorf("Redis uses %v bytes of %v", used, most)
	}
	server.Kill()
	f.writer.Close()
	fill()
	there := make(chan prometheus.Metric, 2)
	memory.used.Collect(there)
	memory.most.Collect(there)
	if len(there) != 0 {
		t.Errorf("without Redis there are %d values of its memory", len(there))
	}
}

func TestValidateSaysAllAtOnce(t *testing.T) {
	if _, err := NewReader(DefaultConfig(), prometheus.NewRegistry()); err == nil ||
		!strings.Contains(err.Error(), "addresses is empty") {
		t.Error("nothing keeps anything:", err)
	}
	_, err := NewReader(Config{Addresses: []string{"nohost"}}, prometheus.NewRegistry())
	for _, want := range []string{"nohost", "dial_timeout", "read_timeout", "write_timeout",
		"backoff", "keep", "refresh"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
}

// value returns what a counter or gauge stands at.
func value(m prometheus.Metric) float64 {
	var d dto.Metric
	if err := m.Write(&d); err != nil {
		panic(err)
	}
	return d.GetCounter().GetValue() + d.GetGauge().GetValue()
}

// TestRedisCluster needs all keys of a command on one shard: a cluster of one node checks that as
// one of many does.
func TestRedisCluster(t *testing.T) {
	server := engines.MustRedis(t, func(c *engines.RedisConfig) {
		c.Extra = []string{"--cluster-enabled", "yes"}
	})
	single, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{server.Addr()},
		DisableCache: true, ForceSingleClient: true})
	if err != nil {
		t.Fatal(err)
	}
	defer single.Close()
	if err := single.Do(t.Context(), single.B().Arbitrary("CLUSTER", "ADDSLOTSRANGE", "0",
		"16383").Build()).Error(); err != nil {
		t.Fatal(err)
	}
	eventually.True(t, "the cluster is up", func() bool {
		info, err := single.Do(t.Context(), single.B().ClusterInfo().Build()).ToString()
		return err == nil && strings.Contains(info, "cluster_state:ok")
	})
	f := newFixture(t, server.Addr())
	n := frametest.New("one", 1, 2)
	began := f.clock.millis.Load()
	frames := f.run("acme", n, 12*time.Minute)
	now := f.clock.millis.Load()
	if got, _, err := f.reader.Latest(t.Context(), "acme", n.ID); err != nil ||
		!equal(got, between(frames, now, now)) {
		t.Error(len(got), err)
	}
	if got, complete, err := f.reader.Frames(t.Context(), "acme", n.ID, began+1, now); err != nil ||
		!complete || !equal(got, between(frames, began+1, now)) {
		t.Error(len(got), complete, err)
	}
	if seen, err := f.reader.LastSeen(t.Context(), "acme", []uuid.UUID{n.ID}); err != nil ||
		seen[n.ID] != now {
		t.Error(seen, err)
	}
}
