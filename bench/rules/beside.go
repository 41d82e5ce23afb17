package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/fleet"
	"github.com/ringwatch/ringwatch/bench/line"
	"github.com/ringwatch/ringwatch/bench/node"
	"github.com/ringwatch/ringwatch/bench/peers"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/query/series"
	"github.com/ringwatch/ringwatch/rules"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/building"
	"github.com/ringwatch/ringwatch/window/selecting"
)

// compared is a smaller fleet's cycle, of the role and of a Prometheus.
type compared struct {
	Nodes          int
	Ours           *outcome // before Prometheus was measured
	Again          *outcome // and after
	Version        string
	TheirsCycle    float64 // CPU seconds in 20 s
	TheirsRules    float64 // of that in rules, by its own count, in seconds of the clock
	TheirsResident int64
	TheirsSeries   int
	Recorded       float64 // samples of its rules' last evaluation, alerts among them
	Samples        int64   // that it was sent while it was measured
}

func (c *compared) cycle() float64 { return (c.Ours.cycle() + c.Again.cycle()) / 2 }

func (c *compared) ratio() float64 { return c.cycle() / c.TheirsCycle }

const (
	peerHistory = 6 * time.Minute // what Prometheus has before it is measured
	peerWarm    = time.Minute
)

// beside measures the role and a Prometheus over the same fleet and rules, by turns.
func (r *report) beside(ctx context.Context, o options, dir string) error {
	idle, busy, err := fleet.ReadBoth(o.recordings, o.tables, tickMillis)
	if err != nil {
		return err
	}
	minutes := int((peerHistory+peerWarm)/time.Minute) + o.peerMinutes + 2
	start := time.Now().Add(-peerHistory).UnixMilli() / tickMillis * tickMillis
	file := filepath.Join(dir, "beside.frames")
	_ = os.Remove(file)
	if _, err := makeFrames(ctx, file, o, o.peerNodes, start, minutes, idle, busy); err != nil {
		return err
	}
	c := &compared{Nodes: o.peerNodes}
	r.Beside = c
	ours := task{Name: "beside Prometheus", Frames: file,
		Log:   filepath.Join(dir, "recorded-beside"),
		Start: start, End: start + int64(minutes)*60_000}
	if c.Ours, err = ours.run(ctx, dir); err != nil {
		return err
	}
	if err := c.theirs(ctx, o, file, filepath.Join(dir, "peer")); err != nil {
		return err
	}
	c.Again, err = ours.run(ctx, dir)
	return err
}

// theirs lets a Prometheus have the fleet's frames when they are due, and measures it.
func (c *compared) theirs(ctx context.Context, o options, file, dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	text, err := rules.Shipped.ReadFile(rules.ShippedFiles[0])
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		return err
	}
	name := filepath.Join(dir, "rules.yaml")
	if err := os.WriteFile(name, text, 0o600); err != nil {
		return err
	}
	p, err := peers.Start(ctx, "prometheus-native", dir, bench.Progress,
		fmt.Sprintf("rule_files: [%q]\n", name))
	if err != nil {
		return err
	}
	defer p.Stop()
	c.Version = p.Version
	in, err := openFrames(file)
	if err != nil {
		return err
	}
	defer in.close()
	f := feed{Peer: p, keys: map[uuid.UUID][]byte{}, counts: countsWanted(string(text))}
	if err := f.until(ctx, in, time.Now()); err != nil {
		return err
	}
	bench.Progress("Prometheus %s has %d samples of the past", c.Version, p.Samples)
	if err := f.follow(ctx, in, peerWarm); err != nil {
		return err
	}
	before, err := peerNow(ctx, p)
	if err != nil {
		return err
	}
	sent := p.Samples
	if err := f.follow(ctx, in, time.Duration(o.peerMinutes)*time.Minute); err != nil {
		return err
	}
	after, err := peerNow(ctx, p)
	if err != nil {
		return err
	}
	cycles := after.at.Sub(before.at).Seconds() / (tickMillis / 1000)
	c.TheirsCycle = (after.cpu - before.cpu).Seconds() / cycles
	c.TheirsRules = (after.rules - before.rules) / cycles
	c.TheirsResident, c.TheirsSeries = after.resident, int(after.series)
	c.Recorded, c.Samples = after.recorded, p.Samples-sent
	bench.Progress(
		"Prometheus: a cycle %.3f s of CPU, %.3f s of the clock in rules; %.0f MB resident, "+
			"%d series", c.TheirsCycle, c.TheirsRules, float64(c.TheirsResident)/1e6,
		c.TheirsSeries)
	if after.failures > 0 || c.Recorded == 0 {
		return fmt.Errorf(
			"%.0f evaluations of Prometheus failed, %.0f samples were recorded: it does "+
				"not do the same", after.failures, c.Recorded)
	}
	return nil
}

