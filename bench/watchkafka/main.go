// Command watchkafka measures what one reading of a large Kafka cluster costs who reads it, and the
// cluster: 10,000 partitions, and 200 groups that have committed an offset for each of them.
//
// Kafka is one broker; records are few, since nobody reads them. Each reading comes after each
// partition got a record, and is 20 s after the one before by the reader's clock, so that history
// is searched as it would be. CPU is that of this process while it reads.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/node"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/watch/kafka"
	"github.com/ringwatch/ringwatch/watch/reading"
)

type options struct {
	topics, partitions, groups int
	readings, maxSeries        int
	heap                       string
}

// interval is from one reading to the next.
const interval = 20 * time.Second

func main() {
	var o options
	flag.IntVar(&o.topics, "topics", 10, "topics")
	flag.IntVar(&o.partitions, "partitions", 10_000, "partitions, over all topics")
	flag.IntVar(&o.groups, "groups", 200, "groups, each with an offset for each partition")
	flag.IntVar(&o.readings, "readings", 60, "readings; the first half is not counted")
	flag.IntVar(&o.maxSeries, "max-series", 200_000, "max_series")
	flag.StringVar(&o.heap, "heap", "2G", "Kafka's heap")
	bench.Main("bench-watch-kafka", func(ctx context.Context, r *bench.Result) error {
		return run(ctx, o, r)
	})
}

func run(ctx context.Context, o options, r *bench.Result) error {
	dir, remove, err := bench.Dir("")
	if err != nil {
		return err
	}
	defer remove()
	broker, err := engines.StartKafka(ctx, engines.KafkaConfig{Dir: filepath.Join(dir, "kafka"),
		Heap: o.heap, Progress: bench.Say})
	if err != nil {
		return err
	}
	defer func() { _ = broker.Kill() }()
	client, err := kgo.NewClient(kgo.SeedBrokers(broker.Addr()),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.MaxBufferedRecords(100_000),
		kgo.UnknownTopicRetries(-1))
	if err != nil {
		return err
	}
	defer client.Close()
	if err := fill(ctx, o, client); err != nil {
		return err
	}
	now := time.Now()
	c := kafka.DefaultConfig()
	c.Timeout = interval
	c.Cluster, c.Brokers, c.MaxSeries = "bench", []string{broker.Addr()}, o.maxSeries
	reader, err := kafka.New(c, kafka.Deps{
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Now: func() time.Time { return now }})
	if err != nil {
		return err
	}
	defer reader.Close()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var cpu, took, brokerCPU, allocated []float64
	var last *reading.Reading
	for i := range o.readings {
		if err := produce(ctx, o, client); err != nil {
			return err
		}
		runtime.GC() // of producing
		now = now.Add(interval)
		var memory [2]runtime.MemStats
		runtime.ReadMemStats(&memory[0])
		ofBroker, err := node.UsageOf(broker.Pid(), "")
		if err != nil {
			return err
		}
		own, began := bench.CPU(), time.Now()
		last, err = reader.Read(ctx)
		bench.Progress("reading %d: %.2f s, %.2f s of CPU, %v", i, time.Since(began).Seconds(),
			(bench.CPU() - own).Seconds(), err)
		if i < o.readings/2 { // the broker is not warm, and the first answers may come late
			continue
		}
		if err != nil {
			return err
		}
		took = append(took, time.Since(began).Seconds())
		cpu = append(cpu, (bench.CPU() - own).Seconds())
		runtime.ReadMemStats(&memory[1])
		allocated = append(allocated, float64(memory[1].TotalAlloc-memory[0].TotalAlloc)/1e6)
		ofBrokerAfter, err := node.UsageOf(broker.Pid(), "")
		if err != nil {
			return err
		}
		brokerCPU = append(brokerCPU, (ofBrokerAfter.CPU - ofBroker.CPU).Seconds())
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	r.Add("read_s", bench.Median(took))
	r.Add("read_p90_s", bench.Quantile(took, 0.9))
	r.Add("cpu_s", bench.Median(cpu))
	r.Add("cores", bench.Median(cpu)/interval.Seconds())
	r.Add("broker_cpu_s", bench.Median(brokerCPU))
	r.Add("allocated_mb", bench.Median(allocated))
	r.Add("held_mb", (float64(after.HeapAlloc)-float64(before.HeapAlloc))/1e6)
	r.Add("series", last.Series())
	runtime.KeepAlive(last)
	runtime.KeepAlive(reader)
	r.Notes = fmt.Sprintf("Medians of %d readings, after as many before; %d topics with %d "+
		"partitions, %d groups with an offset for each partition, max_series %d; one broker on "+
		"the same two cores. cpu_s and allocated_mb are of this process while it reads, "+
		"held_mb is "+
		"its heap with the last reading; cores is with a reading every %s.", len(cpu), o.topics,
		o.partitions, o.groups, o.maxSeries, interval)
	return nil
}

// fill makes the topics, and commits offsets for all groups.
func fill(ctx context.Context, o options, client *kgo.Client) error {
	admin := kadm.NewClient(client)
	for t := range o.topics {
		made, err := admin.CreateTopic(ctx, int32(o.partitions/o.topics), 1, map[string]*string{
			"segment.bytes": kadm.StringPtr("1048576"),
			// the index of each partition takes as much of the disk
			"segment.index.bytes": kadm.StringPtr("1024"),
		}, topic(t))
		if err != nil {
			return err
		}
		if made.Err != nil {
			return made.Err
		}
		bench.Progress("%s is there", made.Topic)
	}
	for range 3 {
		if err := produce(ctx, o, client); err != nil {
			return err
		}
	}
	random := rand.New(rand.NewPCG(1, 1))
	for g := range o.groups {
		for t := range o.topics {
			var offsets kadm.Offsets
			for p := range o.partitions / o.topics {
				offsets.AddOffset(topic(t), int32(p), random.Int64N(40), -1)
			}
			done, err := admin.CommitOffsets(ctx, fmt.Sprintf("group-%03d", g), offsets)
			if err == nil {
				err = done.Error()
			}
			if err != nil {
				return err
			}
		}
	}
	bench.Progress("%d groups have committed", o.groups)
	return nil
}

func topic(n int) string { return fmt.Sprintf("topic-%02d", n) }

// produce writes a record to each partition.
func produce(ctx context.Context, o options, client *kgo.Client) error {
	var failed error
	for t := range o.topics {
		for p := range o.partitions / o.topics {
			client.Produce(ctx, &kgo.Record{Topic: topic(t), Partition: int32(p),
				Value: []byte("v")}, func(_ *kgo.Record, err error) {
				if err != nil {
					failed = err
				}
			})
		}
	}
	if err := client.Flush(ctx); err != nil {
		return err
	}
	return failed
}
