package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/bench/crowd"
	"github.com/ringwatch/ringwatch/bench/fleet"
	"github.com/ringwatch/ringwatch/bench/line"
)

const interval = 20 * time.Second

// simulated is a node: what its agent sends, and its /metrics.
type simulated struct {
	mu sync.Mutex
	*fleet.Node
	at int64 // of its newest frame, ms; 0: there is none
	// acknowledged is the time of its newest frame that ingest has taken, ms. Its sender has it,
	// and who has waited for that.
	acknowledged int64
	client       http.Client
}

// nodes are the fleet. Each node has a connection of its own, as agents have.
type nodes struct {
	idle, busy *fleet.Shape
	seed       uint64
	list       []*simulated
	key        string
	ingest     string          // URL
	taken      chan crowd.Sent // now and then one; who reads it asks for its value

	frames, refused atomic.Int64 // sent; answers that said to send again

	group *errgroup.Group
	ctx   context.Context
	stop  context.CancelFunc
}

// newNodes starts no node yet.
func newNodes(ctx context.Context, o *options, us *ours) (*nodes, error) {
	n := &nodes{seed: o.seed, key: us.key, ingest: us.URLs["ingest"], taken: make(chan crowd.Sent)}
	var err error
	if n.idle, n.busy, err = fleet.ReadBoth(o.recordings, o.tables,
		interval.Milliseconds()); err != nil {
		return nil, err
	}
	n.again(ctx)
	return n, nil
}

// again lets nodes send again, after end.
func (n *nodes) again(ctx context.Context) {
	ctx, n.stop = context.WithCancel(ctx)
	n.group, n.ctx = errgroup.WithContext(ctx)
}

// make adds nodes that do not send yet.
func (n *nodes) make(count int) {
	for range count {
		shape := fleet.OfNode(len(n.list), n.idle, n.busy)
		n.list = append(n.list, &simulated{
			Node: fleet.NewNode(shape, n.seed, len(n.list)),
			client: http.Client{Timeout: time.Minute,
				Transport: &http.Transport{MaxIdleConnsPerHost: 1}},
		})
	}
}

// send lets nodes from a number on send, evenly over an interval.
func (n *nodes) send(from int) {
	list := n.list[from:]
	begin := time.Now()
	for i, s := range list {
		first := begin.Add(interval * time.Duration(i) / time.Duration(len(list)))
		n.group.Go(func() error { return n.run(s, first) })
	}
}

// end stops all nodes and returns why one failed.
func (n *nodes) end() error {
	n.stop()
	return n.group.Wait()
}

// run sends a node's frames until the end.
func (n *nodes) run(s *simulated, at time.Time) error {
	for ; ; at = at.Add(interval) {
		select {
		case <-time.After(time.Until(at)):
		case <-n.ctx.Done():
			return nil
		}
		s.mu.Lock()
		if s.at == 0 {
			s.Started = uint64(at.UnixMilli())
		} else {
			s.Step()
		}
		b, err := s.Frame(at.UnixMilli())
		s.at = at.UnixMilli()
		s.mu.Unlock()
		if err != nil {
			return err
		}
		when := time.Now()
		if err := n.post(s, b); err != nil {
			if n.ctx.Err() != nil {
				return nil
			}
			return err
		}
		s.acknowledged = at.UnixMilli()
		n.frames.Add(1)
		select {
		case n.taken <- crowd.Sent{Node: s.ID.String(), At: at.UnixMilli(), When: when}:
		default:
		}
	}
}

// post sends a frame until ingest has it.
func (n *nodes) post(s *simulated, b []byte) error {
	return line.Send(n.ctx, &s.client, n.ingest, n.key, b, func(time.Duration) time.Duration {
		n.refused.Add(1)
		return time.Second
	})
}

// serve offers each node's /metrics until ctx ends, and returns the address.
func (n *nodes) serve(ctx context.Context) (address string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{node}/metrics", func(w http.ResponseWriter, r *http.Request) {
		i, err := strconv.Atoi(r.PathValue("node"))
		if err != nil || i < 0 || i >= len(n.list) {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		_, _ = w.Write(n.list[i].text()) // a scraper that goes away says so itself
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(l) }()
	context.AfterFunc(ctx, func() { server.Close() })
	return l.Addr().String(), nil
}

// text is a node's /metrics, and what else of a node the shipped dashboards and rules ask for.
func (s *simulated) text() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.Text(make([]byte, 0, 640<<10))
	b = append(b, "# TYPE ringwatch_node_info gauge\nringwatch_node_info 1\n"...)
	return fmt.Appendf(b, "# TYPE ringwatch_node_last_seen_timestamp_seconds gauge\n"+
		"ringwatch_node_last_seen_timestamp_seconds %.3f\n", float64(s.at)/1000)
}
