package rules

import (
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	promrules "github.com/prometheus/prometheus/rules"

	"github.com/ringwatch/ringwatch/frame"
)

// recording is what came into Kafka in 37 minutes of `make up`: a start, and after 21 minutes all
// was stopped and started again. Each record is the time of its arrival, a uvarint of ms, and the
// frame: the node's every 5 s, the process's own every 20 s, repacked without compression. The
// machine had a load of 20 to 34 on two cores.
const recording = "testdata/start.zst"

// ofTheMachine is what was true of that machine.
const ofTheMachine = "NodeCPUBusy"

// TestQuietStart plays a real start and restart to the shipped rules, by the recording's clock:
// over all its minutes no alert is pending or fires.
func TestQuietStart(t *testing.T) {
	w := newTownOf(t, 0, "cassandra.yaml")
	w.set = func(c *Config, _ *Deps) { c.Files = append(c.Files, "ringwatch.yaml") }
	frames := mustRecorded(t)
	w.at = frames[0].at - 1
	running := false
	starts, evaluated := 0, map[string]bool{}
	var since, until int64 // the pulse: it beats while the process runs
	w.pulse = func() (time.Time, time.Time) { return time.UnixMilli(since), time.UnixMilli(until) }
	seen := map[string]bool{}
	for i := 0; i < len(frames); {
		from := i
		for w.at += 5000; i < len(frames) && frames[i].at <= w.at; i++ {
			h, _, err := frame.Parse(frames[i].bytes)
			switch {
			case err != nil:
				t.Fatal(err)
			case !frame.IsProcess(h.Node):
			case h.Sequence == 0:
				starts++
				since, until, running = h.At, h.At, true
				w.begin()
			case len(frames[i].bytes) < 1000: // its last word, that it ends
				running = false
			}
		}
		if !running { // nobody evaluates
			w.line.enter(frames[from:i])
			continue
		}
		until = w.at
		w.deliver(w.role, w.at, frames[from:i]...)
		for of, c := range w.role.partitions[0].clusters {
			for _, g := range c.groups {
				if g.evaluated > 0 {
					evaluated[of.cluster+" "+g.Name()] = true
				}
				for _, r := range g.AlertingRules() {
					r.ForEachActiveAlert(func(a *promrules.Alert) {
						key := fmt.Sprintf("%s %s", r.Name(), r.Labels())
						if a.State == promrules.StateInactive || seen[key] ||
							r.Name() == ofTheMachine {
							return
						}
						seen[key] = true
						t.Errorf("%s, start %d: %s is %s, value %v",
							time.UnixMilli(w.at).UTC().Format(time.TimeOnly),
							starts, key, a.State, a.Value)
					})
				}
			}
		}
	}
	if minutes := time.Duration(frames[len(frames)-1].at-frames[0].at) *
		time.Millisecond; starts != 2 ||
		minutes < 36*time.Minute || !evaluated["ringwatch-self ringwatch-ingest"] ||
		!evaluated["ringwatch cassandra-requests"] {
		t.Errorf("%d starts in %s, evaluated %v", starts, minutes, evaluated)
	}
}

// mustRecorded reads the recording.
func mustRecorded(t *testing.T) (list []sent) {
	t.Helper()
	packed, err := os.ReadFile(recording)
	if err != nil {
		t.Fatal(err)
	}
	z, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	b, err := z.DecodeAll(packed, nil)
	if err != nil {
		t.Fatal(err)
	}
	for len(b) > 0 {
		at, n := binary.Uvarint(b)
		length, err := frame.Length(b[max(n, 0):])
		if n <= 0 || err != nil || n+length > len(b) {
			t.Fatalf("the recording is cut off: %v", err)
		}
		one := slices.Clone(b[n : n+length])
		h, _, err := frame.Parse(one)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, sent{at: int64(at), cluster: h.Cluster, bytes: one})
		b = b[n+length:]
	}
	return list
}
