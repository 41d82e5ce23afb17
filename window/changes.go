package window

// changes collects the changes of one column in any order of rows and in ascending order of time
// within a row.
type changes struct {
	row, at   []int32
	words     []int64
	hist      bool
	bucketEnd []int32
	bucket    []uint16
	count     []int64
}

func (c *changes) scalar(row, at int32, word int64) {
	c.row, c.at, c.words = append(c.row, row), append(c.at, at), append(c.words, word)
}

// histogram adds a change from the differences by bucket in diff[from:to] and sets those back to
// zero. It adds nothing if there is no difference.
func (c *changes) histogram(row, at int32, sum int64, diff []int64, from, to int) {
	n := len(c.bucket)
	for i := from; i < to; i++ {
		if diff[i] != 0 {
			c.bucket, c.count = append(c.bucket, uint16(i)), append(c.count, diff[i])
			diff[i] = 0
		}
	}
	if len(c.bucket) > n || sum != 0 {
		c.scalar(row, at, sum)
		c.bucketEnd = append(c.bucketEnd, int32(len(c.bucket)))
	}
}

// bytes returns what the changes take, and sorting them.
func (c *changes) bytes() int64 {
	return 16*int64(cap(c.row)+len(c.row)) + 4*int64(cap(c.bucketEnd)+len(c.bucketEnd)) +
		10*int64(cap(c.bucket)+len(c.bucket))
}

// sorted is column for rows in a provisional order.
func (c *changes) sorted(order []int32) *column {
	for i, row := range c.row {
		c.row[i] = order[row]
	}
	return c.column(len(order))
}

// column sorts what was collected by row. It returns nil if there is nothing.
func (c *changes) column(rows int) *column {
	n := len(c.row)
	if n == 0 {
		return nil
	}
	starts := make([]int32, rows+1)
	used := 0
	for _, r := range c.row {
		if starts[r+1]++; starts[r+1] == 1 {
			used++
		}
	}
	out := &column{rows: make([]int32, 0, used), end: make([]int32, 0, used), at: make([]int32, n),
		words: make([]int64, n)}
	for r := range rows {
		if starts[r+1] > 0 {
			out.rows = append(out.rows, int32(r))
			out.end = append(out.end, starts[r]+starts[r+1])
		}
		starts[r+1] += starts[r]
	}
	order := make([]int32, n) // index when sorted → index as collected
	for i, r := range c.row {
		order[starts[r]] = int32(i)
		starts[r]++
	}
	for to, from := range order {
		out.at[to], out.words[to] = c.at[from], c.words[from]
	}
	if c.hist {
		out.bucketEnd = make([]int32, n)
		out.bucket, out.count = make([]uint16, 0, len(c.bucket)), make([]int64, 0, len(c.bucket))
		for to, from := range order {
			first := int32(0)
			if from > 0 {
				first = c.bucketEnd[from-1]
			}
			out.bucket = append(out.bucket, c.bucket[first:c.bucketEnd[from]]...)
			out.count = append(out.count, c.count[first:c.bucketEnd[from]]...)
			out.bucketEnd[to] = int32(len(out.bucket))
		}
	}
	return out
}

// edges collects comings and goings, in ascending order of time within a row.
type edges struct{ row, at []int32 }

func (e *edges) add(row, at int32) { e.row, e.at = append(e.row, row), append(e.at, at) }

// sorted is presence for rows in a provisional order.
func (e *edges) sorted(order []int32) *presence {
	for i, row := range e.row {
		e.row[i] = order[row]
	}
	return e.presence(len(order))
}

// presence sorts what was collected by row. It returns nil if all rows are there at all instants.
func (e *edges) presence(rows int) *presence {
	starts := make([]int32, rows+1)
	for _, r := range e.row {
		starts[r+1]++
	}
	for r := range rows {
		starts[r+1] += starts[r]
	}
	sorted := make([]int32, len(e.at))
	next := append([]int32(nil), starts...)
	for i, r := range e.row {
		sorted[next[r]] = e.at[i]
		next[r]++
	}
	p := &presence{}
	for r := range rows {
		own := sorted[starts[r]:starts[r+1]]
		if len(own) == 1 && own[0] == 0 {
			continue
		}
		p.rows = append(p.rows, int32(r))
		p.edges = append(p.edges, own...)
		p.end = append(p.end, int32(len(p.edges)))
	}
	if len(p.rows) == 0 {
		return nil
	}
	return p
}
