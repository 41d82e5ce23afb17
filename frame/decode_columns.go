package frame

// groups reads the presence or the values section.
func (d *decoder) groups(values bool) []Group {
	var groups []Group
	last := len(d.templates) // that is wanted
	for last--; last >= 0 && d.passed(&d.templates[last]); last-- {
	}
	d.eachGroup("groups", func(template int, t *tpl) {
		if values && template > last { // it is the last section
			d.enough = true
			return
		}
		n := d.count("columns", len(t.Metrics), 2)
		if n == 0 {
			d.fail(ErrMalformed, "a group has no columns")
		}
		g := Group{Template: template}
		if !d.passed(t) {
			if d.take(int64(n) * columnSize); d.err != nil {
				return
			}
			g.Columns = make([]Column, 0, n)
		}
		metric := -1
		for i := 0; i < n && d.err == nil; i++ {
			metric = d.gap("a metric", metric, len(t.Metrics))
			if d.err == nil && !d.wants(t, metric) {
				d.skip(t, metric, values)
				continue
			}
			c := Column{Metric: metric}
			selected := d.selector(&c, t)
			if values && d.err == nil {
				d.column(&c, t, selected)
			}
			g.Columns = append(g.Columns, c)
		}
		if len(g.Columns) > 0 || d.want == nil {
			groups = append(groups, g)
		}
	})
	return groups
}

// selector reads which entities a column speaks of and returns their number.
func (d *decoder) selector(c *Column, t *tpl) int {
	n := d.count("selected entities", t.total, 1)
	if n == 0 {
		c.All = true
		n = t.live()
		if n == 0 {
			d.fail(ErrMalformed, "a column of type %q, which has no entity", t.Type)
		}
		return n
	}
	if n >= t.live() {
		d.fail(ErrMalformed, "a selector lists all entities")
		return 0
	}
	c.Entities = d.indexes("an entity", n, t.total)
	if t.gone != nil {
		for _, e := range c.Entities {
			if t.gone[e] {
				d.fail(ErrMalformed, "a selector names a removed entity")
			}
		}
	}
	return n
}

func (d *decoder) column(c *Column, t *tpl, n int) {
	m := &t.Metrics[c.Metric]
	if n > len(d.b) { // every entry takes a byte at least
		d.fail(ErrMalformed, "%d values announced, %d bytes left", n, len(d.b))
		return
	}
	switch m.Kind {
	case Counter, Gauge:
		if d.take(int64(n) * numberSize); d.err != nil {
			return
		}
		c.Ints = make([]int64, n)
		for i := range c.Ints {
			if m.Kind == Counter {
				c.Ints[i] = int64(d.uvarint())
			} else {
				c.Ints[i] = d.svarint()
			}
			if c.Ints[i] == 0 {
				d.fail(ErrMalformed, "a value that does not differ")
			}
		}
	case GaugeDouble:
		if n > len(d.b)/8 {
			d.fail(ErrMalformed, "%d doubles announced, %d bytes left", n, len(d.b))
		}
		if d.take(int64(n) * numberSize); d.err != nil {
			return
		}
		c.Doubles = make([]float64, 0, n)
		for i := 0; i < n && d.err == nil; i++ {
			c.Doubles = append(c.Doubles, d.double())
		}
	case Histogram, GaugeHistogram:
		d.histograms(c, m, t.sizes[c.Metric], n)
	case String:
		if d.take(int64(n) * textSize); d.err != nil {
			return
		}
		c.Strings = make([]string, 0, n)
		for i := 0; i < n && d.err == nil; i++ {
			c.Strings = append(c.Strings, d.text("a text", MaxTextBytes))
			d.take(int64(len(c.Strings[i])))
		}
	}
}

// histograms reads n entries of a column. All their buckets stand in two slices, which is why they
// are counted first: most histograms have a few, and a slice for each would take more than they do.
func (d *decoder) histograms(c *Column, m *Metric, size, n int) {
	total := d.bucketsAhead(m, size, n)
	if d.take(int64(n)*bucketsSize + int64(total)*bucketSize); d.err != nil {
		return
	}
	index, count := make([]int32, 0, total), make([]int64, 0, total)
	c.Histograms = make([]Buckets, n)
	for i := 0; i < n && d.err == nil; i++ {
		b, from := &c.Histograms[i], len(index)
		if m.HasSum {
			b.Sum = d.svarint()
		}
		k := d.count("buckets", size, 2)
		if k == 0 && b.Sum == 0 {
			d.fail(ErrMalformed, "a histogram that does not differ")
		}
		bucket := -1
		for j := 0; j < k && d.err == nil; j++ {
			bucket = d.gap("a bucket", bucket, size)
			var n int64
			if m.Kind == Histogram {
				n = int64(d.uvarint())
			} else {
				n = d.svarint()
			}
			if n == 0 {
				d.fail(ErrMalformed, "a bucket that does not differ")
			}
			index, count = append(index, int32(bucket)), append(count, n)
		}
		if k > 0 {
			b.Index, b.Count = index[from:len(index):len(index)], count[from:len(count):len(count)]
		}
	}
}

// bucketsAhead counts the buckets of n entries that are read next, on a copy of the reader. What is
// wrong with them is found when they are read.
func (d *decoder) bucketsAhead(m *Metric, size, n int) (total int) {
	ahead := d.reader
	for i := 0; i < n && ahead.err == nil; i++ {
		if m.HasSum {
			ahead.passOver(1)
		}
		k := ahead.count("buckets", size, 2)
		ahead.passOver(2 * k)
		total += k
	}
	return total
}
