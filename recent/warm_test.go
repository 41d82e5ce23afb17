package recent

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/dev/eventually"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/stream"
)

// newActive is a fixture whose writer runs and writes only what is read, in memory, on a Redis,
// or on a cluster of which more are named.
func newActive(t *testing.T, addr string, change func(*Config), more ...string) *fixture {
	f := newFixture(t, addr, change, func(c *Config) {
		c.ActiveFor, c.Refresh, c.Backoff = time.Hour, 20*time.Millisecond, 20*time.Millisecond
		c.Keep = 15 * time.Minute
		c.Addresses = append(c.Addresses, more...)
	})
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = f.writer.Run(ctx) }()
	t.Cleanup(func() { stop(); <-done })
	return f
}

// patient leaves the timeouts as they are.
func patient(*Config) {}

// send makes a frame of each node now, puts them into the log and hands them to the writer.
func (f *fixture) send(account string, nodes ...*frametest.Node) {
	f.Helper()
	var records []stream.Record
	for _, n := range nodes {
		n.Step()
		records = append(records, stream.Record{Account: account, Cluster: n.Cluster,
			Value: n.Frame(f.clock.millis.Load())})
	}
	if err := f.writer.Handle(f.Context(), f.log.add(records...)); err != nil {
		f.Fatal(err)
	}
}

// pass sends frames every 5 s for a while.
func (f *fixture) pass(span time.Duration, account string, nodes ...*frametest.Node) {
	f.Helper()
	for range int(span / (5 * time.Second)) {
		f.clock.millis.Add(5000)
		f.send(account, nodes...)
	}
}

// whole reports whether Redis surely has all of the node's last 14 minutes.
func (f *fixture) whole(account string, id uuid.UUID) bool {
	now := f.clock.millis.Load()
	_, complete, err := f.reader.Frames(f.Context(), account, id, now-14*60_000, now)
	return err == nil && complete
}

// waitsForAFrame reports whether the writer knows that a cluster is read and has not yet seen a
// frame of it.
func (f *fixture) waitsForAFrame(cluster string) bool {
	c := f.writer.clusters
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.active[cluster] && c.warm[cluster] == nil
}

func TestOnlyWhatIsReadIsWritten(t *testing.T) {
	f := newActive(t, inMemory, patient)
	read, other, stranger := frametest.New("read", 1, 2), frametest.New("other", 2,
		2), frametest.New("read", 3, 2)
	f.pass(16*time.Minute, "acme", read, other)
	f.pass(5*time.Second, "zeta", stranger)
	if n := f.memory.held(); n != 0 {
		t.Fatal("nobody has read anything, and memory holds bytes:", n)
	}
	if written, dropped := value(f.writer.metrics.written), f.dropped(dropInactive); written != 0 ||
		dropped != 2*16*12+1 {
		t.Fatal(written, dropped)
	}
	f.reader.Touch("acme", "read")
	passes := 0
	eventually.True(t,
		"the cluster that is read is whole at once: its next frame brings the fifteen "+
			"minutes before", func() bool {
			if passes++; passes <= 24 || f.waitsForAFrame("acme/read") {
				f.pass(5*time.Second, "acme", read, other)
				f.send("zeta", stranger)
			}
			return f.whole("acme", read.ID)
		})
	for _, n := range []*frametest.Node{other, stranger} {
		for _, account := range []string{"acme", "zeta"} {
			if _, _, err := f.reader.Latest(t.Context(), account, n.ID); !errors.Is(err, ErrMiss) {
				t.Error("a node of a cluster that nobody reads is kept", err)
			}
		}
	}
	reads := f.log.reads()
	f.pass(time.Minute, "acme", read, other)
	if !f.whole("acme", read.ID) || f.log.reads() != reads {
		t.Error("a warm cluster is read again", reads, f.log.reads())
	}
	// An hour without a read ends it.
	f.clock.millis.Add(3600_000 + 1)
	eventually.True(t, "the writer forgets it", func() bool {
		before := f.dropped(dropInactive)
		f.pass(5*time.Second, "acme", read)
		return f.dropped(dropInactive) > before
	})
	f.reader.Touch("acme", "read")
	f.pass(14*time.Minute, "acme", read)
	eventually.True(t, "it is whole when it is read again", func() bool {
		f.pass(5*time.Second, "acme", read)
		return f.whole("acme", read.ID)
	})
}

