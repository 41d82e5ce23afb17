package uniting

import (
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/columns"
)

// liveOf joins the presences of the sources' entities.
func (j *joiner) liveOf() *columns.Presence {
	for i := range j.sources {
		j.cursors[i] = sourceCursor{}
		if s := &j.sources[i]; s.typ != nil {
			j.cursors[i] = sourceCursor{has: true, live: s.typ.Live, byRow: s.byRow}
		}
	}
	return j.presence(j.runs)
}

// column joins the columns of one metric.
func (j *joiner) column(metric int) *columns.Column {
	// known: read where it counts. missing: not read where it counts. zero: all are nil. own: the
	// union may have a presence of its own.
	known, missing, none, zero, own := false, false, true, true, false
	var skip []bool
	for i := range j.sources {
		s, counts := &j.sources[i], j.timeline.within[i][0] < j.timeline.within[i][1]
		j.cursors[i] = sourceCursor{}
		if s.typ == nil {
			continue
		}
		n := s.metric(metric)
		if n < 0 { // there is no value then
			zero, own = false, true
			continue
		}
		c := s.typ.Columns[n]
		if c == columns.Unread {
			if skip == nil {
				skip = make([]bool, len(j.sources))
			}
			skip[i], zero, own = true, false, true
			missing = missing || counts
			continue
		}
		none, known, zero = false, known || counts, zero && c == nil
		own = own || c != nil && c.Present != nil || c.LacksBuckets()
		j.cursors[i] = s.cursor(c)
	}
	switch {
	case none, missing && !known:
		return columns.Unread
	case zero:
		return nil
	}
	runs, noBuckets := j.runsOf(skip)
	j.join(&j.typ.Metrics[metric], runs, noBuckets)
	c := j.build(noBuckets)
	if own {
		for i := range j.cursors {
			j.cursors[i].nextLive = 0
		}
		if p := j.presence(runs); !p.Equal(j.typ.Live) {
			c = j.withPresence(c, p)
		}
	}
	return j.partial(c, runs)
}

// join collects the changes of all rows.
func (j *joiner) join(m *window.Metric, runs []run, noBuckets bool) {
	o := &j.out
	o.At, o.Words = o.At[:0], o.Words[:0]
	o.BucketEnd, o.Bucket, o.Count = o.BucketEnd[:0], o.Bucket[:0], o.Count[:0]
	j.rows, j.end, j.texts, j.totals = j.rows[:0], j.end[:0], nil, j.totals[:0]
	o.Hist = m.Kind.IsHistogram()
	joinRow := j.scalars
	switch {
	case noBuckets:
		joinRow = j.countsOnly
	case o.Hist:
		j.beginHistograms(m, runs)
		joinRow = j.histograms
	case m.Kind == frame.String:
		j.beginTexts()
		joinRow = j.textsOf
	}
	j.active = j.active[:0]
	for i := range runs {
		if u := &runs[i]; u.opens && j.cursors[u.window].has {
			j.active = append(j.active, &j.cursors[u.window])
		}
	}
	for {
		row := int32(noRow)
		for _, r := range j.active {
			row = min(row, r.pending)
		}
		if row == noRow {
			return
		}
		before := len(o.At)
		joinRow(row, runs)
		if len(o.At) > before {
			j.rows, j.end = append(j.rows, row), append(j.end, int32(len(o.At)))
		}
	}
}

// partial returns the column, marked as partial if a source's column is.
func (j *joiner) partial(c *columns.Column, runs []run) *columns.Column {
	for i := range runs {
		if runs[i].window < 0 {
			continue
		}
		if from := j.cursors[runs[i].window].column; from != nil && from.Partial {
			marked := columns.Column{}
			if c != nil {
				marked = *c
			}
			marked.Partial = true
			return &marked
		}
	}
	return c
}

// withPresence returns the column with a presence of its own.
func (j *joiner) withPresence(c *columns.Column, p *columns.Presence) *columns.Column {
	if c == nil && p.Empty(len(j.typ.Rows)) {
		if j.absent == nil {
			j.absent = &columns.Column{Present: p}
		}
		return j.absent
	}
	if c == nil {
		c = &columns.Column{}
	}
	c.Present = p
	return c
}
