// Command record makes the recordings that benchmarks replay: the frames of a real Cassandra with
// the agent in it, first idle, then under a mixed load of reads and writes on all its tables.
// Frames are kept as they were sent, one after another (FORMAT.md §3).
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/node"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/frame"
)

func main() {
	tables := flag.Int("tables", 100, "tables in the recorded node, ten to a keyspace")
	minutes := flag.Duration("length", 6*time.Minute,
		"length of each recording; longer than a window, so that a window changes within")
	interval := flag.Duration("interval", 5*time.Second, "the agent's interval")
	out := flag.String("out", "bench/recordings", "folder for idle.rwf and busy.rwf")
	var jar string
	bench.Agent(&jar)
	bench.Run("bench-record", func(ctx context.Context, dir string) error {
		return record(ctx, dir, *tables, *minutes, *interval, *out, jar)
	})
}

// receiver stands where ingest stands and keeps what arrives.
type receiver struct {
	mu   sync.Mutex
	file *os.File // nil between recordings
	key  []byte   // the last key frame, which a recording that begins within a window needs first
	n    int
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	b, err := io.ReadAll(io.LimitReader(req.Body, frame.MaxFrameBytes))
	h, _, perr := frame.Parse(b)
	if err != nil || perr != nil {
		http.Error(w, "not a frame", http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if h.IsKey() {
		r.key = b
	}
	if r.file != nil {
		if r.n == 0 && !h.IsKey() {
			r.file.Write(r.key)
		}
		r.file.Write(b)
		r.n++
	}
	w.WriteHeader(http.StatusNoContent)
}

func (r *receiver) run(ctx context.Context, file string, length time.Duration,
	load func(ctx context.Context) error) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	r.mu.Lock()
	r.file, r.n = f, 0
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	err = load(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.file = nil
	bench.Progress("%s: %d frames", filepath.Base(file), r.n)
	return err
}

func record(ctx context.Context, dir string, tables int, length, interval time.Duration,
	out, jar string) error {
	r := &receiver{}
	server := httptest.NewServer(r)
	defer server.Close()
	agent, err := node.Push(dir, jar, server.URL, interval)
	if err != nil {
		return err
	}
	cassandra, err := engines.StartCassandra(ctx,
		engines.CassandraConfig{Dir: filepath.Join(dir, "cassandra"), Heap: "1G",
			ClusterName: "recorded", JVMArgs: agent.Args, Progress: bench.Say})
	if err != nil {
		return err
	}
	defer cassandra.Stop(context.WithoutCancel(ctx))
	session, err := node.Session(cassandra)
	if err != nil {
		return err
	}
	defer session.Close()
	if err := node.CreateTables(ctx, session, tables, bench.Say); err != nil {
		return err
	}
	idle := func(ctx context.Context) error { <-ctx.Done(); return nil }
	if err := r.run(ctx, filepath.Join(out, "idle.rwf"), length, idle); err != nil {
		return err
	}
	return r.run(ctx, filepath.Join(out, "busy.rwf"), length, func(ctx context.Context) error {
		return mixed(ctx, session, tables)
	})
}

// mixed reads and writes all tables, the first ones most, until ctx ends: four clients, half reads.
func mixed(ctx context.Context, session *gocql.Session, tables int) error {
	g, ctx := errgroup.WithContext(ctx)
	for c := range 4 {
		random := rand.New(rand.NewPCG(7, uint64(c)))
		g.Go(func() error {
			for ctx.Err() == nil {
				t := min(int(random.ExpFloat64()*float64(tables)/4), tables-1)
				k, c := random.IntN(5000), random.IntN(20)
				var err error
				if random.IntN(2) == 0 {
					err = session.Query("INSERT INTO "+node.Table(t)+" (k, c, v) VALUES (?, ?, ?)",
						k, c,
						fmt.Sprintf("%0*d", random.IntN(200), k)).ExecContext(ctx)
				} else {
					var v string
					err = session.Query("SELECT v FROM "+node.Table(t)+" WHERE k = ? AND c = ?", k,
						c).ScanContext(ctx, &v)
				}
				if err != nil && err != gocql.ErrNotFound && ctx.Err() == nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}
