package main

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/line"
	"github.com/ringwatch/ringwatch/dev/engines"
)

const (
	rows         = 10_000
	mostUnderWay = 5_000 // requests of applications
)

// load reads and writes all the time at QUORUM, as applications do: through whichever nodes answer.
type load struct {
	session *gocql.Session
	stop    context.CancelFunc
	done    sync.WaitGroup

	rate          atomic.Int64 // of reads a second, and of writes
	asked, failed atomic.Int64 // requests
}

// startLoad makes the tables and begins. rate is that of reads a second, and that of writes.
func startLoad(ctx context.Context, nodes []*engines.Cassandra, rate int) (*load, error) {
	cluster := gocql.NewCluster()
	for _, n := range nodes {
		cluster.Hosts = append(cluster.Hosts, n.Host)
	}
	cluster.Port, cluster.Timeout = nodes[0].NativePort, 5*time.Second
	cluster.ConnectTimeout, cluster.Consistency = time.Minute, gocql.Quorum
	cluster.PoolConfig.HostSelectionPolicy = gocql.TokenAwareHostPolicy(
		gocql.RoundRobinHostPolicy())
	l := &load{}
	var err error
	if l.session, err = cluster.CreateSession(); err != nil {
		return nil, err
	}
	for _, statement := range []string{
		"CREATE KEYSPACE IF NOT EXISTS shop WITH replication = " +
			"{'class': 'NetworkTopologyStrategy', 'dc1': 3}",
		"CREATE TABLE IF NOT EXISTS shop.orders (k int PRIMARY KEY, v text)",
		"CREATE TABLE IF NOT EXISTS shop.pictures (k int PRIMARY KEY, v blob)",
	} {
		wait, cancel := context.WithTimeout(ctx, engines.Patience)
		err := line.Until(wait, statement, func(ctx context.Context) error {
			return l.session.Query(statement).ExecContext(ctx)
		})
		cancel()
		if err != nil {
			l.session.Close()
			return nil, err
		}
	}
	l.rate.Store(int64(rate))
	ctx, l.stop = context.WithCancel(ctx)
	l.done.Go(func() { l.run(ctx) })
	return l, nil
}

func (l *load) run(ctx context.Context) {
	var under atomic.Int64
	for k := 0; bench.Pass(ctx, time.Second/time.Duration(l.rate.Load())) == nil; k++ {
		if under.Load() > mostUnderWay {
			continue // more would only wait here
		}
		under.Add(1)
		l.done.Go(func() {
			defer under.Add(-1)
			l.count(ctx, l.session.Query("INSERT INTO shop.orders (k, v) VALUES (?, ?)", k%rows,
				"an order of some length, as orders have").ExecContext(ctx))
			var v string
			err := l.session.Query("SELECT v FROM shop.orders WHERE k = ?", (k*7919)%rows).
				ScanContext(ctx, &v)
			if err == gocql.ErrNotFound {
				err = nil
			}
			l.count(ctx, err)
		})
	}
}

// fill writes so many MB of pictures, 100 kB each.
func (l *load) fill(ctx context.Context, mb int) error {
	picture := make([]byte, 100_000)
	for k := range mb * 10 {
		for i := 0; i < len(picture); i += 8 { // what compresses well takes no space
			binary.LittleEndian.PutUint64(picture[i:], rand.Uint64())
		}
		if err := l.session.Query("INSERT INTO shop.pictures (k, v) VALUES (?, ?)", k, picture).
			ExecContext(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (l *load) count(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	l.asked.Add(1)
	if err != nil {
		l.failed.Add(1)
	}
}

func (l *load) end() {
	l.stop()
	l.done.Wait()
	l.session.Close()
}
