package spans

import (
	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
)

// Query is what is read of a node's spans.
type Query struct {
	Account   string
	Node      uuid.UUID
	From, To  int64             // first and last window, by their starts
	Matchers  []*labels.Matcher // Span.Window has at least what matches
	Facets    []blobs.Facet     // of histograms; nil: all
	HeadsOnly bool              // only Span.Head is wanted
	Keep      bool              // what is kept of spans may answer, and what is read is kept
	// Late returns windows that may have been written again since their hour was made; nil: there
	// are none. It is called once.
	Late func() (map[int64]int64, error)
}

// Name says which columns of the node are wanted: the same for who wants the same.
func (q *Query) Name() string {
	b := []byte{'/'}
	for _, f := range q.Facets {
		b = append(b, '0'+byte(f))
	}
	node := q.Node.String()
	for _, m := range q.Matchers {
		if m.Name == "node" && !frame.IsRecorder(q.Node) && m.Matches(node) {
			continue // all of the node's series have it
		}
		b = window.AppendMatcher(b, m)
	}
	return string(b)
}

// LateWindows returns what Late does.
func (q *Query) LateWindows() (map[int64]int64, error) {
	if q.Late == nil {
		return nil, nil
	}
	return q.Late()
}
