package main

import (
	"github.com/ringwatch/ringwatch/bench"
)

// report is what a run found; it is kept as the result's detail.
type report struct {
	options
	Series     [2]int // of an idle node and of a busy one
	Prometheus string // its version
	Ours       measured
	Theirs     measured
	Senders    measured // this process: nodes, their /metrics, readers
	Refused    int64    // frames that were told to come again
	Fresh      freshness
	Same       int      // answers that have as many series on both sides
	Differ     []string // those that have not, with how many
	Disk       *disk    `json:",omitempty"`
	Start      *started `json:",omitempty"`
	Steps      []step   `json:",omitempty"`
	Largest    int      `json:",omitempty"`
}

// freshness is from sending a frame until the API answers with its value, in ms.
type freshness struct {
	Values, Late   int
	P50, P99, Most float64
}

// keep prints the result and keeps it.
func (r *report) keep(result *bench.Result) error {
	result.Detail = r
	result.Notes = "One ringwatch all without engines and a Prometheus that scrapes the same " +
		"nodes, at the same time on one machine, with the same rules and readers; senders_cores " +
		"is what the nodes, their /metrics and the readers took of it. disk is what both keep of " +
		"the same minutes when all is merged, without logs: Ringwatch's rollups are in it; dir " +
		"is everything in both directories when the load ends, the stream and Prometheus's log " +
		"among it. start is of a process that was killed under load. largest_nodes is the " +
		"last step of the search that kept all its bounds, senders on the same cores."
	if r.does("load") {
		result.Add("nodes", r.nodes)
		result.Add("cores", r.Ours.Cores)
		result.Add("rss_mb", r.Ours.Resident)
		result.Add("cpu_over_prometheus", r.Ours.Cores/r.Theirs.Cores)
		result.Add("rss_over_prometheus", r.Ours.Resident/r.Theirs.Resident)
	}
	if d := r.Disk; d != nil && d.Ours > 0 {
		result.Add("disk_over_prometheus", d.Ours/d.Theirs)
	}
	if r.does("load") {
		result.Add("freshness_p99_ms", r.Fresh.P99)
		result.Add("query_over_prometheus", r.Ours.ReadP50/r.Theirs.ReadP50)
	}
	if r.Start != nil && r.Start.Seconds > 0 {
		result.Add("start_s", r.Start.Seconds)
	}
	if len(r.Steps) > 0 {
		result.Add("largest_nodes", r.Largest)
	}
	r.more(result)
	return result.Keep()
}

// more adds what the goals do not name.
func (r *report) more(result *bench.Result) {
	if r.does("load") {
		result.Add("minutes", r.minutes)
		result.Add("rss_most_mb", r.Ours.Most)
		result.Add("prometheus_cores", r.Theirs.Cores)
		result.Add("prometheus_rss_mb", r.Theirs.Resident)
		result.Add("senders_cores", r.Senders.Cores)
		result.Add("query_ms", r.Ours.ReadP50)
		result.Add("prometheus_query_ms", r.Theirs.ReadP50)
		result.Add("freshness_p50_ms", r.Fresh.P50)
	}
	if d := r.Disk; d != nil && d.Ours > 0 {
		result.Add("disk_mb", d.Ours)
		result.Add("dir_over_prometheus", d.OursAll/d.TheirsAll)
	}
	if r.Start != nil && r.Start.Seconds > 0 {
		result.Add("start_gb", r.Start.GB)
	}
}
