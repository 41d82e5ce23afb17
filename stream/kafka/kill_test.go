package kafka

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/dev/eventually"
	"github.com/ringwatch/ringwatch/stream"
	"github.com/ringwatch/ringwatch/stream/streamtest"
)

// A process that TestKilledConsumer starts finds its orders here.
const (
	childTopic  = "RINGWATCH_TEST_STREAM_TOPIC"
	childBroker = "RINGWATCH_TEST_STREAM_BROKER"
	childEffect = "RINGWATCH_TEST_STREAM_EFFECT"
)

// scribe's effect is a line in a file.
type scribe struct {
	*streamtest.Worker
	file *os.File
}

func (s *scribe) Handle(ctx context.Context, records []stream.Record) error {
	if err := s.Worker.Handle(ctx, records); err != nil {
		return err
	}
	for _, r := range records {
		if _, err := fmt.Fprintln(s.file, r.Partition, r.Offset, string(r.Value)); err != nil {
			return err
		}
	}
	return nil
}

// child consumes until it is killed.
func child() {
	file, err := os.OpenFile(os.Getenv(childEffect), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	config := DefaultConfig()
	config.Brokers = []string{os.Getenv(childBroker)}
	k, err := New(config, quiet)
	if err != nil {
		panic(err)
	}
	c := stream.DefaultConfig()
	c.Topic = os.Getenv(childTopic)
	cc := streamtest.ConsumerConfig(c)
	cc.SessionTimeout = time.Second
	consumer, err := stream.NewConsumer(k, cc, &scribe{streamtest.NewWorker(streamtest.NewBoard()),
		file}, prometheus.NewRegistry(), quiet)
	if err != nil {
		panic(err)
	}
	panic(consumer.Run(context.Background()))
}

type effect struct {
	partition int32
	offset    int64
	value     string
}

// effects reads whole lines; the last one may be half a line when its writer was killed.
func effects(t *testing.T, path string) (list []effect) {
	t.Helper()
	f, err := os.Open(path)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var e effect
		if n, _ := fmt.Sscan(lines.Text(), &e.partition, &e.offset, &e.value); n == 3 {
			list = append(list, e)
		}
	}
	return list
}

func TestKilledConsumer(t *testing.T) {
	broker := engines.MustKafka(t, func(c *engines.KafkaConfig) {
		// a killed member is soon forgotten
		c.Extra = map[string]string{"group.min.session.timeout.ms": "500"}
	})
	k := mustKafka(t, broker)
	c := streamtest.Config(t)
	streamtest.MustTopic(t, k, c)
	p, _ := streamtest.MustProducer(t, k, c)
	random := streamtest.Random(t)
	const records = 3000
	published := make(chan error, 1)
	go func() {
		for i := range records {
			if err := p.Publish(context.Background(), "acme", "c"+strconv.Itoa(i%10),
				[]byte(strconv.Itoa(i))); err != nil {
				published <- err
				return
			}
		}
		published <- nil
	}()
	seen := map[string]bool{}
	handled := map[int32]int64{} // by partition: the next offset after those with an effect
	for life := 0; len(seen) < records; life++ {
		if life == 20 {
			t.Fatalf("%d of %d records after %d lives", len(seen), records, life)
		}
		path := filepath.Join(t.TempDir(), "effects")
		resume := committed(t, k, c.Topic)
		for partition, at := range resume {
			if at%10 != 0 { // LowWater's promise, see worker
				t.Errorf("partition %d is committed at %d, which is no LowWater", partition, at)
			}
		}
		process := exec.Command(os.Args[0])
		process.Env = append(os.Environ(), childTopic+"="+c.Topic, childBroker+"="+broker.Addr(),
			childEffect+"="+path)
		process.Stderr = os.Stderr
		if err := process.Start(); err != nil {
			t.Fatal(err)
		}
		lines := 1 + random.IntN(records/2)
		if life >= 3 {
			lines = records // the last one may finish
		}
		eventually.True(t, "the consumer gets on", func() bool {
			all := effects(t, path)
			if len(all) >= lines {
				return true
			}
			left := map[string]bool{}
			for _, e := range all {
				left[e.value] = true
			}
			for v := range seen {
				left[v] = true
			}
			return len(left) == records
		})
		if err := process.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = process.Wait() // it was killed
		next := map[int32]int64{}
		for _, e := range effects(t, path) {
			want, ok := next[e.partition]
			if !ok {
				want = resume[e.partition]
				// What a life committed as it was killed may reach Kafka after resume was read.
				if e.offset > want && e.offset%10 == 0 && e.offset <= handled[e.partition] {
					want = e.offset
				}
			}
			// Who is held up for longer than its session lasts loses a partition, and begins at
			// its LowWater when it has it again.
			if anew := ok && e.offset < want && e.offset%10 == 0; e.offset != want && !anew {
				t.Errorf("life %d: offset %d of partition %d where %d is next", life, e.offset,
					e.partition, want)
			}
			next[e.partition] = e.offset + 1
			seen[e.value] = true
		}
		for partition, offset := range next {
			handled[partition] = max(handled[partition], offset)
		}
		t.Logf("life %d: resumed at %v, got to %v, %d of %d seen", life, resume, next, len(seen),
			records)
	}
	if err := <-published; err != nil {
		t.Fatal(err)
	}
}
