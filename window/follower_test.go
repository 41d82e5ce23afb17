package window_test

import (
	"regexp"
	"slices"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"pgregory.net/rapid"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/following"
	"github.com/ringwatch/ringwatch/window/windowtest"
)

var metricName = regexp.MustCompile(`__name__="([^"]*)"`)

// follow returns what a Follower says of a frame.
func follow(f *following.Follower, b []byte) (windowtest.Samples, error) {
	var list []window.Series
	pass, err := f.Frame(nil, b, func(c *following.Cell) {
		m := &c.Of.Metrics[c.Metric]
		one := window.Series{Labels: c.Labels(), Metric: m}
		switch m.Kind {
		case frame.String:
			one.Strings = []string{c.Text}
		case frame.GaugeDouble:
			one.Doubles = []float64{c.Double}
		case frame.Histogram, frame.GaugeHistogram:
			one.Histograms = []window.Histogram{c.Histogram}
		default:
			one.Ints = []int64{c.Int}
		}
		list = append(list, one)
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(list, func(a, b window.Series) int {
		return labels.Compare(a.Labels, b.Labels)
	})
	for i := range list {
		list[i].At = []int64{pass.At}
	}
	return windowtest.Of(list)
}

// TestFollowerProperty holds that a Follower says frame by frame what the node was, with all
// metrics and with some, and with frames that come twice.
func TestFollowerProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		_, sent := history(picker(rt))
		pick := picker(rt)
		half := func(name string) bool { return len(name)%2 == 0 }
		all := following.New(window.Node{}, nil)
		some := following.New(window.Node{}, frame.NewWanted(half, nil))
		for _, s := range sent {
			got, err := follow(all, s.Bytes)
			if err != nil {
				rt.Fatal(err)
			}
			if d := windowtest.Diff(got, s.Samples); d != "" {
				rt.Fatalf("all metrics: %s", d)
			}
			for range 1 + pick(2) {
				if got, err = follow(some, s.Bytes); err != nil {
					rt.Fatal(err)
				}
			}
			wanted := windowtest.Samples{}
			for series, values := range s.Samples {
				if name := metricName.FindStringSubmatch(series); half(name[1]) {
					wanted[series] = values
				}
			}
			if d := windowtest.Diff(got, wanted); d != "" {
				rt.Fatalf("half of the metrics: %s", d)
			}
		}
	})
}

// TestFollowerForgets holds that a delta frame whose key frame is too old is refused, and that one
// of the last three is not.
func TestFollowerForgets(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		_, sent := history(picker(rt))
		var keys, deltas []windowtest.Sent
		for _, s := range sent {
			h, _, err := frame.Parse(s.Bytes)
			if err != nil {
				rt.Fatal(err)
			}
			if h.IsKey() {
				keys = append(keys, s)
			} else {
				deltas = append(deltas, s)
			}
		}
		if len(deltas) == 0 {
			return
		}
		f := following.New(window.Node{}, nil)
		if _, err := f.Frame(nil, deltas[0].Bytes, nil); err == nil {
			rt.Fatal("a delta frame was read without its key frame")
		}
		last := deltas[len(deltas)-1]
		for _, k := range keys {
			if k.At > last.KeyAt {
				break // the agent has another key frame since
			}
			if _, err := f.Frame(nil, k.Bytes, nil); err != nil {
				rt.Fatal(err)
			}
		}
		got, err := follow(f, last.Bytes)
		if err != nil {
			rt.Fatal(err)
		}
		if d := windowtest.Diff(got, last.Samples); d != "" {
			rt.Fatal(d)
		}
	})
}
