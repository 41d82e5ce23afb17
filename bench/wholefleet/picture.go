package main

import (
	"fmt"
	"math"
	"os"
	"strings"
)

// Sizes of the picture, in its own units.
const (
	wide, panelHigh, gap, left, right = 860, 130, 44, 70, 150
)

// curve is one line of a panel.
type curve struct {
	name  string
	value func(sample) float64
}

// panels are drawn one below the other over the same time.
var panels = []struct {
	title  string
	curves []curve
}{
	{"Cores", []curve{
		{"Cassandra", coresOf("Cassandra")}, {"Kafka", coresOf("Kafka")},
		{"ingest", coresOf("ingest")},
		{"store", coresOf("store")}, {"recent", coresOf("recent")}, {"rules", coresOf("rules")},
		{"api", coresOf("api")}, {"driver", coresOf("driver")},
	}},
	{"Acknowledgement p99, ms", []curve{{"", func(s sample) float64 { return s.AckP99 }}}},
	{"Freshness p99, ms", []curve{{"", func(s sample) float64 { return s.FreshP99 }}}},
	{"Windows that are open", []curve{{"", func(s sample) float64 { return s.Open }}}},
}

func coresOf(name string) func(sample) float64 {
	return func(s sample) float64 { return s.Cores[name] }
}

// colours are Okabe and Ito's, told apart by people who see few colours; each is readable on white
// and on black.
var colours = strings.Fields(
	"#d55e00 #cc79a7 #0072b2 #e69f00 #56b4e9 #009e73 #8c6bb1 #888888")

// draw writes the run as a picture.
func (r *report) draw(file string) error {
	if len(r.Samples) < 2 {
		return fmt.Errorf("a picture needs two samples, there are %d", len(r.Samples))
	}
	var b strings.Builder
	high := len(panels)*(panelHigh+gap) + 20
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img"
aria-label="%d nodes through the whole line: cores, acknowledgement, freshness, open windows">
<style>text{font:12px sans-serif;fill:#555}.title{font-weight:bold}
.axis{stroke:#999;stroke-width:1;opacity:0.4}
@media (prefers-color-scheme: dark){text{fill:#bbb}}</style>
`, wide, high, r.nodes)
	end := r.Samples[len(r.Samples)-1].At
	for i, p := range panels {
		r.panel(&b, gap/2+10+i*(panelHigh+gap), end, p.title, p.curves)
	}
	b.WriteString("</svg>\n")
	return os.WriteFile(file, []byte(b.String()), 0o644)
}

// panel draws curves below a title that is at top.
func (r *report) panel(b *strings.Builder, top int, end float64, title string, curves []curve) {
	most := 0.0
	for _, c := range curves {
		for _, s := range r.Samples {
			most = max(most, c.value(s))
		}
	}
	most = round(most)
	x := func(at float64) float64 { return left + at/end*(wide-left-right) }
	y := func(v float64) float64 { return float64(top+panelHigh) - v/most*panelHigh }
	fmt.Fprintf(b, `<text class="title" x="%d" y="%d">%s</text>`+"\n", left, top-6, title)
	for _, v := range []float64{0, most / 2, most} {
		fmt.Fprintf(b, `<text x="%d" y="%.0f" text-anchor="end">%g</text>`+"\n", left-6, y(v)+4, v)
		fmt.Fprintf(b, `<path class="axis" d="M%d %.1fH%d"/>`+"\n", left, y(v), wide-right)
	}
	for at := 0.0; at <= end; at += 300 {
		fmt.Fprintf(b, `<path class="axis" d="M%.1f %dv%d"/>`+"\n", x(at), top, panelHigh)
		fmt.Fprintf(b, `<text x="%.1f" y="%d" text-anchor="middle">%.0f min</text>`+"\n", x(at),
			top+panelHigh+15, at/60)
	}
	for i, c := range curves {
		var d strings.Builder
		for j, s := range r.Samples {
			command := "L"
			if j == 0 {
				command = "M"
			}
			fmt.Fprintf(&d, "%s%.1f %.1f", command, x(s.At), y(c.value(s)))
		}
		colour := colours[i%len(colours)]
		fmt.Fprintf(b, `<path fill="none" stroke="%s" stroke-width="1.5" d="%s"/>`+"\n", colour,
			d.String())
		if c.name != "" {
			fmt.Fprintf(b, `<text x="%d" y="%d" style="fill:%s">%s</text>`+"\n", wide-right+10,
				top+10+16*i, colour, c.name)
		}
	}
}

// round returns the next number of one digit, so that an axis ends at it.
func round(v float64) float64 {
	if v <= 0 {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(v)))
	return math.Ceil(v/unit) * unit
}
