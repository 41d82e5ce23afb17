package frame

// skip passes over a column.
func (d *decoder) skip(t *tpl, metric int, values bool) {
	n := d.count("selected entities", t.total, 1)
	if d.passOver(n); n == 0 {
		n = t.live()
	}
	if !values || d.err != nil {
		return
	}
	m := &t.Metrics[metric]
	switch m.Kind {
	case Counter, Gauge:
		d.passOver(n)
	case GaugeDouble:
		for ; n > 0 && d.err == nil; n-- {
			d.double()
		}
	case Histogram, GaugeHistogram:
		for ; n > 0 && d.err == nil; n-- {
			if m.HasSum {
				d.passOver(1)
			}
			d.passOver(2 * d.count("buckets", t.sizes[metric], 2))
		}
	case String:
		for ; n > 0 && d.err == nil; n-- {
			d.text("a text", MaxTextBytes)
		}
	}
}