func TestAnotherWriterTakesOver(t *testing.T) {
	f := newActive(t, inMemory, patient)
	n := frametest.New("read", 1, 2)
	f.reader.Touch("acme", "read")
	eventually.True(t, "it is active", func() bool {
		f.pass(5*time.Second, "acme", n)
		return value(f.writer.metrics.written) > 0
	})
	f.pass(16*time.Minute, "acme", n)
	eventually.True(t, "it is whole", func() bool { return f.whole("acme", n.ID) })
	eventually.True(t, "its mark is there", func() bool {
		mark, err := f.writer.backend.hashField(t.Context(), markKey("acme/read"), "warm")
		return err == nil && mark != ""
	})
	reads := f.log.reads()
	f.writer.Revoke(0)
	f.pass(time.Minute, "acme", n)
	if f.log.reads() != reads || !f.whole("acme", n.ID) {
		t.Error("who takes over within the mark's time read again", reads, f.log.reads())
	}
}

// TestWhatRedisLost: after each of these Redis lacks frames that the log has, and nobody but the
// writer can know.
func TestWhatRedisLost(t *testing.T) {
	server := engines.MustRedis(t, func(c *engines.RedisConfig) { c.MaxMemory = "100mb" })
	f := newActive(t, server.Addr(), hasty)
	n := frametest.New("read", 1, 2)
	f.reader.Touch("acme", "read")
	eventually.True(t, "it is active", func() bool {
		f.pass(5*time.Second, "acme", n)
		return value(f.writer.metrics.written) > 0
	})
	f.pass(16*time.Minute, "acme", n)
	client := plain(t, server.Addr())
	do := func(words ...string) error {
		return client.Do(t.Context(), client.B().Arbitrary(words[0]).Args(words[1:]...).Build()).
			Error()
	}
	none := func() error { return nil }
	for _, fault := range []struct {
		name       string
		begin, end func() error
	}{
		{"wiped", func() error { return do("FLUSHALL") }, none},
		{"frozen", server.Pause, server.Resume},
		{"killed", server.Kill, func() error { return server.Restart(context.Background()) }},
		{"out of memory", func() error {
			return errors.Join(do("CONFIG", "SET", "maxmemory-policy", "noeviction"),
				do("CONFIG", "SET", "maxmemory", "1"))
		}, func() error { return do("CONFIG", "SET", "maxmemory", "100mb") }},
		{"read-only", func() error {
			return errors.Join(do("CONFIG", "SET", "min-replicas-to-write", "1"))
		}, func() error { return do("CONFIG", "SET", "min-replicas-to-write", "0") }},
	} {
		t.Run(fault.name, func(t *testing.T) {
			eventually.True(t, "it is whole before", func() bool {
				f.reader.Touch("acme", "read")
				f.pass(5*time.Second, "acme", n)
				return f.whole("acme", n.ID)
			})
			if err := fault.begin(); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			f.pass(20*time.Second, "acme", n)
			// 1 s a call is allowed; the rest is for a crowded machine
			if took := time.Since(began); took > 4*time.Minute {
				t.Errorf("four calls stood still for %v", took)
			}
			passes := 0
			if err := fault.end(); err != nil {
				t.Fatal(err)
			}
			eventually.True(t,
				"it is whole again, long before what is missing is too old to matter",
				func() bool {
					f.reader.Touch("acme", "read")
					if passes++; passes <= 24 || f.waitsForAFrame("acme/read") {
						f.pass(5*time.Second, "acme", n)
					}
					return f.whole("acme", n.ID)
				})
		})
	}
}
