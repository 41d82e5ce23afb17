package main

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/ringwatch/ringwatch/bench"
)

// outcome is what came of a drill.
type outcome struct {
	Drill    string   `json:"drill"`
	Told     []*told  `json:"told"`
	Missed   []string `json:"missed"`    // what had to be told and was not in time
	Wrong    []string `json:"otherwise"` // states, answers and texts that were not as they must be
	Messages int      `json:"messages"`  // in which people were told, and that it ended
	Must     int      `json:"must"`
	Recalled []*told  `json:"-"` // what had to be told and was in time
	// From the end of the first step of undo until all was well and people knew it.
	WellSeconds float64 `json:"well_s"`
	Requests    int64   `json:"requests"` // of applications while it lasted
	Failed      int64   `json:"failed"`
}

// drill runs one and waits until all is well again.
func (s *scene) drill(ctx context.Context, d *drill) (*outcome, error) {
	bench.Progress("%s: %s", d.Name, d.About)
	f := &outcome{Drill: d.Name, Must: len(d.Must), Missed: []string{}, Wrong: []string{}}
	began := time.Now()
	asked, failed := s.load.asked.Load(), s.load.failed.Load()
	if err := s.do(ctx, d.Steps); err != nil {
		return nil, err
	}
	staged := time.Now()
	if err := bench.Pass(ctx, d.Watch); err != nil {
		return nil, err
	}
	f.states(ctx, s, d)
	f.questions(ctx, s, d)
	if err := s.do(ctx, d.Undo); err != nil {
		return nil, err
	}
	undone := time.Now()
	if err := s.well(ctx, d.Patience); err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		f.wrong("%v", err)
	}
	f.WellSeconds = seconds(time.Since(undone))
	f.Requests, f.Failed = s.load.asked.Load()-asked, s.load.failed.Load()-failed
	f.Told, f.Messages = s.ear.since(began)
	for _, t := range f.Told {
		t.Node, t.Seconds = s.number(t.node), seconds(t.at.Sub(staged))
	}
	f.compare(s, d)
	return f, nil
}

func (f *outcome) wrong(format string, args ...any) {
	f.Wrong = append(f.Wrong, fmt.Sprintf(format, args...))
}

// compare finds what was told and should not have been, and what was not and should have been.
func (f *outcome) compare(s *scene, d *drill) {
	for i := range d.Must {
		e := &d.Must[i]
		at := slices.IndexFunc(f.Told, func(t *told) bool { return e.is(t, s.ids[e.Node]) })
		if at < 0 {
			f.Missed = append(f.Missed, e.String())
			continue
		}
		t := f.Told[at]
		t.Right = true
		if late := t.Seconds - e.within().Seconds(); late > 0 {
			f.Missed = append(f.Missed, fmt.Sprintf("%s: told after %.0f s", e, t.Seconds))
		} else {
			f.Recalled = append(f.Recalled, t)
		}
		if !regexp.MustCompile(e.Says).MatchString(t.text) {
			f.wrong("%s does not say %q: %q", e, e.Says, t.text)
		}
	}
	for _, e := range append(d.Must[:len(d.Must):len(d.Must)], d.May...) {
		for _, t := range f.Told {
			t.Right = t.Right || e.is(t, s.ids[e.Node])
		}
	}
}

// states compares the states of nodes.
func (f *outcome) states(ctx context.Context, s *scene, d *drill) {
	list, err := s.states(ctx)
	if err != nil {
		f.wrong("%v", err)
	}
	for _, number := range slices.Sorted(maps.Keys(d.States)) {
		for i := range list {
			if n := &list[i]; n.ID == s.ids[number] && n.text() != d.States[number] {
				f.wrong("node %d is %q, not %q", number, n.text(), d.States[number])
			}
		}
	}
}

// questions asks whether it is safe to go on.
func (f *outcome) questions(ctx context.Context, s *scene, d *drill) {
	for _, q := range d.Safe {
		values := url.Values{"for": {q.For}}
		if q.Node > 0 {
			values.Set("node", s.ids[q.Node])
		}
		var answer struct {
			Safe    bool
			Reasons []struct{ Text string }
		}
		err := s.ask(ctx, "/v1/clusters/"+clusterName+"/safe?"+values.Encode(), &answer)
		var reasons []string
		for _, r := range answer.Reasons {
			reasons = append(reasons, r.Text)
		}
		text := strings.Join(reasons, "\n")
		switch {
		case err != nil:
			f.wrong("safe: %v", err)
		case answer.Safe != q.Answer:
			f.wrong("safe for %s of node %d: %t, %s", q.For, q.Node, answer.Safe, text)
		case !regexp.MustCompile(q.Says).MatchString(text):
			f.wrong("safe for %s of node %d does not say %q: %s", q.For, q.Node, q.Says, text)
		}
	}
}

// falseOnes are those that should not have been told.
func (f *outcome) falseOnes() (list []string) {
	for _, t := range f.Told {
		if !t.Right {
			list = append(list, fmt.Sprintf("%s (%s) after %.0f s", t.Alert, t.Severity, t.Seconds))
		}
	}
	return list
}

func (f *outcome) String() string {
	text := fmt.Sprintf("%s: told %d of %d in %d messages, well %.0f s after, %d of %d requests "+
		"failed", f.Drill, len(f.Recalled), f.Must, f.Messages, f.WellSeconds, f.Failed, f.Requests)
	for _, t := range f.Told {
		text += fmt.Sprintf("\n  told after %.0f s: %s (%s)", t.Seconds, t.Alert, t.Severity)
		if t.Node > 0 {
			text += fmt.Sprintf(" of node %d", t.Node)
		}
	}
	for what, list := range map[string][]string{"missed": f.Missed, "false": f.falseOnes(),
		"wrong": f.Wrong} {
		for _, line := range list {
			text += "\n  " + what + ": " + line
		}
	}
	return text
}

// totals are over all drills.
type totals struct {
	told, missed, wrong, otherwise int
	seconds                        []float64
	messages, incidents            int
}

func (t *totals) add(f *outcome) {
	t.told += len(f.Recalled)
	t.missed += len(f.Missed)
	t.wrong += len(f.falseOnes())
	t.otherwise += len(f.Wrong)
	for _, r := range f.Recalled {
		t.seconds = append(t.seconds, r.Seconds)
	}
	if f.Must > 0 {
		t.incidents++
		t.messages += f.Messages
	}
}

// table is what came of each drill, a line each.
func table(found []*outcome) string {
	var sb strings.Builder
	w := tabwriter.NewWriter(&sb, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "DRILL\tTOLD\tFALSE\tWRONG\tFIRST\tMESSAGES\tWELL AFTER\tFAILED REQUESTS")
	for _, f := range found {
		first := "-"
		if len(f.Recalled) > 0 {
			first = fmt.Sprintf("%.0f s", slices.MinFunc(f.Recalled, func(a, b *told) int {
				return a.at.Compare(b.at)
			}).Seconds)
		}
		fmt.Fprintf(w, "%s\t%d of %d\t%d\t%d\t%s\t%d\t%.0f s\t%d of %d\n", f.Drill,
			len(f.Recalled), f.Must, len(f.falseOnes()), len(f.Wrong), first, f.Messages,
			f.WellSeconds, f.Failed, f.Requests)
	}
	_ = w.Flush() // a strings.Builder takes everything
	return sb.String()
}
