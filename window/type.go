package window

import "github.com/ringwatch/ringwatch/window/columns"

// Type is all that a window holds of one entity type.
type Type struct {
	*Dictionary
	Live    *columns.Presence // when each entity was there
	Columns []*columns.Column // by number of metric; nil is a column whose every live cell is zero
}

// PresenceOf returns the column's presence, which is the type's if it has none of its own.
func (t *Type) PresenceOf(c *columns.Column) *columns.Presence {
	if c == nil || c.Present == nil {
		return t.Live
	}
	return c.Present
}
