package columns

// assembler makes one column from the values of its rows at the window's instants.
type assembler struct {
	live  *Presence // the type's
	rows  int
	edges Comings
	out   Changes
	texts map[string]int64
	list  []string
	diff  []int64 // scratch by bucket
	zero  []int64
}

// Value is a cell's value at an instant.
type Value struct {
	Present bool
	Word    int64
	Counts  []int64
	Text    string
}

// NewAssembler returns an assembler of a column of values with so many buckets, none if they are no
// histograms.
func NewAssembler(buckets int, live *Presence, rows int) *assembler {
	a := &assembler{live: live, rows: rows, out: Changes{Hist: buckets > 0},
		texts: map[string]int64{"": 0}, list: []string{""}}
	if a.out.Hist {
		a.diff, a.zero = make([]int64, buckets), make([]int64, buckets)
	}
	return a
}

// Row takes a row's values by instant. Rows that are never present need not come.
func (a *assembler) Row(row int32, values []Value) {
	last := Value{Counts: a.zero}
	now := false
	for t := range values {
		v := &values[t]
		if v.Present != now {
			now = v.Present
			a.edges.Add(row, int32(t))
		}
		if !now {
			continue
		}
		if a.out.Hist {
			for j := range a.diff {
				a.diff[j] = v.Counts[j] - last.Counts[j]
			}
			a.out.Histogram(row, int32(t), v.Word-last.Word, a.diff, 0, len(a.diff))
			last = *v
			continue
		}
		if v.Text != "" {
			n, found := a.texts[v.Text]
			if !found {
				n = int64(len(a.list))
				a.texts[v.Text], a.list = n, append(a.list, v.Text)
			}
			v.Word = n
		}
		if v.Word != last.Word {
			a.out.Scalar(row, int32(t), v.Word)
			last.Word = v.Word
		}
	}
}

// Column returns the column; nil: zero wherever the entity is live.
func (a *assembler) Column() *Column {
	c := a.out.column(a.rows)
	own := a.edges.Presence(a.rows)
	if c == nil {
		if own.Equal(a.live) {
			return nil
		}
		c = &Column{}
	}
	if len(a.list) > 1 {
		c.Texts = a.list
	}
	if !own.Equal(a.live) {
		c.Present = own
	}
	return c
}
