package window

import "slices"

// bareRuns returns the runs without the windows that are to be skipped, and whether the column has
// no buckets. A source without buckets counts only where no other knows the instant; if there is
// such an instant, none of the union has buckets.
func (j *joiner) bareRuns(skip []bool) (runs []run, bare bool) {
	runs = j.runs
	if skip != nil {
		runs = j.lines.runs(skip)
	}
	whole := slices.Clone(skip)
	for i := range j.readings {
		if j.readings[i].column.bare() {
			if bare = true; whole == nil {
				whole = make([]bool, len(j.readings))
			}
			whole[i] = true
		}
	}
	if !bare {
		return runs, false
	}
	if others := j.lines.runs(whole); untold(others) == untold(runs) {
		return others, false
	}
	return runs, true
}

// untold counts the instants of which nobody says anything.
func untold(runs []run) (n int32) {
	for i := range runs {
		if runs[i].window < 0 {
			n += runs[i].to - runs[i].from
		}
	}
	return n
}

// bareHistograms joins a row of histograms whose counts and sums alone are wanted.
func (j *joiner) bareHistograms(row int32, runs []run) {
	o := &j.out
	var sum, total int64
	for i := range runs {
		u := &runs[i]
		if u.window < 0 {
			continue
		}
		r := &j.readings[u.window]
		if u.opens {
			r.row(row)
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
				o.at, o.words = append(o.at, at+u.shift), append(o.words, r.word-sum)
				j.totals = append(j.totals, r.total-total)
				sum, total = r.word, r.total
			}
			if r.change == r.end || r.column.at[r.change] >= u.to {
				break
			}
			at = r.column.at[r.change]
			r.advance()
		}
	}
}

// advance applies a change to sum and count.
func (r *reading) advance() {
	r.word += r.column.words[r.change]
	r.total += r.column.total(r.change)
	r.change++
}
