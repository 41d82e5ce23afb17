package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/node"
)

// answer is what one side gave to a question.
type answer struct {
	Group, Question, Side string
	// beside Ringwatch's: "same", "close", "differs", why it failed; "" of Ringwatch or if nobody
	// compares
	Verdict    string
	Difference *difference `json:",omitempty"`
	Warnings   []string    `json:",omitempty"`
	// of timing: there are no times then
	Failures []string          `json:",omitempty"`
	Columns  map[string]*timed `json:",omitempty"`
	// of a page: those that all sides answer
	Panels int `json:",omitempty"`
}

// part is what the sides needed for a set's questions.
type part struct {
	Name   string
	Sides  []string
	Memory map[string]int64 // bytes resident after the questions, by side and process
	CPU    map[string]float64
}

type report struct {
	options
	Sets     []*set
	Answers  []*answer
	Parts    []*part
	versions []string
}

// compared are those whose values are wanted: pairs of Ringwatch's answer and a peer's, for two
// requests of different variables.
const compared = 2

// check asks all sides the same at one instant, and says how the peers' answers differ from
// Ringwatch's, which is the first side.
func (f *report) check(ctx context.Context, b *bed, q *question) []*answer {
	sides, at := b.sides, b.at(q, 0)
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
			path, form, err := q.request(b.variables, asking{number: number, at: at, peer: s.peer})
			if err != nil {
				list[i].Verdict = "failed: " + err.Error()
				continue
			}
			got, warnings, err := s.ask(ctx, path, form)
			if err != nil {
				list[i].Verdict = "failed: " + err.Error()
				bench.Progress("  %s: %s: %v", s.Name, q.title, err)
				continue
			}
			for _, text := range warnings {
				if !slices.Contains(list[i].Warnings, text) {
					list[i].Warnings = append(list[i].Warnings, text)
					bench.Progress("  %s: %s warns: %s", s.Name, q.title, text)
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
	for _, a := range list {
		if d := a.Difference; d != nil && a.Verdict != "same" && (q.group != panel || !a.counts()) {
			bench.Progress("  %s: %s: %s: %s", a.Side, q.title, a.Verdict, d)
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
		// its rate() takes the sample before the window and extrapolates nothing
		near = max(near, 0.1)
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
}

// note keeps what the sides of a part need.
func (f *report) note(b *bed) error {
	p := &part{Name: b.set.Account, Memory: map[string]int64{}, CPU: map[string]float64{}}
	for _, s := range b.sides {
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
			bench.Progress("%s: %s has %.0f MB resident, took %.1f s of CPU since its start",
				p.Name, name, float64(bytes)/1e6, u.CPU.Seconds())
		}
	}
	f.Parts = append(f.Parts, p)
	return nil
}

// ratio is a median of Ringwatch's over that of the faster peer which has the same answer.
type ratio struct {
	group, question string
	ours, of        float64
}

// ratios are those of a column, of questions that a peer answers too.
func (f *report) ratios(column string, groups ...string) (list []ratio) {
	for _, a := range f.Answers {
		t := a.Columns[column]
		if a.Side != "ringwatch" || t == nil || !slices.Contains(groups, a.Group) {
			continue
		}
		if best := f.best(a, column); best > 0 {
			list = append(list, ratio{a.Group, a.Question, t.P50, t.P50 / best})
		}
	}
	return list
}

// others are the peers' answers to the question of one of Ringwatch's.
func (f *report) others(a *answer) (list []*answer) {
	for _, b := range f.Answers {
		if b.Side != a.Side && b.Group == a.Group && b.Question == a.Question {
			list = append(list, b)
		}
	}
	return list
}

// best is the median of the faster peer in a column, of those whose answers count; 0: there is
// none, or Ringwatch has none.
func (f *report) best(a *answer, column string) (best float64) {
	if a.Columns[column] == nil {
		return 0
	}
	for _, b := range f.others(a) {
		if t := b.Columns[column]; t != nil && b.counts() && (best == 0 || t.P50 < best) {
			best = t.P50
		}
	}
	return best
}

func median(list []ratio) float64 {
	return bench.MedianOf(list, func(r ratio) float64 { return r.of })
}

// worst is the greatest of all.
func worst(list []ratio) (w ratio) {
	for _, r := range list {
		if r.of > w.of {
			w = r
		}
	}
	return w
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

// own is the median over questions of Ringwatch's medians, ms; 0 if none is asked.
func (f *report) own(column string, want func(*answer) bool) float64 {
	var list []float64
	for _, a := range f.Answers {
		if t := a.Columns[column]; a.Side == "ringwatch" && t != nil && want(a) {
			list = append(list, t.P50)
		}
	}
	return bench.Median(list)
}

func inGroup(name string) func(*answer) bool {
	return func(a *answer) bool { return a.Group == name }
}

// titled takes the questions of a title, whatever span they have.
func titled(title string) func(*answer) bool {
	before, after, _ := strings.Cut(title, "$span")
	return func(a *answer) bool {
		return strings.HasPrefix(a.Question, before) && strings.HasSuffix(a.Question, after)
	}
}

// apiOverVictoria is the memory of our API over that of VictoriaMetrics, after a set's questions; 0
// without one.
func (f *report) apiOverVictoria() float64 {
	for _, p := range f.Parts {
		if all := p.Memory["victoriametrics"]; p.Name == shortAccount && all > 0 {
			return float64(p.Memory["ringwatch API"]) / float64(all)
		}
	}
	return 0
}

func (f *report) addTo(r *bench.Result) {
	r.Detail = f
	asked := []string{short, day, rolled, page}
	// A key whose questions were not asked is not there, as 0 would be a good figure.
	one := func(key string, v float64) {
		if v > 0 {
			r.Add(key, v)
		}
	}
	add := func(key string, list []ratio) {
		if len(list) == 0 {
			return
		}
		r.Add(key, median(list))
		w := worst(list)
		r.Add(key+"_worst", w.of)
		r.Add(key+"_worst_question", strings.ReplaceAll(w.question, " ", "_"))
		r.Add(key+"_questions", len(list))
	}
	add("refresh_over_best_peer", f.ratios(refresh, asked...))
	add("warm_over_best_peer", f.ratios(warm, asked...))
	add("cold_over_best_peer", f.ratios(cold, asked...))
	add("rollup_over_best_peer", f.ratios(warm, rolled))
	one("one_node_ms", f.own(warm, titled(ofOneNode)))
	one("cluster_day_s", f.own(cold, titled(dayByMinute))/1000)
	one("fleet_top_ms", f.own(warm, inGroup(fleetTop)))
	one("metadata_ms",
		f.own(warm, func(a *answer) bool { return a.Group == meta || a.Group == fleetMeta }))
	one("api_rss_over_vm", f.apiOverVictoria())
	r.Add("failed", f.failures())
	r.Add("nodes", f.nodes)
	r.Add("hours", f.hours)
	r.Add("interval_s", f.interval.Seconds())
	r.Add("trend_nodes", f.trendNodes)
	r.Add("trend_days", f.trendDays)
	r.Add("fleet_nodes", f.fleet)
	for _, s := range f.Sets {
		for _, side := range f.sides {
			r.Add(s.Account+"_"+side+"_samples", s.Samples[side])
		}
	}
	var said []string
	for _, s := range f.Sets {
		said = append(said, s.String())
	}
	r.Notes = fmt.Sprintf(
		"%s, in %d clusters with %d tables a node, half of the nodes idle. Written as frames, "+
			"windows and hours through the store, by remote write into the peers. "+
			"Ringwatch: the API process with Cassandra and Redis, its defaults but for rate "+
			"limits; the peers have histograms as a Prometheus has that scrapes Ringwatch, every "+
			"eighth bucket, cumulative, without those that counted nothing. A "+
			"sample of theirs is one of a series, of ours a histogram is one. A peer's time "+
			"counts if its answer is the same to 1e-6 (same) or as close as its own words allow "+
			"(close: VictoriaMetrics's rate, rollups, buckets). cold: the first answer of a "+
			"process that has just started, page caches as they are, median of %d; warm: in words "+
			"that nobody used before, of data that was asked for, median of %d; refresh: moved by "+
			"a step, eight panels at once, median of %d. Ranges end where the whole hours do, so "+
			"all their steps are closed when they are refreshed; instants are of their end. A "+
			"page is all panels of a dashboard which all sides answer, eight at "+
			"once. over_best_peer: the median of the questions' ratios of medians to the faster "+
			"peer; sides by turns, caches on. cluster_day_s and one_node_ms are of the nodes and "+
			"the span that there are. All share the cores. %s.",
		strings.Join(said, "; "), clustersOf(f.nodes), f.tables, f.coldRounds, f.rounds, f.rounds,
		strings.Join(f.versions, ", "))
}

// table prints the questions with their sides, a line each.
func (f *report) table(w io.Writer) {
	fmt.Fprintf(w, "\n| ms, cold / warm / refresh | %s | ours / best | answers |\n"+
		"|---|%s---:|---|\n",
		strings.Join(f.sides, " | "), strings.Repeat("---:|", len(f.sides)))
	for _, a := range f.Answers {
		if a.Side != f.sides[0] || a.Group == panel {
			continue
		}
		cells := make([]string, len(f.sides)+3)
		cells[0], cells[1] = a.Question, a.times()
		var over, verdicts []string
		for i, other := range f.others(a) {
			cells[2+i] = other.times()
			verdict, _, _ := strings.Cut(other.Verdict, ":")
			verdicts = append(verdicts, other.Side+" "+verdict)
		}
		for _, column := range columns {
			if best := f.best(a, column); best > 0 {
				over = append(over, fmt.Sprintf("%.1f", a.Columns[column].P50/best))
			}
		}
		cells[len(cells)-2], cells[len(cells)-1] = strings.Join(over, " / "),
			strings.Join(verdicts, ", ")
		fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
	}
}

// times are the medians of the columns.
func (a *answer) times() string {
	var list []string
	for _, column := range columns {
		if t := a.Columns[column]; t != nil {
			list = append(list, fmt.Sprintf("%.1f", t.P50))
		}
	}
	return strings.Join(list, " / ")
}
