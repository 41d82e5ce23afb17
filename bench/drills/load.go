package main

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/ringwatch/ringwatch/bench/line"
	"github.com/ringwatch/ringwatch/dev/engines"
)

const rows = 10_000

// load reads and writes all the time at QUORUM, as applications do: through whichever nodes answer.
type load struct {
	session *gocql.Session
	stop    context.CancelFunc
	done    sync.WaitGroup

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
	ctx, l.stop = context.WithCancel(ctx)
	l.done.Go(func() { l.run(ctx, rate) })
	return l, nil
}

func (l *load) run(ctx context.Context, rate int) {
	tick := time.NewTicker(time.Second / time.Duration(rate))
	defer tick.Stop()
	for k := 0; ; k++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		l.done.Go(func() {
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
