package windowtest

import (
	"fmt"

	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/window"
)

// Recorder is a group of rules that records at random: from frame to frame series come and go, and
// so do labels, those of a node's place among them.
type Recorder struct {
	frametest.Recorder
	pick Pick
}

// NewRecorder returns one in a cluster, or over all clusters (frame.EveryCluster).
func NewRecorder(pick Pick, cluster string) *Recorder {
	return &Recorder{frametest.Recorder{Account: "acme", Cluster: cluster, Group: "rules.yaml;g",
		Interval: 15_000}, pick}
}

// ID is that of the frames.
func (r *Recorder) ID() uuid.UUID { return frame.RecorderID(r.Account, r.Cluster, r.Group) }

// RecordedLabels are the names of labels that a Recorder's series may have.
var RecordedLabels = []string{"cluster", "datacenter", "rack", "node", "le", "quantile", "table",
	"recorded_cluster", "recorded_recorded_x", "exported_node"}

// Step returns a frame and what was recorded. Most series have the cluster's name, as those of
// rules do that aggregate by cluster.
func (r *Recorder) Step(at int64) Sent {
	var list []frametest.Recorded
	s := Sent{At: at, Key: true, KeyAt: at, Samples: Samples{}}
	usual := r.pick(2) == 0
	for range r.pick(8) {
		one := frametest.Recorded{Name: fmt.Sprintf("level:m%d:sum", r.pick(3)),
			Labels: map[string]string{}, Value: float64(r.pick(4))}
		if r.Cluster != frame.EveryCluster {
			one.Labels["cluster"] = r.Cluster
		}
		for range r.pick(4) {
			if name := RecordedLabels[r.pick(len(RecordedLabels))]; !usual || name != "cluster" {
				one.Labels[name] = []string{"a", "b", "+Inf"}[r.pick(3)]
			}
		}
		if !usual && r.pick(4) == 0 {
			delete(one.Labels, "cluster")
		}
		l := labels.NewBuilder(labels.FromMap(one.Labels)).Set(labels.MetricName, one.Name).Labels()
		k := seriesKey(l, &window.Metric{Name: one.Name, Kind: frame.GaugeDouble})
		if s.Samples[k] != nil {
			continue
		}
		s.Samples.set(k, at, word(one.Value))
		list = append(list, one)
	}
	var err error
	if s.Bytes, err = r.Frame(at, list); err != nil {
		panic(err)
	}
	return s
}
