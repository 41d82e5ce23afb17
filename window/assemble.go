package window

// assembler makes one column from the values of its rows at the window's instants.
type assembler struct {
	live  *presence // the type's
	rows  int
	edges edges
	out   changes
	texts map[string]int64
	list  []string
	diff  []int64 // scratch by bucket
	zero  []int64
}

// value is a cell's value at an instant.
type value struct {
	present bool
	word    int64
	counts  []int64
	text    string
}

// newAssembler returns an assembler of a column of values with so many buckets, none if they are no
// histograms.
func newAssembler(buckets int, live *presence, rows int) *assembler {
	a := &assembler{live: live, rows: rows, out: changes{hist: buckets > 0},
		texts: map[string]int64{"": 0}, list: []string{""}}
	if a.out.hist {
		a.diff, a.zero = make([]int64, buckets), make([]int64, buckets)
	}
	return a
}

// row takes a row's values by instant. Rows that are never present need not come.
func (a *assembler) row(row int32, values []value) {
	last := value{counts: a.zero}
	now := false
	for t := range values {
		v := &values[t]
		if v.present != now {
			now = v.present
			a.edges.add(row, int32(t))
		}
		if !now {
			continue
		}
		if a.out.hist {
			for j := range a.diff {
				a.diff[j] = v.counts[j] - last.counts[j]
			}
			a.out.histogram(row, int32(t), v.word-last.word, a.diff, 0, len(a.diff))
			last = *v
			continue
		}
		if v.text != "" {
			n, found := a.texts[v.text]
			if !found {
				n = int64(len(a.list))
				a.texts[v.text], a.list = n, append(a.list, v.text)
			}
			v.word = n
		}
		if v.word != last.word {
			a.out.scalar(row, int32(t), v.word)
			last.word = v.word
		}
	}
}

// column returns the column; nil: zero wherever the entity is live.
func (a *assembler) column() *column {
	c := a.out.column(a.rows)
	own := a.edges.presence(a.rows)
	if c == nil {
		if own.equal(a.live) {
			return nil
		}
		c = &column{}
	}
	if len(a.list) > 1 {
		c.texts = a.list
	}
	if !own.equal(a.live) {
		c.present = own
	}
	return c
}
