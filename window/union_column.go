package window

import (
	"math"
	"slices"

	"github.com/ringwatch/ringwatch/frame"
)

// joiner makes the columns of one type of a union from those of its sources. It goes row by row,
// and in a row from run to run, where a change of a source is a change of the union, but for the
// first.
type joiner struct {
	typ      *Type // of the union
	timeline *timeline
	runs     []run           // if each source's column was read
	sources  []source        // by window
	cursors  []sourceCursor  // by window, of the column at hand
	active   []*sourceCursor // those whose windows have runs

	// The column at hand, in lists that the next one uses again.
	out    changes // without row
	rows   []int32
	end    []int32
	edges  []int32
	absent *column // once there is one

	// Texts.
	texts  []string
	number map[string]int64

	// Histograms without buckets: how the counts differ.
	totals []int64

	// Histograms: the row's value at the last instant, and where it is not zero.
	last     []int64
	lastSum  int64
	low, top int
	begun    bool    // there has been a change
	counts   []int64 // of a source that has only one run
}

// sourceCursor is where a joiner stands in one source's column.
type sourceCursor struct {
	has      bool // the source has the metric
	column   *column
	live     *presence // of the column
	rows     []int32
	byRow    []int32
	nextRow  int   // in column.rows
	nextLive int   // in live.rows
	pending  int32 // the union's row that nextRow is

	// The row at hand.
	there       bool // the source has it
	full        bool // it is there at all instants
	edges       []int32
	passed      int // edges that are passed
	change, end int // changes that are ahead
	word, total int64
	texts       []int64 // number of a text → that of the union, −1: not known yet
	counts      []int64 // histograms of sources that have several runs
}

// noRow is above all rows.
const noRow = math.MaxInt32

func (s *source) cursor(c *column) sourceCursor {
	r := sourceCursor{has: true, column: c, live: s.typ.presenceOf(c), rows: s.rows, byRow: s.byRow}
	r.setPending()
	return r
}

// setPending sets pending.
func (r *sourceCursor) setPending() {
	r.pending = noRow
	if r.column != nil && r.nextRow < len(r.column.rows) {
		if r.pending = r.column.rows[r.nextRow]; r.rows != nil {
			r.pending = r.rows[r.pending]
		}
	}
}

// seek goes to a row of the union. Rows come in ascending order.
func (r *sourceCursor) seek(row int32) {
	if r.there = r.has; !r.has {
		return
	}
	if r.byRow != nil {
		if row = r.byRow[row]; row < 0 {
			r.there = false
			return
		}
	}
	r.full, r.passed = true, 0
	if p := r.live; p != nil {
		for r.nextLive < len(p.rows) && p.rows[r.nextLive] < row {
			r.nextLive++
		}
		if r.nextLive < len(p.rows) && p.rows[r.nextLive] == row {
			r.full, r.edges = false, p.at(r.nextLive)
		}
	}
}

// seekChanges goes to a row of the union and to its changes.
func (r *sourceCursor) seekChanges(row int32) {
	r.word, r.total, r.change, r.end = 0, 0, 0, 0
	r.seek(row)
	if r.has && r.pending == row {
		r.change, r.end = r.column.changes(r.nextRow)
		r.nextRow++
		r.setPending()
	}
}

// first returns the first instant of from … to−1 at which the row is there, to if there is none.
// from does not fall from call to call.
func (r *sourceCursor) first(from, to int32) int32 {
	if r.full {
		return from
	}
	for r.passed < len(r.edges) && r.edges[r.passed] <= from {
		r.passed++
	}
	switch {
	case r.passed%2 == 1:
		return from
	case r.passed < len(r.edges):
		return min(r.edges[r.passed], to)
	}
	return to
}

// until returns the first of the changes from … that is after an instant.
func (r *sourceCursor) until(from int, instant int32) int {
	if from == r.end || r.column.at[from] > instant {
		return from
	}
	if from++; from == r.end || r.column.at[from] > instant { // the usual case
		return from
	}
	n, found := slices.BinarySearch(r.column.at[from:r.end], instant)
	if found {
		n++
	}
	return from + n
}

// liveOf joins the presences of the sources' entities.
func (j *joiner) liveOf() *presence {
	for i := range j.sources {
		j.cursors[i] = sourceCursor{}
		if s := &j.sources[i]; s.typ != nil {
			j.cursors[i] = sourceCursor{has: true, live: s.typ.live, byRow: s.byRow}
		}
	}
	return j.presence(j.runs)
}

