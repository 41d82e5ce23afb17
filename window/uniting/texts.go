package uniting

// beginTexts prepares for a column of texts.
func (j *joiner) beginTexts() {
	j.texts, j.number = []string{""}, map[string]int64{"": 0}
	for i := range j.cursors {
		if r := &j.cursors[i]; r.has && r.column != nil {
			r.texts = make([]int64, len(r.column.Texts))
			for n := range r.texts {
				r.texts[n] = -1
			}
		}
	}
}

// text returns the union's number of a source's text. Numbers are given in the order of the changes
// that say the texts, so that they follow from what the column says.
func (j *joiner) text(r *sourceCursor, word int64) int64 {
	n := r.texts[word]
	if n < 0 {
		s := r.column.Texts[word]
		known := false
		if n, known = j.number[s]; !known {
			n = int64(len(j.texts))
			j.number[s], j.texts = n, append(j.texts, s)
		}
		r.texts[word] = n
	}
	return n
}

// textsOf joins a row of texts.
func (j *joiner) textsOf(row int32, runs []run) {
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
		at := r.first(u.from, u.to)
		if at == u.to {
			continue
		}
		next := r.until(r.change, at)
		if next > r.change {
			r.word = j.text(r, r.column.Words[next-1])
		}
		for {
			if r.word != last {
				o.At, o.Words = append(o.At, at+u.shift), append(o.Words, r.word)
				last = r.word
			}
			if next == r.end || r.column.At[next] >= u.to {
				break
			}
			at, r.word = r.column.At[next], j.text(r, r.column.Words[next])
			next++
		}
		r.change = next
	}
}
