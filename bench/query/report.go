package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/node"
)

// clientCounts are how many clients ask at once.
var clientCounts = []int{1, 8}

// answer is what one side gave to a question.
type answer struct {
	Group, Question, Side string
	Verdict               string      // beside Ringwatch's: "same", "close", "differs", why it failed; "" of Ringwatch or if nobody compares
	Difference            *difference `json:",omitempty"`
	Warnings              []string    `json:",omitempty"`
	Failures              []string    `json:",omitempty"` // of timing: there are no times then
	Timed                 []timed     // by number of clients
	Bytes                 int64       // of an answer
}

// timed is one number of clients.
type timed struct {
	Clients, Requests int
	P50, P99          float64 // ms
	CPU               float64 // ms a request
}

// part is what one of the run's parts had and what its sides needed.
type part struct {
	Name    string
	Sides   []string
	Samples map[string]int64 // ours counts a histogram as one, theirs each of its series
	Memory  map[string]int64 // bytes resident after the questions, by side and process
	CPU     map[string]float64
	LoadS   float64
}

type report struct {
	options
	Answers  []*answer
	Parts    []*part
	versions []string
}

// compared are those whose values are wanted: pairs of Ringwatch's answer and a peer's, for two requests of different variables.
const compared = 2

// check asks all sides the same at one instant, and says how the peers' answers differ from Ringwatch's, which is the first side.
func (f *report) check(ctx context.Context, sides []*side, q *question, v *variables, at time.Time) []*answer {
	list := make([]*answer, len(sides))
	for i, s := range sides {
		list[i] = &answer{Group: q.group, Question: q.title, Side: s.Name}
	}
	for number := range compared {
		var ours values
		for i, s := range sides {
			if s.peer && q.alone || list[i].failed() {
				continue
			}
			path, form := q.request(v, number, at, s.peer)
			got, warnings, err := s.ask(ctx, path, form)
			if err != nil {
				list[i].Verdict = "failed: " + err.Error()
				progress("  %s: %s: %v", s.Name, q.title, err)
				continue
			}
			for _, text := range warnings {
				if !slices.Contains(list[i].Warnings, text) {
					list[i].Warnings = append(list[i].Warnings, text)
					progress("  %s: %s warns: %s", s.Name, q.title, text)
				}
			}
			if !s.peer {
				ours = got
				if len(got) == 0 {
					list[i].Verdict = "failed: an empty answer"
				}
				continue
			}
			if list[0].failed() {
				continue
			}
			list[i].compare(q, ours, got)
		}
	}
	return list
}

func (a *answer) failed() bool { return strings.HasPrefix(a.Verdict, "failed") }

// counts reports whether the side's time may be held against Ringwatch's.
func (a *answer) counts() bool { return a.Verdict == "same" || a.Verdict == "close" }

// compare takes another comparison; the worst one counts.
func (a *answer) compare(q *question, ours, theirs values) {
	d := compare(ours, theirs)
	near := max(q.near, exact)
	if a.Side == "victoriametrics" {
		near = max(near, 0.1) // its rate() takes the sample before the window and extrapolates nothing
	}
	verdict := "differs"
	switch {
	case d.same():
		verdict = "same"
	case q.path != "" && d.Points > 0 && d.Missing == 0: // ours has native histograms beside
		verdict = "close"
	case q.path == "" && d.close(near):
		verdict = "close"
	}
	order := []string{"", "same", "close", "differs"}
	if slices.Index(order, verdict) > slices.Index(order, a.Verdict) {
		a.Verdict, a.Difference = verdict, &d
	}
	if verdict != "same" {
		progress("  %s: %s: %s: %s", a.Side, q.title, verdict, &d)
	}
}

