package main

import (
	"fmt"
	"io"
)

// table prints the figures for the documents.
func (r *report) table(w io.Writer) {
	fmt.Fprintf(w,
		"\n| | CPU of a 20-second cycle | most | of it for frames | resident | series kept |\n"+
			"|---|---:|---:|---:|---:|---:|\n")
	row := func(name string, o *outcome) {
		if o != nil {
			fmt.Fprintf(w, "| %s | %.2f s | %.2f s | %.2f s | %.0f MB | %d |\n", name, o.cycle(),
				o.most(), o.frames(), float64(o.Resident)/1e6, o.Series)
		}
	}
	row(fmt.Sprintf("the shipped rules, %d nodes × %d series", r.Nodes, r.Series), r.Shipped)
	row("the same, and people are told", r.Told)
	row(fmt.Sprintf("%d alert rules of one shape, the same nodes", r.ManyRules), r.Many)
	fmt.Fprintln(w)
	if r.Start != nil {
		fmt.Fprintf(w, "A start walks %d minutes of %d nodes (%d frames) in %.1f s, for %.1f "+
			"s of CPU.\n",
			r.Minutes, r.Nodes, r.Start.Entered, r.Start.WalkS, r.Start.WalkCPU)
	}
	for i := range r.Delays {
		d := &r.Delays[i]
		fmt.Fprintf(w,
			"An alert of a rule evaluated every %.0f s is at Alertmanager %.1f s after its "+
				"sample was sent at the median of %d, %.1f s at most.\n", d.Interval,
			d.less(0.5)+d.Interval,
			len(d.Seconds), d.less(1)+d.Interval)
	}
}
