package ingest

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/recent"
)

// mustReader returns a connection to a Redis.
func mustReader(t *testing.T, redis *engines.Redis, clock func() time.Time) *recent.Reader {
	t.Helper()
	rc := recent.DefaultConfig()
	rc.Addresses, rc.DialTimeout, rc.ReadTimeout, rc.Clock = []string{redis.Addr()}, time.Minute,
		time.Minute, clock
	reader, err := recent.NewReader(rc, prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(reader.Close)
	return reader
}

// lockedBuffer is a log that servers write to and a test reads.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestClaimedBySeveral: two senders that send frames of one node by turns, each to a process of its
// own, are found out, whatever tells them apart; a node that was restarted or has a new key is not.
func TestClaimedBySeveral(t *testing.T) {
	redis := engines.SharedRedis(t)
	now := time.Now()
	clock := func() time.Time { return now }
	reader := mustReader(t, redis, clock)
	var log lockedBuffer
	var servers []*running
	for range 2 {
		s := mustServe(t, func(context.Context, string, string, []byte) error { return nil },
			func(_ *Config, d *Deps) {
				d.Log = slog.New(slog.NewTextHandler(&log, nil))
				d.Claim = func(_ context.Context, account string, node uuid.UUID,
					sender string) (bool, error) {
					// A crowded machine is no outage.
					return reader.Claim(t.Context(), account, node, sender)
				}
			})
		s.now = clock
		servers = append(servers, s)
	}
	type sender struct {
		server  int
		key     string
		started uint64
		age     time.Duration
	}
	agent := sender{0, writer, 1000, 0}
	for _, c := range []struct {
		name    string
		by      []sender // each sends, and so on by turns
		rounds  int
		claimed bool
	}{
		{"alone", []sender{agent}, 5, false},
		{"restarted", []sender{agent, {1, writer, 2000, 0}}, 1, false},
		{"restarted, with what waited",
			[]sender{{0, writer, 2000, 0}, {0, writer, 1000, time.Minute}}, 5, false},
		{"with a new key", []sender{agent, {0, second, 1000, 0}}, 1, false},
		{"at another process now and then", []sender{agent, {1, writer, 1000, 0}}, 5, false},
		{"two agents", []sender{agent, {0, writer, 2000, 0}}, 2, true},
		{"two agents at two processes", []sender{agent, {1, writer, 2000, 0}}, 2, true},
		{"two keys", []sender{agent, {1, second, 1000, 0}}, 2, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			id := uuid.New()
			before := servers[0].counts(t, "claimed_total")[""] +
				servers[1].counts(t, "claimed_total")[""]
			for range c.rounds {
				for _, by := range c.by {
					now = now.Add(claimAgain)
					f := node{at: now.Add(-by.age)}.key()
					f.Node, f.Started = id, by.started
					b, err := f.Append(nil, nil)
					if err != nil {
						t.Fatal(err)
					}
					if answer := post(t, servers[by.server].url, bytes.NewReader(b),
						withKey(by.key)); answer.StatusCode != 204 {
						t.Fatal(answer.Status)
					}
				}
			}
			claimed, err := reader.Claimed(t.Context(), "acme")
			counted := servers[0].counts(t, "claimed_total")[""] +
				servers[1].counts(t, "claimed_total")[""] - before
			if err != nil || claimed[id] != c.claimed || (counted > 0) != c.claimed ||
				strings.Contains(log.String(), id.String()) != c.claimed {
				t.Errorf("claimed: %v, counted %v, %v; log: %s", claimed, counted, err,
					log.String())
			}
			now = now.Add(16 * time.Minute)
			if claimed, err = reader.Claimed(t.Context(), "acme"); err != nil || claimed[id] {
				t.Errorf("a quarter of an hour later: %v, %v", claimed, err)
			}
		})
	}
}