// column joins the columns of one metric.
func (j *joiner) column(metric int) *column {
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
		c := s.typ.columns[n]
		if c == unknown {
			if skip == nil {
				skip = make([]bool, len(j.sources))
			}
			skip[i], zero, own = true, false, true
			missing = missing || counts
			continue
		}
		none, known, zero = false, known || counts, zero && c == nil
		own = own || c != nil && c.present != nil || c.noBuckets()
		j.cursors[i] = s.cursor(c)
	}
	switch {
	case none, missing && !known:
		return unknown
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
		if p := j.presence(runs); !p.equal(j.typ.live) {
			c = j.withPresence(c, p)
		}
	}
	return j.partial(c, runs)
}

// partial returns the column, marked as partial if a source's column is.
func (j *joiner) partial(c *column, runs []run) *column {
	for i := range runs {
		if runs[i].window < 0 {
			continue
		}
		if from := j.cursors[runs[i].window].column; from != nil && from.partial {
			marked := column{}
			if c != nil {
				marked = *c
			}
			marked.partial = true
			return &marked
		}
	}
	return c
}

// withPresence returns the column with a presence of its own.
func (j *joiner) withPresence(c *column, p *presence) *column {
	if c == nil && p.none(len(j.typ.Rows)) {
		if j.absent == nil {
			j.absent = &column{present: p}
		}
		return j.absent
	}
	if c == nil {
		c = &column{}
	}
	c.present = p
	return c
}

// join collects the changes of all rows.
func (j *joiner) join(m *Metric, runs []run, noBuckets bool) {
	o := &j.out
	o.at, o.words = o.at[:0], o.words[:0]
	o.bucketEnd, o.bucket, o.count = o.bucketEnd[:0], o.bucket[:0], o.count[:0]
	j.rows, j.end, j.texts, j.totals = j.rows[:0], j.end[:0], nil, j.totals[:0]
	o.hist = m.Kind.IsHistogram()
	joinRow := j.scalars
	switch {
	case noBuckets:
		joinRow = j.countsOnly
	case o.hist:
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
		before := len(o.at)
		joinRow(row, runs)
		if len(o.at) > before {
			j.rows, j.end = append(j.rows, row), append(j.end, int32(len(o.at)))
		}
	}
}

// scalars joins a row of numbers.
func (j *joiner) scalars(row int32, runs []run) {
	o := &j.out
	last := int64(0)
	for i := range runs {
		u := &runs[i]
		if u.window < 0 {
			continue
		}
		r := &j.cursors[u.window]
		if u.opens {
			r.seekChanges(row)
		}
		if !r.there || r.change == r.end && r.word == last {
			continue
		}
		first := r.first(u.from, u.to)
		if first == u.to {
			continue
		}
		from := r.until(r.change, first)
		if from > r.change {
			r.word = r.column.words[from-1]
		}
		if r.word != last {
			o.at, o.words = append(o.at, first+u.shift), append(o.words, r.word)
		}
		if r.change = from; from < r.end {
			r.change = r.copyAt(o, u, from)
			if r.change > from {
				o.words = append(o.words, r.column.words[from:r.change]...)
				r.word = r.column.words[r.change-1]
			}
		}
		last = r.word
	}
}

// copyAt appends the instants of the changes from … that are in a run and returns where they end.
func (r *sourceCursor) copyAt(o *changes, u *run, from int) (end int) {
	at := r.column.at[from:r.end]
	if at[len(at)-1] >= u.to {
		n, _ := slices.BinarySearch(at, u.to)
		at = at[:n]
	}
	before := len(o.at)
	o.at = append(o.at, at...)
	for i := range o.at[before:] {
		o.at[before+i] += u.shift
	}
	return from + len(at)
}

// build returns the column of the changes that were collected, nil if there are none.
func (j *joiner) build(noBuckets bool) *column {
	o := &j.out
	if len(o.at) == 0 {
		return nil
	}
	all := make([]int32, 0, 2*len(j.rows)+len(o.at)+len(o.bucketEnd))
	cut := func(list []int32) []int32 {
		from := len(all)
		all = append(all, list...)
		return all[from:len(all):len(all)]
	}
	c := &column{rows: cut(j.rows), end: cut(j.end), at: cut(o.at), words: slices.Clone(o.words)}
	switch {
	case noBuckets:
		c.totals = slices.Clone(j.totals)
	case o.hist:
		c.bucketEnd = cut(o.bucketEnd)
		c.bucket, c.count = slices.Clone(o.bucket), slices.Clone(o.count)
	}
	if len(j.texts) > 1 {
		c.texts = j.texts
	}
	return c
}
