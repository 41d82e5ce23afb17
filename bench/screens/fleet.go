package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/bench/fleet"
	"github.com/ringwatch/ringwatch/bench/line"
	"github.com/ringwatch/ringwatch/frame"
)

const (
	interval = 15 * time.Second // between two frames of a node
	tables   = 24               // of a node
	seed     = 7
)

// clusters are the fleet's, with the nodes of each of their data centres.
var clusters = []struct {
	name    string
	centres []string
	nodes   int // of each
}{
	{"orders", []string{"eu-west", "us-east"}, 12},
	{"payments", []string{"eu-west", "eu-north", "us-east"}, 6},
	{"sessions", []string{"eu-west", "us-east"}, 9},
	{"catalogue", []string{"eu-west"}, 12},
}

// The recording's keyspaces are ks0 to ks9 with the tables t0 to t99: these names are easier to
// read.
var (
	keyspaceNames = []string{"orders", "payments", "customers", "stock", "sessions", "events",
		"messages", "prices", "reviews", "audit"}
	tableNames = []string{"by_id", "by_day", "by_user", "by_region", "latest", "history",
		"counters", "settings", "links", "archive"}
)

// played is the fleet.
type played struct {
	nodes []*fleet.Node
	busy  *fleet.Node // is much busier than its peers
	full  *fleet.Node // has a nearly full disk, and compactions that wait
	down  *fleet.Node // sent its last frame some minutes ago
	disk  []int64     // by node: bytes available
	due   []time.Time // by node: when its next frame is made
	until time.Time   // of the node that is down
	table string      // keyspace/table of a busy one
}

func newFleet(recording string, start time.Time) (*played, error) {
	shape, err := fleet.Read(recording, "busy", tables, interval.Milliseconds())
	if err != nil {
		return nil, err
	}
	shape.Rename("keyspace", rename)
	shape.Rename("table", rename)
	keyspace, table := fleet.UserTable(shape)
	f := &played{until: time.Now().Add(-4 * time.Minute), table: keyspace + "/" + table}
	for c, cluster := range clusters {
		for d, centre := range cluster.centres {
			for i := range cluster.nodes {
				n := fleet.NewNode(shape, seed, len(f.nodes))
				n.Cluster, n.Identity = cluster.name, frame.Identity{Datacenter: centre,
					Rack: fmt.Sprintf("rack%d", i%3+1), Facts: []frame.Fact{
						{Name: "address", Value: fmt.Sprintf("10.%d.%d.%d:7000", c+1, d, i+11)},
						{Name: "cassandra_version", Value: "5.0.9"},
					}}
				up := time.Duration(20+len(f.nodes)) * 11 * time.Hour
				n.Set("jvm_start_time_seconds", start.Add(-up).UnixMilli())
				n.Set("cassandra_node_peers_up", int64(cluster.nodes*len(cluster.centres)-1))
				f.add(n)
			}
		}
	}
	for i := range f.nodes {
		f.due = append(f.due, start.Add(interval*time.Duration(i)/time.Duration(len(f.nodes))))
	}
	return f, nil
}

// add makes a node one of the fleet, and gives it a load and a disk of its own.
func (f *played) add(n *fleet.Node) {
	random := rand.New(rand.NewPCG(seed, uint64(len(f.nodes))))
	// The recorded node had nearly no time to be idle; these have.
	idle, more := 12+50*random.Float64(), 1.0
	available := int64(float64(diskBytes) * (0.35 + 0.4*random.Float64()))
	switch len(f.nodes) {
	case 3:
		f.busy, idle, more, n.Later = n, 0.5, 5, 7
	case 28:
		f.full, available = n, diskBytes*17/100
	case 50:
		f.down = n
	}
	n.Times = func(metric string, row []string) float64 {
		switch {
		case metric == "os_cpu_seconds_total" && row[0] == "idle":
			return idle
		case strings.HasPrefix(metric, "cassandra_"):
			return more
		}
		return 1
	}
	f.nodes, f.disk = append(f.nodes, n), append(f.disk, available)
}

const diskBytes = 1 << 40

// frame returns a node's next frame, and when it was made.
func (f *played) frame(i int) ([]byte, error) {
	n := f.nodes[i]
	n.Step()
	n.Set("os_filesystem_size_bytes", diskBytes)
	n.Set("os_filesystem_available_bytes", f.disk[i])
	n.Set("os_filesystem_free_bytes", f.disk[i])
	if n == f.full {
		n.Set("cassandra_compaction_pending_tasks", 180+n.Random.Int64N(20))
	}
	b, err := n.Frame(f.due[i].UnixMilli())
	f.due[i] = f.due[i].Add(interval)
	return b, err
}

// sendPast posts what the nodes would have sent until now: all of them an interval, then the next.
func (f *played) sendPast(ctx context.Context, l *line.Line) error {
	for {
		sent := false
		g, ctx := errgroup.WithContext(ctx)
		g.SetLimit(8)
		for i := range f.nodes {
			if f.due[i].After(time.Now()) || f.ended(i) {
				continue
			}
			sent = true
			g.Go(func() error {
				b, err := f.frame(i)
				if err != nil {
					return err
				}
				return l.Post(ctx, l.Key, b)
			})
		}
		if err := g.Wait(); err != nil || !sent {
			return err
		}
	}
}

// ended says whether a node sends no more.
func (f *played) ended(i int) bool { return f.nodes[i] == f.down && f.due[i].After(f.until) }

// sendLive posts each frame when it is due, until ctx ends.
func (f *played) sendLive(ctx context.Context, l *line.Line) error {
	for {
		next := -1
		for i := range f.due {
			if !f.ended(i) && (next < 0 || f.due[i].Before(f.due[next])) {
				next = i
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Until(f.due[next])):
		}
		b, err := f.frame(next)
		if err == nil {
			err = l.Post(ctx, l.Key, b)
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
}

// settle waits until the alerts of the two nodes that have any fire. Rules evaluate from when the
// first frame came, and compactions wait a quarter of an hour before they are an alert.
func (f *played) settle(ctx context.Context, l *line.Line) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Minute)
	defer cancel()
	return line.Until(ctx, "the alerts", func(ctx context.Context) error {
		var answer struct {
			Data struct {
				Alerts []struct {
					State  string
					Labels map[string]string
				}
			}
		}
		if err := l.Get(ctx, "/api/v1/alerts", &answer); err != nil {
			return err
		}
		for name, node := range map[string]*fleet.Node{"NodeDiskFull": f.full,
			"CassandraPendingCompactions": f.full, "CassandraAgentSilent": f.down} {
			fires := false
			for _, a := range answer.Data.Alerts {
				fires = fires || a.State == "firing" && a.Labels["alertname"] == name &&
					a.Labels["node"] == node.ID.String()
			}
			if !fires {
				return fmt.Errorf("%s of node %s does not fire", name, node.ID)
			}
		}
		return nil
	})
}

// rename gives a row of a keyspace or a table a readable name; system keyspaces have one.
func rename(row []string) {
	k, err := strconv.Atoi(strings.TrimPrefix(row[0], "ks"))
	if err != nil {
		return
	}
	row[0] = keyspaceNames[k%len(keyspaceNames)]
	if len(row) > 1 {
		if t, err := strconv.Atoi(strings.TrimPrefix(row[1], "t")); err == nil {
			row[1] = tableNames[t%len(tableNames)]
		}
	}
}
