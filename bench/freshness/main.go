// Command freshness measures how old a value is when the API first answers it: from the agent's
// tick in a real Cassandra, through ingest, Kafka and Redis, to the JSON answer.
package main

import (
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"time"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/line"
)

func main() {
	length := flag.Duration("length", 3*time.Minute, "how long to measure")
	interval := flag.Duration("interval", 5*time.Second, "the agent's interval")
	bench.Main("bench-freshness", func(ctx context.Context, r *bench.Result) error {
		return measure(ctx, r, *length, *interval)
	})
}

func measure(ctx context.Context, r *bench.Result, length, interval time.Duration) error {
	binary, err := filepath.Abs("bin/ringwatch")
	if err != nil {
		return err
	}
	bench.Say("starting Cassandra with the agent, Kafka, Redis and the roles")
	l, err := line.Start(ctx,
		line.Config{Dir: r.Dir, Binary: binary, Jar: "agent/target/ringwatch-agent.jar",
			Interval: interval, Progress: bench.Say})
	if err != nil {
		return err
	}
	defer l.Stop()
	var node string
	wait, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	err = line.Until(wait, "the node's metrics", func(ctx context.Context) error {
		nodes, err := l.Nodes(ctx)
		if err != nil || len(nodes) == 0 {
			return fmt.Errorf("%d nodes, %w", len(nodes), err)
		}
		node = nodes[0].ID
		_, err = newest(ctx, l, node)
		return err
	})
	if err != nil {
		return err
	}
	var ages []float64
	last, err := newest(ctx, l, node)
	if err != nil {
		return err
	}
	for end, told := time.Now().Add(length), time.Now(); time.Now().Before(end) &&
		ctx.Err() == nil; {
		at, err := newest(ctx, l, node)
		if err != nil {
			return err
		}
		if at.After(last) {
			last = at
			ages = append(ages, float64(time.Since(at).Microseconds())/1000)
		}
		if time.Since(told) > 20*time.Second {
			told = time.Now()
			bench.Progress("%d values, the newest was %.0f ms old when first answered", len(ages),
				ages[len(ages)-1])
		}
		// the resolution of the measurement; asking without a pause would load what is measured
		time.Sleep(5 * time.Millisecond)
	}
	r.Notes = fmt.Sprintf("Age of a value when the API first answered it, polled every 5 ms, "+
		"agent's tick to JSON, over %s at %s intervals: one real Cassandra, Kafka, Redis and all "+
		"roles on one machine.", length, interval)
	r.Add("p50_ms", bench.Median(ages))
	r.Add("p99_ms", bench.Quantile(ages, 0.99))
	r.Add("max_ms", bench.Quantile(ages, 1))
	r.Add("values", len(ages))
	return nil
}

// newest returns the time of the newest value that the API answers.
func newest(ctx context.Context, l *line.Line, node string) (time.Time, error) {
	payload, err := l.Metrics(ctx, node, "ringwatch_agent_passes_total", "")
	if err != nil {
		return time.Time{}, err
	}
	if len(payload) != 1 || len(payload[0].Values) != 1 {
		return time.Time{}, fmt.Errorf("expected one value of one series, got %v", payload)
	}
	text, _ := payload[0].Values[0]["time"].(string)
	return time.Parse(time.RFC3339Nano, text)
}
