package main

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/rueidis"

	"github.com/ringwatch/ringwatch/bench/fleet"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/recent"
	"github.com/ringwatch/ringwatch/stream"
	"github.com/ringwatch/ringwatch/window"
)

// some are nodes whose memory is measured together.
type some []*span

// memory returns by how much a fresh Redis grows for a node when write fills it with all of them.
func (list some) memory(ctx context.Context, dir string, write func(f *span, ctx context.Context,
	addr string, client rueidis.Client) error) (int64, error) {
	server, err := engines.StartRedis(ctx, engines.RedisConfig{Dir: dir})
	if err != nil {
		return 0, err
	}
	defer server.Kill()
	client, err := plain(server.Addr())
	if err != nil {
		return 0, err
	}
	defer client.Close()
	before, err := info(ctx, client, "used_memory_dataset")
	if err != nil {
		return 0, err
	}
	for _, f := range list {
		if err := write(f, ctx, server.Addr(), client); err != nil {
			return 0, err
		}
	}
	after, err := info(ctx, client, "used_memory_dataset")
	return (after - before) / int64(len(list)), err
}

func plain(addr string) (rueidis.Client, error) {
	return rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true,
		ForceSingleClient: true})
}

// info returns a number from INFO.
func info(ctx context.Context, client rueidis.Client, name string) (int64, error) {
	text, err := client.Do(ctx, client.B().Info().Build()).ToString()
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+":"); ok {
			return strconv.ParseInt(value, 10, 64)
		}
	}
	return 0, fmt.Errorf("INFO has no %s", name)
}

func (f *span) config(addr string) recent.Config {
	c := recent.DefaultConfig()
	c.Addresses, c.ActiveFor = []string{addr}, 0
	c.WriteTimeout = time.Minute // nothing is to be dropped
	c.Clock = func() time.Time { return f.now }
	return c
}

// writeFrames writes as the role does.
func (f *span) writeFrames(ctx context.Context, addr string, _ rueidis.Client) error {
	reg := prometheus.NewRegistry()
	w, err := recent.NewWriter(f.config(addr), nil, reg)
	if err != nil {
		return err
	}
	defer w.Close()
	records := make([]stream.Record, len(f.frames))
	for i, b := range f.frames {
		records[i] = stream.Record{Account: "bench", Cluster: "fleet0", Value: b}
	}
	if err := w.Handle(ctx, records); err != nil {
		return err
	}
	return allWritten(reg, len(records))
}

// writeSortedSets writes each value as a member of its series' sorted set, scored by its time.
func (f *span) writeSortedSets(ctx context.Context, _ string, client rueidis.Client) error {
	for _, frames := range fleet.ByWindow(f.frames) {
		w, _, err := window.Build(window.Node{Account: "bench", ID: f.node.ID}, frames)
		if err != nil {
			return err
		}
		series := w.Select(0, math.MaxInt64)
		for i := range series {
			s := &series[i]
			key := "metrics:bench:" + s.Labels.String()
			add := client.B().Zadd().Key(key).ScoreMember()
			for j, at := range s.At {
				add = add.ScoreMember(float64(at), valueJSON(s, j))
			}
			for _, r := range client.DoMulti(ctx, add.Build(),
				client.B().Expire().Key(key).Seconds(900).Build()) {
				if err := r.Error(); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// valueJSON is the least that a reader of a sorted set needs: time and value, of a histogram its
// buckets that counted.
func valueJSON(s *window.Series, i int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"time":%d,`, s.At[i])
	switch s.Metric.Kind {
	case frame.Counter, frame.Gauge:
		fmt.Fprintf(&b, `"value":%d}`, s.Ints[i])
	case frame.GaugeDouble:
		fmt.Fprintf(&b, `"value":"%v"}`, s.Doubles[i])
	case frame.String:
		fmt.Fprintf(&b, `"value":%q}`, s.Strings[i])
	default:
		h := &s.Histograms[i]
		fmt.Fprintf(&b, `"count":%d,"sum":%d,"buckets":{`, h.Count(), h.Sum)
		comma := ""
		for bucket, n := range h.Dense(nil) {
			if n != 0 {
				fmt.Fprintf(&b, `%s"%d":%d`, comma, bucket, n)
				comma = ","
			}
		}
		b.WriteString("}}")
	}
	return b.String()
}
