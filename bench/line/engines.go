package line

import (
	"context"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/dev/engines"
)

// Engines are those of Ringwatch, on free ports.
type Engines struct {
	Cassandra *engines.Cassandra
	Kafka     *engines.Kafka
	Redis     *engines.Redis
}

// StartEngines starts Cassandra, Redis and, unless it is nil, Kafka, all at once and with their
// data below dir. What has started is to be killed even if there is an error.
func (e *Engines) StartEngines(ctx context.Context, dir string, cassandra engines.CassandraConfig,
	kafka *engines.KafkaConfig) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		cassandra.Dir = filepath.Join(dir, "cassandra")
		e.Cassandra, err = engines.StartCassandra(ctx, cassandra)
		return err
	})
	g.Go(func() (err error) {
		if kafka != nil {
			kafka.Dir = filepath.Join(dir, "kafka")
			e.Kafka, err = engines.StartKafka(ctx, *kafka)
		}
		return err
	})
	g.Go(func() (err error) {
		e.Redis, err = engines.StartRedis(ctx,
			engines.RedisConfig{Dir: filepath.Join(dir, "redis")})
		return err
	})
	return g.Wait()
}

// KillEngines ends those that have started.
func (e *Engines) KillEngines() {
	if e.Redis != nil {
		_ = e.Redis.Kill()
	}
	if e.Kafka != nil {
		_ = e.Kafka.Kill()
	}
	if e.Cassandra != nil {
		_ = e.Cassandra.Kill()
	}
}
