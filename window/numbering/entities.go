package numbering

import (
	"iter"

	"github.com/ringwatch/ringwatch/frame"
)

// Entities is which entities of a template are live in a pass, and how their numbers translate.
// Passes whose entities do not differ share one.
type Entities struct {
	dictionary  *Dictionary
	KeyEntities int     // entity numbers below it are the key frame's
	Rows        []int32 // entity number → row of the dictionary, −1: removed
	Live        []int32 // numbers of the live entities, ascending
	// row of the dictionary → entity number, −1: not there; of the rows that were known then
	byRow []int32
}

// entityBytes is what an entity takes in an Entities, and in what compares that.
const entityBytes = 16

// Entity returns the number of the entity that is live in a row, −1 for none.
func (r *Entities) Entity(row int32) int32 {
	if r == nil || int(row) >= len(r.byRow) {
		return -1
	}
	return r.byRow[row]
}

// KeyEntity returns the entity of a row if the key frame has it, else −1: it starts from zero.
func (r *Entities) KeyEntity(row int32) int32 {
	if e := r.Entity(row); int(e) < r.KeyEntities {
		return e
	}
	return -1
}

// Selected are the entities that a column speaks of, each with its entry in the column.
func (r *Entities) Selected(c *frame.Column) iter.Seq2[int, int32] {
	return func(yield func(entry int, entity int32) bool) {
		if c.All {
			for i, e := range r.Live {
				if !yield(i, e) {
					return
				}
			}
			return
		}
		for i, e := range c.Entities {
			if !yield(i, int32(e)) {
				return
			}
		}
	}
}
