package rollup_test

import (
	"fmt"
	"math"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/bench/fleet"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
	"github.com/ringwatch/ringwatch/window/building"
	"github.com/ringwatch/ringwatch/window/rollup"
)

func equal(name, value string) *labels.Matcher {
	return labels.MustNewMatcher(labels.MatchEqual, name, value)
}

// recorded are the windows of an hour of a node like a recorded one, at 20 s, with so many tables.
func recorded(tb testing.TB, name string, tables int,
	start int64) (list []*window.Window, series int) {
	shape, err := fleet.Read("../../bench/recordings/"+name+".rwf", name, tables, 20_000)
	if err != nil {
		tb.Fatal(err)
	}
	n := fleet.NewNode(shape, 1, 1)
	frames := map[int64][][]byte{}
	for at := start + 7; at < start+rollup.Hour.Millis; at += shape.Interval {
		b, err := n.Frame(at)
		if err != nil {
			tb.Fatal(err)
		}
		frames[frame.WindowOf(at)] = append(frames[frame.WindowOf(at)], slices.Clip(b))
		n.Step()
	}
	for at := start; at < start+rollup.Hour.Millis; at += frame.WindowMillis {
		w, _, err := building.Window(window.Node{Account: "acme"}, frames[at])
		if err != nil {
			tb.Fatal(err)
		}
		list = append(list, w)
	}
	return list, shape.Series
}

func eachRecorded(b *testing.B, f func(b *testing.B, windows []*window.Window, series int)) {
	for _, name := range []string{"idle", "busy"} {
		for _, tables := range []int{10, 100} {
			windows, series := recorded(b, name, tables, rollup.Hour.Start(begin))
			b.Run(fmt.Sprintf("%s/tables=%d", name, tables), func(b *testing.B) {
				f(b, windows, series)
			})
		}
	}
}

func rollups(windows []*window.Window) (list []*rollup.Rollup) {
	for _, w := range windows {
		list = append(list, rollup.FromWindow(w))
	}
	return list
}

// BenchmarkHour makes an hour's rollups of five minutes and encodes them.
func BenchmarkHour(b *testing.B) {
	eachRecorded(b, func(b *testing.B, windows []*window.Window, series int) {
		var e rollup.Encoded
		var encoding time.Duration
		start := rollup.Hour.Start(begin)
		b.ReportAllocs()
		all := cpu()
		for b.Loop() {
			list := rollups(windows)
			began := cpu()
			e = rollup.EncodeRun(start, rollup.Hour.Millis, list)
			encoding += cpu() - began
		}
		bytes := len(e.Head)
		for _, p := range e.Parts {
			bytes += len(p.Blob)
		}
		ms := (cpu() - all).Seconds() * 1e3 / float64(b.N)
		b.ReportMetric(ms*2000/float64(series), "cpu-ms/2000series")
		b.ReportMetric(encoding.Seconds()*1e3/float64(b.N)*2000/float64(series),
			"encode-ms/2000series")
		b.ReportMetric(float64(bytes), "B/run")
		b.ReportMetric(float64(len(e.Parts)), "parts/run")
	})
}

// eachMetric runs a benchmark for one metric of each kind that matters.
func eachMetric(b *testing.B, f func(b *testing.B, windows []*window.Window, name string)) {
	eachRecorded(b, func(b *testing.B, windows []*window.Window, _ int) {
		for _, metric := range benchMetrics {
			b.Run(metric, func(b *testing.B) { f(b, windows, metric) })
		}
	})
}

var benchMetrics = []string{"cassandra_table_all_memtables_live_data_size_bytes",
	"cassandra_table_read_latency_seconds"}

// one returns a run's head and the parts of one metric.
func one(b *testing.B, s *stored, start int64,
	name string) (*rollup.RunHead, []int, []blobs.StoredPart) {
	h, err := rollup.DecodeRunHead(s.Level, start, s.heads[start])
	if err != nil {
		b.Fatal(err)
	}
	for i := range h.Types {
		d, err := s.find("", h.Types[i].Hash)
		if err != nil {
			b.Fatal(err)
		}
		for m := range d.Metrics {
			if d.Metrics[m].Name == name {
				return h, []int{i}, slices.DeleteFunc(slices.Clone(s.parts[start]),
					func(p blobs.StoredPart) bool { return p.Type != i || p.Metric != m })
			}
		}
	}
	b.Fatalf("no metric %s", name)
	return nil, nil, nil
}

