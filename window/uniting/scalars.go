package uniting

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
			r.word = r.column.Words[from-1]
		}
		if r.word != last {
			o.At, o.Words = append(o.At, first+u.shift), append(o.Words, r.word)
		}
		if r.change = from; from < r.end {
			r.change = r.copyAt(o, u, from)
			if r.change > from {
				o.Words = append(o.Words, r.column.Words[from:r.change]...)
				r.word = r.column.Words[r.change-1]
			}
		}
		last = r.word
	}
}
