package columns

// Changes collects the changes of one column in any order of rows and in ascending order of time
// within a row.
type Changes struct {
	row, At   []int32
	Words     []int64
	Hist      bool
	BucketEnd []int32
	Bucket    []uint16
	Count     []int64
}

func (c *Changes) Scalar(row, at int32, word int64) {
	c.row, c.At, c.Words = append(c.row, row), append(c.At, at), append(c.Words, word)
}

// Histogram adds a change from the differences by bucket in diff[from:to] and sets those back to
// zero. It adds nothing if there is no difference.
func (c *Changes) Histogram(row, at int32, sum int64, diff []int64, from, to int) {
	n := len(c.Bucket)
	for i := from; i < to; i++ {
		if diff[i] != 0 {
			c.Bucket, c.Count = append(c.Bucket, uint16(i)), append(c.Count, diff[i])
			diff[i] = 0
		}
	}
	if len(c.Bucket) > n || sum != 0 {
		c.Scalar(row, at, sum)
		c.BucketEnd = append(c.BucketEnd, int32(len(c.Bucket)))
	}
}

// Bytes returns what the changes take, and sorting them.
func (c *Changes) Bytes() int64 {
	return 16*int64(cap(c.row)+len(c.row)) + 4*int64(cap(c.BucketEnd)+len(c.BucketEnd)) +
		10*int64(cap(c.Bucket)+len(c.Bucket))
}

// Sorted is column for rows in a provisional order.
func (c *Changes) Sorted(order []int32) *Column {
	for i, row := range c.row {
		c.row[i] = order[row]
	}
	return c.column(len(order))
}

// column sorts what was collected by row. It returns nil if there is nothing.
func (c *Changes) column(rows int) *Column {
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
	out := &Column{Rows: make([]int32, 0, used), End: make([]int32, 0, used), At: make([]int32, n),
		Words: make([]int64, n)}
	for r := range rows {
		if starts[r+1] > 0 {
			out.Rows = append(out.Rows, int32(r))
			out.End = append(out.End, starts[r]+starts[r+1])
		}
		starts[r+1] += starts[r]
	}
	order := make([]int32, n) // index when sorted → index as collected
	for i, r := range c.row {
		order[starts[r]] = int32(i)
		starts[r]++
	}
	for to, from := range order {
		out.At[to], out.Words[to] = c.At[from], c.Words[from]
	}
	if c.Hist {
		out.BucketEnd = make([]int32, n)
		out.Bucket, out.Count = make([]uint16, 0, len(c.Bucket)), make([]int64, 0, len(c.Bucket))
		for to, from := range order {
			first := int32(0)
			if from > 0 {
				first = c.BucketEnd[from-1]
			}
			out.Bucket = append(out.Bucket, c.Bucket[first:c.BucketEnd[from]]...)
			out.Count = append(out.Count, c.Count[first:c.BucketEnd[from]]...)
			out.BucketEnd[to] = int32(len(out.Bucket))
		}
	}
	return out
}

// Grown returns a list that is at least so long, with zeros at its end.
func Grown[T any](list []T, size int) []T {
	if len(list) < size {
		list = append(list, make([]T, size-len(list))...)
	}
	return list
}
