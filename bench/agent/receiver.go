package main

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringwatch/ringwatch/frame"
)

// receiver stands where ingest stands: it takes frames, counts what crosses the wire, and keeps
// what each frame says of the agent.
type receiver struct {
	wire atomic.Int64 // bytes of HTTP both ways, headers included; TCP's and IP's own are not

	mu     sync.Mutex
	key    *frame.Frame
	frames []arrived
	came   chan struct{} // holds one token when a frame came since it was taken
}

// arrived is one frame. The cost it names is the pass before's, and so are the agent's counters.
type arrived struct {
	key       bool
	bytes     int
	cost      time.Duration
	allocated int64 // since the start
}

func listen() (*receiver, *httptest.Server) {
	r := &receiver{came: make(chan struct{}, 1)}
	server := httptest.NewUnstartedServer(r)
	server.Listener = counted{server.Listener, &r.wire}
	server.Start()
	return r, server
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	b, err := io.ReadAll(io.LimitReader(req.Body, frame.MaxFrameBytes))
	if err != nil {
		http.Error(w, "cut", http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	f, err := frame.Decode(b, r.key)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	a := arrived{key: f.IsKey(), bytes: len(b), cost: time.Duration(f.Cost)}
	if f.IsKey() {
		r.key = f
	}
	a.allocated = counter(f, r.key, "ringwatch_agent_allocated_bytes_total")
	r.frames = append(r.frames, a)
	select {
	case r.came <- struct{}{}:
	default:
	}
	w.WriteHeader(http.StatusNoContent)
}

// since returns the frames from number n on.
func (r *receiver) since(n int) []arrived {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.frames[n:])
}

func (r *receiver) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.frames)
}

// counter returns the value of a counter without labels: the key frame's and what the frame adds
// to it.
func counter(f, key *frame.Frame, name string) (sum int64) {
	frames := []*frame.Frame{key}
	if f != key {
		frames = append(frames, f)
	}
	for _, in := range frames {
		for _, g := range in.Values {
			t := in.Template(key, g.Template)
			for _, c := range g.Columns {
				if t.Metrics[c.Metric].Name == name && len(c.Ints) > 0 {
					sum += c.Ints[0]
				}
			}
		}
	}
	return sum
}

// counted counts what its connections read and write.
type counted struct {
	net.Listener
	bytes *atomic.Int64
}

func (l counted) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return countedConn{c, l.bytes}, err
}

type countedConn struct {
	net.Conn
	bytes *atomic.Int64
}

func (c countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.bytes.Add(int64(n))
	return n, err
}

func (c countedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.bytes.Add(int64(n))
	return n, err
}
