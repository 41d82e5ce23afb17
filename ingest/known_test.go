package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/rueidis"
	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/access/limit"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/recent"
)

// perHour is a limit as the role ingest has it. A reader that is nil: the process counts for
// itself.
func perHour(t *testing.T, of string, n int, reader *recent.Reader) func(context.Context, string,
	int64) time.Duration {
	t.Helper()
	c := limit.Config{Of: of, RequestsPerSecond: float64(n) / 3600, Burst: n,
		NodeRequestsPerSecond: 1, NodeBurst: 1, Timeout: time.Minute, Backoff: time.Nanosecond}
	var do func(context.Context, func(rueidis.Client) error) error
	if reader != nil {
		do = reader.Redis()
	}
	l, err := limit.New(c, do, prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	return l.TakeN
}

// frameOf returns a key frame of a node with tables, which are named after the first one and have
// two series each.
func frameOf(t *testing.T, cluster string, id uuid.UUID, first, tables int) []byte {
	t.Helper()
	f := node{cluster: cluster, rows: max(tables, 2)}.key()
	f.Node = id
	for i := range f.Added[0].Rows {
		f.Added[0].Rows[i][0] = fmt.Sprint("table_", first+i)
	}
	b, err := f.Append(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// refusedWith sends a frame and returns the reason it was refused for, or "". A refusal must name
// what is asked for.
func refusedWith(t *testing.T, s *running, b []byte, names ...string) string {
	t.Helper()
	answer := post(t, s.url, bytes.NewReader(b))
	if answer.StatusCode == http.StatusNoContent {
		return ""
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(names, "ingest.") {
		if !strings.Contains(string(body), name) {
			t.Errorf("%s does not name %s", body, name)
		}
	}
	_, reason, _ := strings.Cut(string(body), `"reason":"`)
	reason, _, _ = strings.Cut(reason, `"`)
	answer.Body = io.NopCloser(bytes.NewReader(body))
	wantRefusal(t, answer, 429, reason)
	return reason
}

// fleet is the nodes of acme as the store has them.
type fleet struct {
	ids  []uuid.UUID
	away bool
}

func (f *fleet) nodes(_ context.Context, account string) ([]uuid.UUID, error) {
	if f.away {
		return nil, errors.New("away")
	}
	if account != "acme" {
		return nil, nil
	}
	return f.ids, nil
}

// TestNewNodes is the attack: one account makes nodes as fast as it can, through two processes. It
// gets as many as an hour may bring, its own fleet goes on, and so does the other account.
func TestNewNodes(t *testing.T) {
	reader := mustReader(t, engines.SharedRedis(t), time.Now)
	of := "nodes-" + uuid.NewString()
	known := &fleet{}
	for range 30 {
		known.ids = append(known.ids, uuid.New())
	}
	serve := func() *running {
		return mustServe(t, taken, func(c *Config, d *Deps) {
			c.MaxNodes, c.NewNodesPerHour = 10_000, 20
			d.Nodes, d.NewNodes = known.nodes, perHour(t, of, 20, reader)
		})
	}
	servers := []*running{serve(), serve()}
	var in []uuid.UUID
	for i := range 400 {
		id := uuid.New()
		switch reason := refusedWith(t, servers[i%2], frameOf(t, "", id, 0, 2), "acme",
			"20"); reason {
		case "":
			in = append(in, id)
		case "new_nodes":
		default:
			t.Fatal(reason)
		}
	}
	if len(in) != 20 {
		t.Errorf("%d new nodes were let in, want 20", len(in))
	}
	known.ids = append(known.ids, in...)         // the store has them by now
	for _, s := range append(servers, serve()) { // and one process was started just now
		accepts(t, s, 1)
		s.known.of("acme").asked = time.Time{} // ten seconds later
		for _, id := range known.ids {
			if reason := refusedWith(t, s, frameOf(t, "", id, 0, 2)); reason != "" {
				t.Fatalf("a node that there is: %s", reason)
			}
		}
		s.ledger(t)
	}
}

// TestNewNodesTogether: a fleet that comes at once is let in at once: no node waits until the limit
// was asked for another one.
func TestNewNodesTogether(t *testing.T) {
	const nodes = 50
	var asked sync.WaitGroup
	asked.Add(nodes)
	all := make(chan struct{})
	go func() { asked.Wait(); close(all) }()
	s := mustServe(t, taken, func(_ *Config, d *Deps) {
		d.Nodes = (&fleet{}).nodes
		d.NewNodes = func(ctx context.Context, _ string, _ int64) time.Duration {
			asked.Done()
			select {
			case <-all:
				return 0
			case <-ctx.Done():
				return time.Hour
			}
		}
	})
	frames := make([][]byte, nodes)
	for i := range frames {
		frames[i] = frameOf(t, "", uuid.New(), 0, 2)
	}
	var sent errgroup.Group
	for _, b := range frames {
		sent.Go(func() error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			q, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+FramesPath,
				bytes.NewReader(b))
			if err != nil {
				return err
			}
			q.Header.Set("Authorization", "Bearer "+writer)
			q.Header.Set("Content-Type", frame.ContentType)
			answer, err := http.DefaultClient.Do(q)
			if err != nil {
				return err
			}
			defer answer.Body.Close()
			if answer.StatusCode != http.StatusNoContent {
				return errors.New(answer.Status)
			}
			return nil
		})
	}
	if err := sent.Wait(); err != nil {
		t.Error(err)
	}
	s.ledger(t)
}

// TestMaxNodes: an account has no more nodes than it may, also while the store is away; those that
// it has go on.
func TestMaxNodes(t *testing.T) {
	for _, away := range []bool{false, true} {
		known := &fleet{away: away}
		s := mustServe(t, taken, func(c *Config, d *Deps) { c.MaxNodes, d.Nodes = 10, known.nodes })
		if !away {
			known.ids = []uuid.UUID{uuid.New(), uuid.New(), uuid.New(), uuid.New()}
		}
		in := append([]uuid.UUID{}, known.ids...)
		for range 40 {
			id := uuid.New()
			switch reason := refusedWith(t, s, frameOf(t, "", id, 0, 2), "acme",
				"10 nodes"); reason {
			case "":
				in = append(in, id)
			case "too_many_nodes":
			default:
				t.Fatal(reason)
			}
		}
		if len(in) != 10 {
			t.Errorf("away %v: the account has %d nodes, want 10", away, len(in))
		}
		for _, id := range in {
			if reason := refusedWith(t, s, frameOf(t, "", id, 0, 2)); reason != "" {
				t.Errorf("away %v: a node that there is: %s", away, reason)
			}
		}
		accepts(t, s, 3)
		s.ledger(t)
	}
}

// TestRestartWhileTheStoreIsAway: a fleet goes on, whatever an hour may bring.
func TestRestartWhileTheStoreIsAway(t *testing.T) {
	known := &fleet{away: true}
	s := mustServe(t, taken, func(_ *Config, d *Deps) {
		d.Nodes, d.NewNodes, d.NewSeries = known.nodes, perHour(t, "n", 1, nil), perHour(t,
			"s", 1, nil)
	})
	for range 100 {
		if reason := refusedWith(t, s, frameOf(t, "", uuid.New(), 0, 50)); reason != "" {
			t.Fatal(reason)
		}
	}
}

// TestNewSeries is the attack: a node has other tables in each key frame. What was there counts for
// nothing.
func TestNewSeries(t *testing.T) {
	known := &fleet{ids: []uuid.UUID{uuid.New()}}
	s := mustServe(t, taken, func(c *Config, d *Deps) {
		c.NewSeriesPerHour = 1000
		d.Nodes, d.NewSeries = known.nodes, perHour(t, "series", 1000, nil)
	})
	send := func(id uuid.UUID, first, tables int, want string) {
		t.Helper()
		if reason := refusedWith(t, s, frameOf(t, "", id, first, tables), "acme",
			"1000"); reason != want {
			t.Errorf("%d tables from %d on: %q, want %q", tables, first, reason, want)
		}
	}
	old, fresh := known.ids[0], uuid.New()
	send(old, 0, 2000, "") // its 4,000 series were there before us
	send(fresh, 0, 200, "")
	for range 5 {
		send(old, 0, 2000, "")
		send(fresh, 0, 200, "")
	}
	send(old, 0, 2100, "")             // 200 new ones; 600 in all
	send(old, 100, 2000, "")           // fewer
	send(fresh, 50, 400, "new_series") // 250 tables, 500 series; 400 are left
	send(fresh, 50, 300, "")           // 150 tables: 300
	send(fresh, 10_000, 100, "new_series")
	send(uuid.New(), 0, 100, "new_series")
	send(fresh, 50, 300, "")
	send(old, 100, 2000, "")
	accepts(t, s, 5)
	s.ledger(t)
}

// TestNamesAreBounded: of a node with very many entities one hash is kept, and the sum is right
// when nodes go.
func TestNamesAreBounded(t *testing.T) {
	var k knownNodes
	few := namesOf(node{rows: 10}.key())
	many := namesOf(node{rows: nodeEntities + 1}.key())
	var a, b names
	k.remember(&a, few.names)
	k.remember(&b, many.names)
	if k.entities != 10 || len(b.entities) != 0 || b.added(many) != 0 ||
		a.added(many) != 2*(nodeEntities+1-10) {
		t.Errorf(
			"%d entities are kept, %d of many; %d are new to few",
			k.entities, len(b.entities), a.added(many))
	}
	k.entities = keptEntities
	k.remember(&a, few.names)
	if a.entities == nil {
		t.Error("what is replaced makes room")
	}
	k.remember(&b, few.names)
	if b.entities != nil {
		t.Error("more is kept than there is room for")
	}
	k.forget(&a)
	if k.entities != keptEntities-10 {
		t.Errorf("%d entities are kept", k.entities)
	}
}
