package uniting

import "slices"

// runsOf returns the runs without the windows that are to be skipped, and whether the column has
// no buckets. A source without buckets counts only where no other source knows the instant. If
// there is such an instant, the union's column has no buckets at all.
func (j *joiner) runsOf(skip []bool) (runs []run, noBuckets bool) {
	runs = j.runs
	if skip != nil {
		runs = j.timeline.runs(skip)
	}
	whole := slices.Clone(skip)
	for i := range j.cursors {
		if j.cursors[i].column.LacksBuckets() {
			if noBuckets = true; whole == nil {
				whole = make([]bool, len(j.cursors))
			}
			whole[i] = true
		}
	}
	if !noBuckets {
		return runs, false
	}
	if others := j.timeline.runs(whole); uncovered(others) == uncovered(runs) {
		return others, false
	}
	return runs, true
}

// uncovered counts the instants of which nobody says anything.
func uncovered(runs []run) (n int32) {
	for i := range runs {
		if runs[i].window < 0 {
			n += runs[i].to - runs[i].from
		}
	}
	return n
}

// countsOnly joins a row of histograms whose counts and sums alone are wanted.
func (j *joiner) countsOnly(row int32, runs []run) {
	o := &j.out
	var sum, total int64
	for i := range runs {
		u := &runs[i]
		if u.window < 0 {
			continue
		}
		r := &j.cursors[u.window]
		if u.opens {
			r.seekChanges(row)
		}
		if !r.there || r.change == r.end && r.word == sum && r.total == total {
			continue
		}
		at := r.first(u.from, u.to)
		if at == u.to {
			continue
		}
		for next := r.until(r.change, at); r.change < next; {
			r.advance()
		}
		for {
			if r.word != sum || r.total != total {
				o.At, o.Words = append(o.At, at+u.shift), append(o.Words, r.word-sum)
				j.totals = append(j.totals, r.total-total)
				sum, total = r.word, r.total
			}
			if r.change == r.end || r.column.At[r.change] >= u.to {
				break
			}
			at = r.column.At[r.change]
			r.advance()
		}
	}
}
