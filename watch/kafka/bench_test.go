package kafka

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// BenchmarkRead reads 10,000 partitions of a topic, and 200 groups that have an offset for each,
// from answers that are there already: the cost of understanding them and of making the reading.
func BenchmarkRead(b *testing.B) {
	l := honest()
	const partitions, groups = 10_000, 200
	l.metadata = metadataOf("orders", partitions)
	for g := range groups {
		l.groups[1] = append(l.groups[1], fmt.Sprint("g", g))
	}
	t := kmsg.OffsetFetchResponseGroupTopic{Topic: "orders"}
	for p := range partitions {
		t.Partitions = append(t.Partitions, kmsg.OffsetFetchResponseGroupTopicPartition{
			Partition: int32(p), Offset: int64(p % 100), Metadata: str("")})
	}
	now := time.Unix(1_700_000_000, 0)
	c := testConfig("one:9")
	c.MaxSeries = 200_000
	var memory [2]runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&memory[0])
	said := &ready{liar: l, topic: t}
	r, err := newReader(c, Deps{Log: quiet, Now: func() time.Time {
		now = now.Add(20 * time.Second)
		return now
	}}, said, func() {})
	if err != nil {
		b.Fatal(err)
	}
	for range points + 2 {
		if _, err := r.Read(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	said.texts = nil // they are not the reader's
	runtime.GC()
	runtime.ReadMemStats(&memory[1])
	if _, err := r.Read(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Read(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(memory[1].HeapAlloc-memory[0].HeapAlloc)/partitions, "held-B/partition")
	runtime.KeepAlive(r)
}

// ready has its answers of offsets ready as text.
type ready struct {
	*liar
	topic kmsg.OffsetFetchResponseGroupTopic
	texts map[string][]byte
}

func (l *ready) one(ctx context.Context, id int32, r kmsg.Request) (kmsg.Response, error) {
	of, is := r.(*offsetsRequest)
	if !is {
		return l.liar.one(ctx, id, r)
	}
	ours := &offsetsResponse{version: 9, topics: of.topics}
	key := of.Groups[0].Group + number(len(of.Groups))
	if l.texts[key] == nil {
		said := kmsg.NewPtrOffsetFetchResponse()
		said.Version = 9
		for _, g := range of.Groups {
			said.Groups = append(said.Groups, offsetsOf(g.Group, l.topic))
		}
		if l.texts == nil {
			l.texts = map[string][]byte{}
		}
		l.texts[key] = said.AppendTo(nil)
	}
	return ours, ours.ReadFrom(l.texts[key])
}
