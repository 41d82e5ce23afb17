package following

import "github.com/ringwatch/ringwatch/window/numbering"

// keyFrame is a key frame with the values of its wanted cells.
type keyFrame struct {
	pass *numbering.Pass
	id   numbering.KeyID

	// by metric of the dictionary: entities without a value
	absent map[*numbering.Metrics]map[int]map[int32]bool
	base   map[*numbering.Metrics]map[int]*keyColumn // by metric of the dictionary
}
