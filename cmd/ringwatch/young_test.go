package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/frame/frametest"
)

// testYoung asks for the last 15 minutes of a node that is younger than that while Cassandra is
// away: Redis has all there is of it.
func (w *whole) testYoung(t *testing.T) {
	node := frametest.New("young", 77, 1)
	node.Interval = 5000
	var sent []int64
	send := func(ctx context.Context) error {
		node.Step()
		at := time.Now().UnixMilli()
		if !post(ctx, w.Line, node.Frame(at)) {
			t.Fatal("a frame is not accepted")
		}
		sent = append(sent, at)
		return nil
	}
	range15 := func(ctx context.Context) (values int, err error) {
		payload, err := w.Metrics(ctx, node.ID.String(), "node_load1", "&period=15m")
		if err != nil || len(payload) != 1 {
			return 0, fmt.Errorf("%d series, %w", len(payload), err)
		}
		return len(payload[0].Values), nil
	}
	fromRedis := func(ctx context.Context) string {
		text, err := w.Text(ctx, "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(text, `ringwatch_api_reads_total{call="range",source="recent"} `)
		count, _, _ := strings.Cut(rest, "\n")
		return count
	}
	eventually(t, "the node's last 15 minutes come from Redis", func(ctx context.Context) error {
		_ = send(ctx)
		before := fromRedis(ctx)
		if _, err := range15(ctx); err != nil {
			return err
		}
		if fromRedis(ctx) == before {
			return errors.New("they come from Cassandra")
		}
		return nil
	})
	if err := w.Cassandra.Pause(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := w.Cassandra.Resume(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the API to be content with Cassandra", func(ctx context.Context) error {
			_, err := w.Text(ctx, "/-/ready")
			return err
		})
	}()
	for range 3 {
		eventually(t, "the node's last 15 minutes without Cassandra",
			func(ctx context.Context) error {
				_ = send(ctx)
				values, err := range15(ctx)
				if err == nil && values < len(sent)-1 { // the newest may still be on its way
					err = fmt.Errorf("%d values of %d frames", values, len(sent))
				}
				return err
			})
	}
}

// kafkaAway is how long Kafka is stopped: longer than publishing waits, many times the agent's
// interval.
const kafkaAway = 20 * time.Second
