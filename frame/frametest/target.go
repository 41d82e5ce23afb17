package frametest

import (
	"math/rand/v2"

	"github.com/ringwatch/ringwatch/frame"
)

// NewTarget returns a node that is read from outside, as the role watch sends it: it has facts of
// its kind, job and instance, up, a counter and a gauge of a topic, a histogram, and a summary with
// the label quantile. Its cells are as Target's methods set them.
func NewTarget(kind, cluster, job, instance string) *Target {
	t := &Target{Node: &Node{ID: frame.TargetID(cluster, job, instance), Cluster: cluster,
		Interval: 15_000, started: 1_700_000_000_000, random: rand.New(rand.NewPCG(1, 1))}}
	t.Identity = frame.Identity{Datacenter: "dc1", Facts: []frame.Fact{
		{Name: "address", Value: instance}, {Name: "instance", Value: instance},
		{Name: "job", Value: job}, {Name: "kind", Value: kind}, {Name: "version", Value: "4.1.0"}}}
	t.Bounds = []frame.Bounds{{Exponent: -3, Upper: []int64{1, 10, 100, 1000}}}
	own := []string{"job", "instance"}
	t.Templates = []frame.Template{
		{Type: "target", Labels: own, Metrics: []frame.Metric{
			{Name: "up", Kind: frame.Gauge},
			{Name: "kafka_request_latency_seconds", Kind: frame.Histogram, Unit: "seconds",
				Exponent: -3, HasSum: true},
			{Name: "process_cpu_seconds_total", Kind: frame.Counter, Unit: "seconds", Exponent: -3},
			{Name: "kafka_cluster_under_replicated_partitions", Kind: frame.Gauge}}},
		{Type: "kafka_topic", Labels: append([]string{"topic"}, own...), Metrics: []frame.Metric{
			{Name: "kafka_topic_records_total", Kind: frame.Counter},
			{Name: "kafka_topic_partitions", Kind: frame.Gauge}}},
		{Type: "summary", Labels: append([]string{frame.RecordedLabel("quantile")}, own...),
			Metrics: []frame.Metric{
				{Name: "kafka_fetch_latency_seconds", Kind: frame.GaugeDouble, Unit: "seconds"}}},
	}
	t.Entities = make([][]Entity, len(t.Templates))
	t.add(0, job, instance)
	t.add(1, "orders", job, instance)
	t.add(2, "0.5", job, instance)
	t.add(2, "0.99", job, instance)
	return t
}

// Target is a node that is read from outside.
type Target struct{ *Node }

// Pass sets what the target says at an instant: whether it answered; and 10 records more, and a
// request of 50 ms, than before.
func (t *Target) Pass(up int64) {
	target, topic := t.Entities[0][0].Cells, t.Entities[1][0].Cells
	target[0].Int = up
	target[1].Counts[2]++
	target[1].Sum += 50
	target[3].Int = 3
	topic[0].Int += 10
	topic[1].Int = 12
	t.Entities[2][0].Cells[0].Double, t.Entities[2][1].Cells[0].Double = 0.05, 0.25
}
