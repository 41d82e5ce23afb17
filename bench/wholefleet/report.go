package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/node"
	"github.com/ringwatch/ringwatch/frame"
)

// report is what a run found; it is kept as the result's detail.
type report struct {
	options
	Series       [2]int // of an idle node and of a busy one
	Samples      []sample
	Closings     []float64 // seconds from a window's end until all nodes' are closed
	Unclosed     int       // windows that were not closed; the last of Closings is how old one was
	Acknowledged int64
	Lost         int
	Refused      int64                // answers that said to send again
	Late         int                  // values that were not there after half a minute
	Failed       int                  // questions without an answer
	Failure      string               `json:",omitempty"` // why the last one
	StorePercent float64              // of the API's reads, those that reached Cassandra
	Kinds        map[string]answersOf // of questions

	meter       node.Meter
	acks, fresh []float64            // ms
	answers     map[string][]float64 // ms, by kind of question
}

// answersOf are the answers to questions of one kind.
type answersOf struct {
	Answers  int
	P50, P99 float64 // ms
}

// steady are the samples that are no cold start: from the second window on.
func (r *report) steady() (list []sample) {
	for _, s := range r.Samples {
		if s.At > frame.WindowMillis/1000 {
			list = append(list, s)
		}
	}
	return list
}

// median is that of a figure of steady samples.
func (r *report) median(of func(sample) float64) float64 {
	var list []float64
	for _, s := range r.steady() {
		list = append(list, of(s))
	}
	return bench.Median(list)
}

// addTo adds all to the result, and draws the picture.
func (r *report) addTo(result *bench.Result) error {
	r.Kinds = map[string]answersOf{}
	for kind, list := range r.answers {
		r.Kinds[kind] = answersOf{len(list), bench.Median(list), bench.Quantile(list, 0.99)}
		bench.Progress("%s: %d answers in %.0f ms (p99 %.0f)", kind, len(list), r.Kinds[kind].P50,
			r.Kinds[kind].P99)
	}
	result.Detail = r
	result.Notes = "A fleet through the whole line on one machine: Cassandra, Kafka, Redis, each " +
		"role a process of its own, the driver and the crowd that asks. ack_p99_ms is from when " +
		"a frame was due until ingest had taken it, freshness_p99_ms from sending it until the " +
		"API answered with its value, both with the cold start and all boundaries of windows. " +
		"closing_s is the longest time from a window's end until the windows of all nodes were " +
		"closed. cores are the median after the first window, without the driver."
	result.Add("nodes", r.nodes)
	result.Add("ack_p99_ms", bench.Quantile(r.acks, 0.99))
	result.Add("freshness_p99_ms", bench.Quantile(r.fresh, 0.99))
	result.Add("closing_s", slices.Max(r.Closings))
	result.Add("cores", r.median(func(s sample) (sum float64) {
		for name, cores := range s.Cores {
			if name != "driver" {
				sum += cores
			}
		}
		return sum
	}))
	result.Add("lost", r.Lost)
	result.Add("acknowledged", r.Acknowledged)
	result.Add("refused", r.Refused)
	result.Add("unclosed", r.Unclosed)
	result.Add("late", r.Late)
	result.Add("interval_s", r.interval.Seconds())
	result.Add("closings", r.closings)
	result.Add("ack_p50_ms", bench.Median(r.acks))
	result.Add("freshness_p50_ms", bench.Median(r.fresh))
	result.Add("reads_per_s", r.reads)
	answers := slices.Concat(slices.Collect(maps.Values(r.answers))...)
	result.Add("read_p50_ms", bench.Median(answers))
	result.Add("read_p99_ms", bench.Quantile(answers, 0.99))
	result.Add("reads_failed", r.Failed)
	result.Add("store_reads_pct", r.StorePercent)
	if last := len(r.Samples) - 1; last >= 0 {
		result.Add("disk_mb", r.Samples[last].DiskMB)
		for _, name := range append([]string{"driver", "Cassandra", "Kafka", "Redis"}, roles...) {
			key := strings.ToLower(name)
			result.Add(key+"_cores", r.median(func(s sample) float64 { return s.Cores[name] }))
			result.Add(key+"_mb", r.median(func(s sample) float64 { return s.MB[name] }))
		}
	}
	if r.picture == "" {
		return nil
	}
	return r.draw(r.picture)
}
