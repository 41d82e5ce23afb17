package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"strings"
	"time"
)

//go:embed report.html
var page string

var pageTemplate = template.Must(template.New("report").Parse(page))

// WriteHTML writes the report as one page that needs nothing else: no network, no script. It can be
// printed, and is light or dark as its reader's system is.
func (r *Report) WriteHTML(w io.Writer) error {
	what, when := r.title()
	data := struct {
		Title, When, Lacks string
		Tiles              []Tile
		Plots              []picture
		Sections           []section
		Queries            int
	}{what, when, r.lacks(), r.Summary(), nil, r.sections(), r.Queries}
	for i := range r.Plots {
		data.Plots = append(data.Plots, draw(&r.Plots[i]))
	}
	return pageTemplate.Execute(w, data)
}

// What a picture measures, in units of its view box.
const (
	plotWidth, plotHeight  = 480, 170
	plotLeft, plotRight    = 62, 18
	plotTop, plotBottom    = 8, 22
	plotInner, plotInnerUp = plotWidth - plotLeft - plotRight, plotHeight - plotTop - plotBottom
)

// picture is a plot as the page draws it.
type picture struct {
	Title, Description, TopNode, Now string
	Width, Height                    int
	Left, Right, Top, Bottom         int
	Bands                            []string // polygons' points
	Median, Line                     string   // paths
	Limit                            float64  // y of the healthy range's end; 0: it is not in sight
	LimitText                        string
	YTicks, XTicks                   []tick
}

type tick struct {
	At   float64
	Text string
}

// draw computes the shapes.
func draw(p *Plot) picture {
	out := picture{Title: p.Title, Description: p.Description, TopNode: clean(p.TopNode),
		Width: plotWidth, Height: plotHeight, Left: plotLeft, Right: plotWidth - plotRight,
		Top: plotTop, Bottom: plotHeight - plotBottom}
	highest := 0.0
	for _, v := range p.Most {
		if v.Known() {
			highest = max(highest, float64(v))
		}
	}
	if p.Max != nil && *p.Max > 0 && highest > *p.Max/3 {
		highest = max(highest, *p.Max*1.05)
	}
	step := tickStep(highest, p.Unit)
	top := max(step, math.Ceil(highest/step-1e-9)*step)
	first, last := p.At[0], max(p.At[len(p.At)-1], p.At[0]+1)
	x := func(at int64) float64 {
		return plotLeft + plotInner*float64(at-first)/float64(last-first)
	}
	y := func(v float64) float64 { return plotTop + plotInnerUp*(1-v/top) }
	if p.Max != nil && *p.Max > 0 && *p.Max <= top {
		out.Limit = y(*p.Max)
		out.LimitText = "healthy up to " + Format(Number(*p.Max), p.Unit)
	}
	for v := 0.0; v <= top*1.0001; v += step {
		out.YTicks = append(out.YTicks, tick{y(v), Format(Number(v), p.Unit)})
	}
	out.XTicks = timeTicks(first, last, x)
	out.Bands = bands(p, x, y)
	out.Median, out.Line = path(p.At, p.Median, x, y), path(p.At, p.Top, x, y)
	for _, v := range p.Top {
		if v.Known() {
			out.Now = Format(v, p.Unit)
		}
	}
	return out
}

// tickStep returns a round distance of three or four marks up to a value. Those of bytes are round
// in powers of two.
func tickStep(highest float64, unit string) float64 {
	if highest <= 0 {
		return 1
	}
	base, rounds := 10.0, []float64{1, 2, 2.5, 5, 10}
	if strings.HasPrefix(unit, "bytes") {
		base, rounds = 1024, []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}
	}
	power := math.Pow(base, math.Floor(math.Log(highest/3)/math.Log(base)))
	for _, r := range rounds {
		if r*power >= highest/3.5 {
			return r * power
		}
	}
	return rounds[len(rounds)-1] * power
}

// timeTicks returns five to nine marks at round hours or days.
func timeTicks(first, last int64, x func(int64) float64) (list []tick) {
	step, form := time.Hour, "15:04"
	for _, d := range []time.Duration{5 * time.Minute, 15 * time.Minute, time.Hour, 3 * time.Hour,
		24 * time.Hour, 7 * 24 * time.Hour} {
		if step = d; time.Duration(last-first)*time.Millisecond/d <= 9 {
			break
		}
	}
	if step >= 24*time.Hour {
		form = "Jan 2"
	}
	n := step.Milliseconds()
	for at := (first + n - 1) / n * n; at <= last; at += n {
		list = append(list, tick{x(at), time.UnixMilli(at).UTC().Format(form)})
	}
	return list
}

// bands returns a polygon between the least and the most for each run of steps that have both.
func bands(p *Plot, x func(int64) float64, y func(float64) float64) (list []string) {
	begin := -1
	for i := 0; i <= len(p.At); i++ {
		known := i < len(p.At) && p.Least[i].Known()
		if known && begin < 0 {
			begin = i
		}
		if known || begin < 0 {
			continue
		}
		var b strings.Builder
		for j := begin; j < i; j++ {
			fmt.Fprintf(&b, "%.1f,%.1f ", x(p.At[j]), y(float64(p.Most[j])))
		}
		for j := i - 1; j >= begin; j-- {
			fmt.Fprintf(&b, "%.1f,%.1f ", x(p.At[j]), y(float64(p.Least[j])))
		}
		list, begin = append(list, strings.TrimSpace(b.String())), -1
	}
	return list
}

// path draws a line that has gaps where values are not known.
func path(at []int64, values []Number, x func(int64) float64, y func(float64) float64) string {
	var b strings.Builder
	gap := true
	for i, v := range values {
		if !v.Known() {
			gap = true
			continue
		}
		fmt.Fprintf(&b, "%c%.1f %.1f", "LM"[btoi(gap)], x(at[i]), y(float64(v)))
		if gap { // a lone value is a dot
			fmt.Fprintf(&b, "h0.1")
		}
		gap = false
	}
	return b.String()
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