// state is what a Prometheus has used, and what it says of itself.
type state struct {
	at                                time.Time
	cpu                               time.Duration
	resident                          int64
	rules, failures, recorded, series float64
}

func peerNow(ctx context.Context, p *peers.Peer) (s state, err error) {
	u, err := node.UsageOf(p.Pid(), "")
	if err != nil {
		return s, err
	}
	s.at, s.cpu = u.At, u.CPU
	if s.resident, err = node.Resident(p.Pid()); err != nil {
		return s, err
	}
	b, err := p.Get(ctx, "/metrics", nil)
	if err != nil {
		return s, err
	}
	f := line.Figures(b)
	s.rules = f["prometheus_rule_group_duration_seconds_sum"]
	s.failures = f["prometheus_rule_evaluation_failures_total"]
	s.recorded = f["prometheus_rule_group_last_evaluation_samples"]
	s.series = f["prometheus_tsdb_head_series"]
	return s, nil
}

// feed sends a fleet's frames to a Prometheus as series.
type feed struct {
	*peers.Peer
	keys   map[uuid.UUID][]byte // of each node's window
	counts map[string]bool      // histograms of which rules select the classic count
}

// countsWanted returns the histograms whose _count a rule file selects: Prometheus's native ones
// have none.
func countsWanted(text string) map[string]bool {
	found := map[string]bool{}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool {
		return r != '_' && (r < 'a' || r > 'z') && (r < '0' || r > '9')
	}) {
		if base, is := strings.CutSuffix(word, "_count"); is {
			found[base] = true
		}
	}
	return found
}

// follow sends frames when they are due, for some time.
func (f *feed) follow(ctx context.Context, in *reader, d time.Duration) error {
	for end := time.Now().Add(d); time.Now().Before(end); {
		if err := f.until(ctx, in, time.Now()); err != nil {
			return err
		}
		if err := bench.Pass(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

func (f *feed) until(ctx context.Context, in *reader, at time.Time) error {
	list, err := in.until(at.UnixMilli())
	for _, t := range list {
		if err != nil {
			return err
		}
		err = f.one(ctx, t.bytes)
	}
	return err
}

// one sends a frame: all series of its instant, and what a scrape would know of the node.
func (f *feed) one(ctx context.Context, b []byte) error {
	h, _, err := frame.Parse(b)
	if err != nil {
		return err
	}
	frames := [][]byte{b}
	if h.IsKey() {
		f.keys[h.Node] = b
	} else {
		frames = [][]byte{f.keys[h.Node], b}
	}
	w, _, err := building.Window(window.Node{Account: accountName, ID: h.Node}, frames)
	if err != nil {
		return err
	}
	list := selecting.Latest(w)
	if err := f.Write(ctx, list, nil); err != nil {
		return err
	}
	var more []prompb.TimeSeries
	for i := range list {
		if s := &list[i]; f.counts[s.Metric.Name] && s.Metric.Kind.IsHistogram() {
			more = append(more, countOf(s))
		}
	}
	about := query.Node{ID: h.Node, Cluster: h.Cluster, Identity: frame.Identity{
		Datacenter: w.Node.Datacenter, Rack: w.Node.Rack}}
	for name, v := range map[string]float64{series.MetricUp: 1,
		series.MetricSeen: float64(h.At) / 1000} {
		more = append(more, sampleOf(series.NodeLabels(&about, name), h.At, v))
	}
	more = append(more, sampleOf(series.InfoLabels(&about), h.At, 1))
	return f.Send(ctx, more...)
}

// countOf is the classic count of a histogram's newest value.
func countOf(s *window.Series) prompb.TimeSeries {
	last, sum := len(s.At)-1, int64(0)
	for _, n := range s.Histograms[last].Counts {
		sum += n
	}
	l := labels.NewBuilder(s.Labels).Set(labels.MetricName, s.Metric.Name+"_count").Labels()
	return sampleOf(l, s.At[last], float64(sum))
}

func sampleOf(l labels.Labels, at int64, v float64) prompb.TimeSeries {
	t := prompb.TimeSeries{Samples: []prompb.Sample{{Timestamp: at, Value: v}}}
	l.Range(func(one labels.Label) {
		t.Labels = append(t.Labels, prompb.Label{Name: one.Name, Value: one.Value})
	})
	slices.SortFunc(t.Labels, func(a, b prompb.Label) int {
		return strings.Compare(a.Name, b.Name)
	})
	return t
}