// ask compares all, then times all. hold keeps the sides from changing meanwhile, and returns what lets them go on.
func (f *report) ask(ctx context.Context, name string, sides []*side, questions []question, v *variables, now func() time.Time, hold func() (func(), error)) error {
	progress("%s: comparing %d questions", name, len(questions))
	release, err := hold()
	if err != nil {
		return err
	}
	at := now()
	lists := make([][]*answer, len(questions))
	for i := range questions {
		lists[i] = f.check(ctx, sides, &questions[i], v, at)
		f.Answers = append(f.Answers, lists[i]...)
	}
	release()
	for i := range questions {
		if err := f.time(ctx, sides, &questions[i], lists[i], v, now); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// time lets the sides answer by turns.
func (f *report) time(ctx context.Context, sides []*side, q *question, list []*answer, v *variables, now func() time.Time) error {
	for _, clients := range clientCounts {
		took, cpu := make([][]float64, len(sides)), make([]time.Duration, len(sides))
		gaveUp := make([]bool, len(sides))
		for round := range f.rounds + 1 { // the first is not counted
			for n := range sides {
				n = (n + round) % len(sides)
				if sides[n].peer && q.alone || list[n].failed() || gaveUp[n] {
					continue
				}
				spent := time.Duration(f.seconds * float64(time.Second))
				if round == 0 {
					spent = 0
				}
				t := sides[n].turn(ctx, q, v, clients, spent, now)
				if ctx.Err() != nil {
					return ctx.Err()
				}
				if t.failed != nil {
					progress("  %s: %s, %d clients: %v", sides[n].Name, q.title, clients, t.failed)
					list[n].Failures = append(list[n].Failures, fmt.Sprintf("%d clients: %v", clients, t.failed))
					took[n], gaveUp[n] = nil, true
					continue
				}
				if round > 0 {
					took[n], cpu[n], list[n].Bytes = append(took[n], t.took...), cpu[n]+t.cpu, t.bytes
				}
			}
		}
		said := ""
		for n := range sides {
			if len(took[n]) == 0 {
				continue
			}
			t := timed{Clients: clients, Requests: len(took[n]), P50: bench.Quantile(took[n], 0.5), P99: bench.Quantile(took[n], 0.99), CPU: cpu[n].Seconds() * 1000 / float64(len(took[n]))}
			list[n].Timed = append(list[n].Timed, t)
			said += fmt.Sprintf("; %s %.1f ms, p99 %.1f, CPU %.1f", sides[n].Name, t.P50, t.P99, t.CPU)
		}
		progress("%s, %d clients%s", q.title, clients, said)
	}
	return nil
}

// note keeps what the sides of a part need.
func (f *report) note(p *part, sides []*side) error {
	p.Memory, p.CPU = map[string]int64{}, map[string]float64{}
	for _, s := range sides {
		p.Sides = append(p.Sides, s.Name)
		for _, of := range s.pids() {
			bytes, err := node.Resident(of.pid)
			if err != nil {
				return err
			}
			u, err := node.UsageOf(of.pid, "")
			if err != nil {
				return err
			}
			name := s.Name
			if of.name != "" {
				name += " " + of.name
			}
			p.Memory[name], p.CPU[name] = bytes, u.CPU.Seconds()
			progress("%s: %s has %.0f MB resident, took %.1f s of CPU since its start", p.Name, name, float64(bytes)/1e6, u.CPU.Seconds())
		}
	}
	f.Parts = append(f.Parts, p)
	return nil
}

// at returns what a number of clients had; nil if it was not timed.
func (a *answer) at(clients int) *timed {
	for i := range a.Timed {
		if a.Timed[i].Clients == clients {
			return &a.Timed[i]
		}
	}
	return nil
}

// ratios are Ringwatch's medians over the best peer's, by question of a group.
func (f *report) ratios(group string, clients int) (list []float64) {
	for i := 0; i < len(f.Answers); {
		a := f.Answers[i]
		ours, best := a.at(clients), 0.0
		for i++; i < len(f.Answers) && f.Answers[i].Question == a.Question && f.Answers[i].Side != a.Side; i++ {
			if b := f.Answers[i].at(clients); b != nil && f.Answers[i].counts() && (best == 0 || b.P50 < best) {
				best = b.P50
			}
		}
		if a.Group == group && ours != nil && best > 0 && !a.failed() {
			list = append(list, ours.P50/best)
		}
	}
	return list
}

// failures are how many questions Ringwatch did not answer, or not so many clients at once.
func (f *report) failures() (n int) {
	for _, a := range f.Answers {
		if a.Side == "ringwatch" && (a.failed() || len(a.Failures) > 0) {
			n++
		}
	}
	return n
}

// own is the median over a group's questions of Ringwatch's medians, ms.
func (f *report) own(group string, clients int) float64 {
	var list []float64
	for _, a := range f.Answers {
		if t := a.at(clients); a.Group == group && a.Side == "ringwatch" && t != nil && !a.failed() {
			list = append(list, t.P50)
		}
	}
	return bench.Quantile(list, 0.5)
}

func (f *report) result() *bench.Result {
	r := &bench.Result{Name: "query", Detail: f}
	for _, of := range []struct{ key, group string }{{"short_over_best_peer", short}, {"rollup_over_best_peer", rolled}} {
		r.Add(of.key, bench.Quantile(f.ratios(of.group, 1), 0.5))
	}
	r.Add("fleet_instant_ms", f.own(ofFleet, 1))
	r.Add("metadata_ms", f.own(fleetMeta, 1))
	r.Add("failed", f.failures())
	for _, of := range []struct{ key, group string }{{"short", short}, {"day", day}, {"rollup", rolled}, {"meta", meta}} {
		for _, clients := range clientCounts {
			list := f.ratios(of.group, clients)
			key := fmt.Sprintf("%s_%d_over_best_peer", of.key, clients)
			r.Add(key, bench.Quantile(list, 0.5))
			r.Add(key+"_worst", bench.Quantile(list, 1))
			r.Add(key+"_questions", len(list))
		}
	}
	r.Add("nodes", f.nodes)
	r.Add("hours", f.hours)
	r.Add("trend_nodes", f.trendNodes)
	r.Add("trend_days", f.trendDays)
	r.Add("fleet_nodes", f.fleet)
	for _, p := range f.Parts {
		for _, side := range p.Sides {
			if n := p.Samples[side]; n > 0 {
				r.Add(strings.ReplaceAll(p.Name, " ", "_")+"_"+side+"_samples", n)
			}
		}
	}
	r.Notes = fmt.Sprintf("%d nodes in %d clusters with %d tables each, half of them idle, %g h at 20 s made from the recordings, and frames as they are due while questions are asked; a trend of %d nodes, %g d at a minute, with four metrics. "+
		"Ringwatch: the API process with Cassandra and Redis, its defaults but for rate limits; the peers have histograms as a Prometheus has that scrapes Ringwatch, every eighth bucket, cumulative, without those that counted nothing. "+
		"A sample of theirs is one of a series, of ours a histogram is one. All sides hold the same up to the same instant when answers are compared; a peer's time counts if its answer is the same to 1e-6 (same) or as close as its own words allow (close: VictoriaMetrics's rate, rollups, buckets). "+
		"Medians over %d rounds of %g s, sides by turns, after one that is not counted; nodes and clusters change from request to request. over_best_peer: the median of the questions' ratios of medians to the faster peer. All share the cores. "+
		"The fleet's frames were made once and say that their interval is 10 minutes. %s.",
		f.nodes, clustersOf(f.nodes), f.tables, f.hours, f.trendNodes, f.trendDays, f.rounds, f.seconds, strings.Join(f.versions, ", "))
	return r
}

// table prints the questions with their sides.
func table(w io.Writer, answers []*answer, parts []*part) {
	var names []string
	for _, a := range answers {
		if !slices.Contains(names, a.Side) {
			names = append(names, a.Side)
		}
	}
	out := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	fmt.Fprintf(out, "\n| p50 / p99 ms")
	rule := "\n|---"
	for _, name := range names {
		fmt.Fprintf(out, "\t| %s, 1 client\t| 8 clients\t| CPU ms", name)
		rule += "\t|---:\t|---:\t|---:"
	}
	fmt.Fprintf(out, "\t| answers\t|%s\t|---\t|\n", rule)
	for i := 0; i < len(answers); {
		question := answers[i].Question
		fmt.Fprintf(out, "| %s", question)
		var verdicts []string
		for _, name := range names {
			var a *answer
			if i < len(answers) && answers[i].Question == question && answers[i].Side == name {
				a = answers[i]
				i++
			}
			if a == nil || len(a.Timed) == 0 {
				fmt.Fprint(out, "\t| \t| \t| ")
			} else {
				for _, clients := range clientCounts {
					if t := a.at(clients); t != nil {
						fmt.Fprintf(out, "\t| %.1f / %.1f", t.P50, t.P99)
					} else {
						fmt.Fprint(out, "\t| ")
					}
				}
				fmt.Fprintf(out, "\t| %.1f", a.Timed[0].CPU)
			}
			if a == nil {
				continue
			}
			if a.Verdict != "" {
				verdict, _, _ := strings.Cut(a.Verdict, ":")
				verdicts = append(verdicts, name+" "+verdict)
			}
			for _, text := range a.Failures {
				clients, _, _ := strings.Cut(text, ":")
				verdicts = append(verdicts, name+" failed "+clients)
			}
		}
		fmt.Fprintf(out, "\t| %s\t|\n", strings.Join(verdicts, ", "))
	}
	_ = out.Flush()
	fmt.Fprintf(w, "\n| | samples | MB resident |\n|---|---:|---:|\n")
	for _, p := range parts {
		for _, side := range p.Sides {
			var list []string
			all := int64(0)
			for name, bytes := range p.Memory {
				if of, is := strings.CutPrefix(name, side); is {
					all += bytes
					if of != "" {
						list = append(list, fmt.Sprintf("%s %.0f", strings.TrimSpace(of), float64(bytes)/1e6))
					}
				}
			}
			slices.Sort(list)
			fmt.Fprintf(w, "| %s: %s | %d | %.0f %s |\n", p.Name, side, p.Samples[side], float64(all)/1e6, strings.Join(list, ", "))
		}
	}
	fmt.Fprintln(w)
}

// printKept prints the table of the result that is kept.
func printKept(_ context.Context, o options) error {
	b, err := os.ReadFile(filepath.Join(o.results, "query.json"))
	if err != nil {
		return err
	}
	var kept struct{ Detail report }
	if err := json.Unmarshal(b, &kept); err != nil {
		return err
	}
	table(os.Stdout, kept.Detail.Answers, kept.Detail.Parts)
	return nil
}
