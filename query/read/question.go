package read

import (
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
)

// Question is what is asked of the newest state of many nodes: of those metrics that any of the
// selectors may select. Reader.Ask makes one, for all nodes.
type Question struct {
	account   string
	selectors [][]*labels.Matcher
	text      string // the selectors', so that readings of the same are one
	want      *frame.Wanted
}
