package rollup

import "slices"

// partReader reads the parts of one metric of a run.
type partReader struct {
	o *opener
	t *openType
	runReader
	columns []column // by period
}

// rowsOf returns the first row of a piece and the one after its last.
func (p *partReader) rowsOf(firsts []int32, piece int) (from, to int) {
	to = len(p.t.dictionary.Rows)
	if piece > 0 {
		from = int(firsts[piece-1])
	}
	if piece < len(firsts) {
		to = int(firsts[piece])
	}
	return from, to
}

// missing says that the rows of some pieces have no values.
func (p *partReader) missing(firsts []int32, piece, end int) {
	for ; piece < end && p.o.err == nil; piece++ {
		from, to := p.rowsOf(firsts, piece)
		p.none(from, to)
	}
}

// none says that some rows have no values.
func (p *partReader) none(from, to int) {
	for slot, period := range p.o.period {
		if period < 0 {
			continue
		}
		live := slices.ContainsFunc(p.t.live[slot][from:to], func(n uint32) bool { return n > 0 })
		if p.columns[period].counts == nil && !live {
			continue
		}
		clear(p.own(slot)[from:to])
	}
}

// own returns a period's counts to be changed.
func (p *partReader) own(slot int) []uint32 {
	c := &p.columns[p.o.period[slot]]
	if c.counts == nil {
		c.counts = p.o.none(len(p.t.dictionary.Rows))
		copy(c.counts, p.t.live[slot])
	}
	return c.counts
}

// part reads one piece, whose rows begin at from and end before to.
func (p *partReader) part(blob []byte, from, to int) error {
	p.reader = read(blob)
	n := p.Count("entries", to-from)
	if p.Err != nil {
		return p.Err
	}
	if p.grow(n); p.o.err != nil {
		return p.o.err
	}
	for row := from; n > 0 && p.Err == nil && p.o.err == nil; n-- {
		v := p.Uvarint()
		if v>>entryBits >= uint64(to-row) {
			p.Fail("a row after the last")
			break
		}
		row += int(v >> entryBits)
		switch v & (1<<entryBits - 1) {
		case entryNone:
			more := p.Number("rows without values", to-row)
			if p.Err == nil {
				p.none(row, row+more+1)
				row += more
			}
		case entryStill:
			p.asLive(row)
			first := slices.IndexFunc(p.o.counts, func(n uint32) bool { return n > 0 })
			if first < 0 {
				p.Fail("a value of a row without one")
				break
			}
			clear(p.o.classes)
			p.o.classes[first] = runStill
			p.row(row)
		case entryMoving:
			p.asLive(row)
			p.readClasses()
			p.row(row)
		case entryCounted:
			p.asLive(row)
			p.readCounts(row)
			p.readClasses()
			p.row(row)
		}
		row++
	}
	return p.Done()
}

// grow makes room for the cells of so many rows more.
func (p *partReader) grow(rows int) {
	if len(p.columns) == 0 {
		return
	}
	had := len(p.columns[0].rows)
	if p.o.take((4 + 8*len(p.columns)) * (had + rows)); p.o.err != nil {
		return
	}
	numbers := make([]int32, had, had+rows)
	copy(numbers, p.columns[0].rows)
	cells := make([]*cell, len(p.columns)*(had+rows))
	for i := range p.columns {
		of := cells[i*(had+rows) : i*(had+rows)+had : (i+1)*(had+rows)]
		copy(of, p.columns[i].cells)
		p.columns[i].rows, p.columns[i].cells = numbers, of
	}
}

// asLive sets a row's counts to those of its entity.
func (p *partReader) asLive(row int) {
	for slot, live := range p.t.live {
		p.o.counts[slot] = live[row]
	}
}

// readCounts reads a row's counts.
func (p *partReader) readCounts(row int) {
	for slot, n := range p.o.counts {
		count := uint32(p.count(int64(n), p.o.period[slot]))
		if count != n && p.Err == nil {
			p.own(slot)[row] = count
			p.o.counts[slot] = count
		}
	}
}

func (p *partReader) readClasses() {
	packed := p.Take((p.o.slots*runClassBits + 7) / 8)
	for slot := range p.o.classes {
		p.o.classes[slot] = 0
		if len(packed) > 0 {
			p.o.classes[slot] = packed[slot*runClassBits/8] >> (slot * runClassBits % 8) &
				(1<<runClassBits - 1)
		}
	}
}

// row reads the cells of a row.
func (p *partReader) row(row int) {
	before, still, were := &zeroCell, true, uint32(0)
	for slot, n := range p.o.counts {
		period := p.o.period[slot]
		switch {
		case n > 0:
			class := p.o.classes[slot]
			before = p.cell(class, n, were, before, still)
			still, were = class <= runStill, n
		case p.o.classes[slot] != runSame:
			p.Fail("a cell without a value")
		}
		if period >= 0 {
			c := &p.columns[period]
			c.cells = append(c.cells, orZero(before, n))
		}
	}
	if len(p.columns) > 0 {
		rows := append(p.columns[0].rows, int32(row))
		for i := range p.columns {
			p.columns[i].rows = rows
		}
	}
}

// orZero is a row's cell in a period in which it has so many values.
func orZero(c *cell, n uint32) *cell {
	if n == 0 {
		return &zeroCell
	}
	return c
}