// BenchmarkFromRun reads one metric of an hour.
func BenchmarkFromRun(b *testing.B) {
	eachMetric(b, func(b *testing.B, windows []*window.Window, name string) {
		s, start := newStored(rollup.FiveMinutes), rollup.Hour.Start(begin)
		s.put(rollups(windows))
		_, types, parts := one(b, s, start, name)
		bytes := 0
		for _, p := range parts {
			bytes += len(p.Blob)
		}
		b.ReportAllocs()
		all := cpu()
		for b.Loop() {
			h, err := rollup.DecodeRunHead(s.Level, start, s.heads[start])
			if err != nil {
				b.Fatal(err)
			}
			if _, damage := rollup.FromRun(h, types, s.find, parts); len(damage) > 0 {
				b.Fatal(damage)
			}
		}
		b.ReportMetric(float64((cpu()-all).Nanoseconds())/float64(b.N), "cpu-ns/op")
		b.ReportMetric(float64(bytes), "B/part")
	})
}

// BenchmarkYear reads one metric of a year of hours from 365 runs and selects its series.
func BenchmarkYear(b *testing.B) {
	eachMetric(b, func(b *testing.B, windows []*window.Window, name string) {
		fives := rollups(windows)
		var hours []*rollup.Rollup
		day := rollup.Day.Start(begin)
		for i := range int64(24) {
			hour := rollup.Merge(rollup.Hour, rollup.Hour.Start(begin), fives)
			hour.Start, hour.Parts = day+i*rollup.Hour.Millis, nil
			hours = append(hours, hour)
		}
		s := newStored(rollup.Hour)
		s.put(hours)
		_, types, parts := one(b, s, day, name)
		var reading time.Duration
		points := 0
		b.ReportAllocs()
		all := cpu()
		for b.Loop() {
			var year []*rollup.Rollup
			began := cpu()
			for i := range int64(365) {
				h, err := rollup.DecodeRunHead(s.Level, day+i*rollup.Day.Millis, s.heads[day])
				if err != nil {
					b.Fatal(err)
				}
				list, damage := rollup.FromRun(h, types, s.find, parts)
				if len(damage) > 0 {
					b.Fatal(damage)
				}
				year = append(year, list...)
			}
			reading += cpu() - began
			points = 0
			for _, series := range rollup.Select(year, 0, math.MaxInt64,
				equal(labels.MetricName, name)) {
				points += series.Len()
			}
		}
		b.ReportMetric(reading.Seconds()*1e3/float64(b.N), "read-ms/op")
		b.ReportMetric(float64((cpu()-all).Nanoseconds())/float64(b.N)/float64(points),
			"cpu-ns/point")
	})
}

// BenchmarkMerge makes a day of 24 hours that are read from their run.
func BenchmarkMerge(b *testing.B) {
	eachRecorded(b, func(b *testing.B, windows []*window.Window, series int) {
		fives := rollups(windows)
		var hours []*rollup.Rollup
		day := rollup.Day.Start(begin)
		for i := range int64(24) {
			hour := rollup.Merge(rollup.Hour, rollup.Hour.Start(begin), fives)
			hour.Start, hour.Parts = day+i*rollup.Hour.Millis, nil
			hours = append(hours, hour)
		}
		s := newStored(rollup.Hour)
		s.put(hours)
		var reading time.Duration
		b.ReportAllocs()
		all := cpu()
		for b.Loop() {
			began := cpu()
			list := s.run(b, day)
			reading += cpu() - began
			rollup.Merge(rollup.Day, day, list)
		}
		ms := (cpu() - all).Seconds() * 1e3 / float64(b.N)
		b.ReportMetric(ms*2000/float64(series), "cpu-ms/2000series")
		b.ReportMetric(reading.Seconds()*1e3/float64(b.N)*2000/float64(series),
			"read-ms/2000series")
	})
}

// cpu is the time that this process has had: a machine that is shared makes time alone say little.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
