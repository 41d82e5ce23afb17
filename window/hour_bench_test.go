package window_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/ringwatch/ringwatch/bench/fleet"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
	"github.com/ringwatch/ringwatch/window/uniting"
)

// recordedHour returns an hour of a node with ten tables at 20 s that is like a recorded one, and
// its twelve windows.
func recordedHour(b *testing.B, name string) (hour *window.Window, windows []*window.Window) {
	const interval = 20_000
	shape, err := fleet.Read("../bench/recordings/"+name+".rwf", name, 10, interval)
	if err != nil {
		b.Fatal(err)
	}
	n := fleet.NewNode(shape, 1, 0)
	begin := frame.WindowOf(start) / window.HourMillis * window.HourMillis
	for at := begin; at < begin+window.HourMillis; {
		var frames [][]byte
		for end := at + frame.WindowMillis; at < end; at += interval {
			f, err := n.Frame(at + 3000 + n.Random.Int64N(3)) // a timer is a little late
			if err != nil {
				b.Fatal(err)
			}
			frames = append(frames, f)
			n.Step()
		}
		w, _ := mustBuild(b, frames)
		windows = append(windows, w)
	}
	return uniting.Windows(begin, window.HourMillis, windows), windows
}

func eachRecording(b *testing.B, f func(b *testing.B, hour *window.Window,
	windows []*window.Window)) {
	for _, name := range []string{"idle", "busy"} {
		b.Run(name, func(b *testing.B) {
			hour, windows := recordedHour(b, name)
			f(b, hour, windows)
		})
	}
}

func BenchmarkEncodeHour(b *testing.B) {
	eachRecording(b, func(b *testing.B, hour *window.Window, windows []*window.Window) {
		var enc blobs.Encoded
		b.ReportAllocs()
		for b.Loop() {
			enc = blobs.Encode(hour, window.Report{})
		}
		b.ReportMetric(float64(len(enc.Parts)), "parts")
		b.ReportMetric(float64(len(enc.Head)), "headB")
		of := []blobs.Encoded{enc}
		b.ReportMetric(float64(rawBytes(of)), "hourB")
		b.ReportMetric(float64(packedBytes(b, of)), "hour-zstdB")
		of = nil
		for _, w := range windows {
			of = append(of, blobs.Encode(w, window.Report{}))
		}
		b.ReportMetric(float64(rawBytes(of)), "windowsB")
		b.ReportMetric(float64(packedBytes(b, of)), "windows-zstdB")
	})
}

func rawBytes(list []blobs.Encoded) (n int) {
	for _, e := range list {
		n += len(e.Head)
		for _, p := range e.Parts {
			n += len(p.Blob)
		}
	}
	return n
}

// packedBytes returns what blobs take as SSTables have them: parts of the same name side by side,
// zstd level 3 in chunks of 64 KiB.
func packedBytes(b *testing.B, list []blobs.Encoded) (n int) {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault),
		zstd.WithEncoderConcurrency(1))
	if err != nil {
		b.Fatal(err)
	}
	var parts []blobs.Part
	var all []byte
	for _, e := range list {
		parts = append(parts, e.Parts...)
		all = append(all, e.Head...)
	}
	slices.SortStableFunc(parts, func(a, b blobs.Part) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Metric, b.Metric),
			a.Compare(b.PartID))
	})
	for _, p := range parts {
		all = append(all, p.Blob...)
	}
	for chunk := range slices.Chunk(all, 64<<10) {
		n += len(z.EncodeAll(chunk, nil))
	}
	return n
}

func BenchmarkDecodeHead(b *testing.B) {
	eachRecording(b, func(b *testing.B, hour *window.Window, _ []*window.Window) {
		k := keep(blobs.Encode(hour, window.Report{}))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := blobs.DecodeHead(hour.Start, k.Head); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(len(hour.Types)), "types")
		b.ReportMetric(float64(len(k.Head)), "headB")
	})
}

// BenchmarkReadMetric makes an hour's window of one metric from a head that is decoded and the
// metric's parts, as a panel of many nodes does.
func BenchmarkReadMetric(b *testing.B) {
	for _, c := range []struct {
		name   string
		facets []blobs.Facet
	}{
		{"cassandra_thread_pool_completed_tasks_total", nil},
		{"jvm_memory_pool_used_bytes", nil},
		{"cassandra_table_write_latency_seconds", nil},
		{"cassandra_table_write_latency_seconds", []blobs.Facet{blobs.Values}},
	} {
		b.Run(fmt.Sprint(c.name, c.facets), func(b *testing.B) {
			eachRecording(b, func(b *testing.B, hour *window.Window, _ []*window.Window) {
				readMetric(b, hour, c.name, c.facets)
			})
		})
	}
}

func readMetric(b *testing.B, hour *window.Window, name string, facets []blobs.Facet) {
	k := keep(blobs.Encode(hour, window.Report{}))
	h := k.head(b, hour.Start)
	for i, t := range hour.Types {
		for m := range t.Metrics {
			if t.Metrics[m].Name != name {
				continue
			}
			parts := k.named(h.PartsOf(i, t.Dictionary, m, nil, facets...))
			size := 0
			for _, p := range parts {
				size += len(p.Blob)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, damage := blobs.FromParts("acme", h, []int{i}, k.find,
					parts); len(damage) > 0 {
					b.Fatal(damage)
				}
			}
			b.ReportMetric(float64(size), "B")
			b.ReportMetric(float64(len(t.Rows)*len(h.Times)), "cells")
			return
		}
	}
	b.Fatalf("the recording has no metric %s", name)
}
