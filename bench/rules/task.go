package main

import (
	"context"
	"fmt"

	"github.com/ringwatch/ringwatch/bench"
)

// task is a run of the role in a process of its own, so that what it needs is the role's alone.
type task struct {
	Name       string
	Frames     string // file of the fleet's frames
	Log        string // begins the names of files: what the role recorded and wrote down
	Rules      string // a rule file; empty: the shipped ones
	Start, End int64  // ms
	People     string // a directory for what tells people of alerts; "": nobody is told
	Walk       bool   // a start: states and frames are those of an earlier task with this Log
	Procs      int    // GOMAXPROCS; 0: as it is
	Memory     int64  // memory.limit_bytes; 0: as the role finds it
}

// outcome is what a task found.
type outcome struct {
	Cycles    []cycle // each 20 s of the fleet
	Resident  int64   // bytes, at the end
	Heap      int64   // bytes alive
	Highest   int64   // bytes, the most that were resident
	Budget    int64   // bytes that the role has told its budget of
	Series    int     // in memory
	Entered   int
	Evaluated float64 // groups
	Failures  float64 // evaluations of rules
	Missed    float64
	Published int // frames of recorded series
	Bytes     int64
	Saved     int // states written down
	SavedMB   float64
	Alerts    int // told of, each time
	WalkS     float64
	WalkCPU   float64
}

// cycle is CPU seconds: of frames, and of evaluation with publishing and writing down.
type cycle struct{ Frames, Evaluation, Wall float64 }

// cycle returns the mean CPU of a cycle, without the first window's, while memory fills.
func (o *outcome) cycle() float64 {
	sum, list := 0.0, o.steady()
	for _, c := range list {
		sum += c.Frames + c.Evaluation
	}
	return sum / float64(max(1, len(list)))
}

const cyclesPerWindow = 15

func (o *outcome) steady() []cycle {
	if len(o.Cycles) >= 2*cyclesPerWindow {
		return o.Cycles[cyclesPerWindow:]
	}
	return o.Cycles
}

func (o *outcome) most() float64 {
	most := 0.0
	for _, c := range o.steady() {
		most = max(most, c.Frames+c.Evaluation)
	}
	return most
}

func (o *outcome) frames() float64 {
	sum := 0.0
	for _, c := range o.steady() {
		sum += c.Frames
	}
	return sum / float64(max(1, len(o.steady())))
}

// run runs the task in a process of its own.
func (t *task) run(ctx context.Context) (*outcome, error) {
	var env []string
	if t.Procs > 0 {
		env = append(env, fmt.Sprint("GOMAXPROCS=", t.Procs))
	}
	o := &outcome{}
	if err := bench.Child(ctx, t, o, env...); err != nil {
		return nil, fmt.Errorf("%s: %w", t.Name, err)
	}
	if o.Failures > 0 || o.Missed > 0 {
		bench.Progress("%s: %.0f evaluations failed, %.0f were left out", t.Name, o.Failures,
			o.Missed)
	}
	if t.Walk {
		bench.Progress("%s: %.1f s, CPU %.1f s, %.0f MB resident", t.Name, o.WalkS, o.WalkCPU,
			float64(o.Resident)/1e6)
	} else {
		bench.Progress(
			"%s: a cycle %.3f s of CPU, %.3f of it for frames, %.3f at most; %.0f MB resident, "+
				"%.0f MB of the budget, %d series, %d frames recorded, %d alerts", t.Name,
			o.cycle(),
			o.frames(), o.most(), float64(o.Resident)/1e6, float64(o.Budget)/1e6, o.Series,
			o.Published,
			o.Alerts)
	}
	return o, nil
}
