package store

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/cutovers"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
)

// Generation is one layout of closed windows in Cassandra. Several live side by side; the cutover
// table says which one serves which windows. Frames of windows that are not closed yet, the
// dictionaries and the nodes are in tables that all generations share.
//
// All implementations pass one contract test (contract_test.go): the same frames in, in any order
// and repeated, give the same series out.
type Generation interface {
	// Tables returns the layouts of its own tables.
	Tables(c *Config) []*rows.Table
	// Write stores a whole window; a window that is there already is replaced. stamp, microseconds
	// since the Unix epoch, is when the window's frames were read: of two writes the later reading
	// wins, in whichever order they come. The row that makes the window visible is written last.
	Write(ctx context.Context, w *window.Window, rep window.Report, stamp int64) error
	// Read calls take for spans that hold what is stored of the query's windows, in any order and
	// from several goroutines. The error is Cassandra's; what cannot be decoded is
	// StoredSpan.Damage.
	Read(ctx context.Context, q Query, take func(StoredSpan)) error
}

// Query is what a Generation reads.
type Query struct {
	Account   string
	Node      uuid.UUID
	From, To  int64             // first and last window, by their starts
	Matchers  []*labels.Matcher // StoredSpan.Window has at least what matches
	Facets    []blobs.Facet     // of histograms; nil: all
	HeadsOnly bool              // only StoredSpan.Head is wanted
	Keep      bool              // what is kept of spans may answer, and what is read is kept
	// Late returns windows that may have been written again since their hour was made; nil: there
	// are none. It is called once.
	Late func() (map[int64]int64, error)
}

// name says which columns of the node are wanted: the same for who wants the same.
func (q *Query) name() string {
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

func (q *Query) late() (map[int64]int64, error) {
	if q.Late == nil {
		return nil, nil
	}
	return q.Late()
}

// StoredSpan is a window or an hour as it is stored. Spans of one answer may know the same
// instants; they say the same of them.
type StoredSpan struct {
	Start, Length int64
	Stamp         int64          // when it was read what it was made of, µs; 0: nobody knows
	Stamps        []int64        // of an hour: the same of each window in it
	Head          *blobs.Head    // nil: it cannot be decoded
	Window        *window.Window // nil: as Head, or the query was HeadsOnly
	Damage        []error        // what could not be decoded or was not there
	Kept          bool           // nothing was read for it: this process had it
}

// stampOf returns when the frames were read that the span has of a window; 0: it has none.
func (k *StoredSpan) stampOf(start int64) int64 {
	if k.Length == calendar.WindowMillis {
		return k.Stamp
	}
	if i := int((start - k.Start) / calendar.WindowMillis); i >= 0 && i < len(k.Stamps) {
		return k.Stamps[i]
	}
	return 0
}

// windows calls visit for each window that the span has instants of.
func (k *StoredSpan) windows(visit func(start int64)) {
	for times := k.Head.Times; len(times) > 0; {
		start := calendar.Floor(times[0], calendar.WindowMillis)
		visit(start)
		n, _ := slices.BinarySearch(times, start+calendar.WindowMillis)
		times = times[n:]
	}
}

// collect returns a take for Read, which may call it from several goroutines.
func collect(list *[]StoredSpan) func(StoredSpan) {
	var mu sync.Mutex
	return func(k StoredSpan) {
		mu.Lock()
		defer mu.Unlock()
		*list = append(*list, k)
	}
}

// DefaultGeneration is what a new keyspace begins with.
const DefaultGeneration = "v3"

// Generations are the names of all generations, oldest first.
func Generations() []string { return []string{"v1", "v2", "v3"} }

// generation returns the generation of a name in the cutover table.
func (s task) generation(name string) (Generation, error) {
	switch name {
	case "v1":
		return newV1(s), nil
	case "v2":
		return newV2(s), nil
	case "v3":
		return v3{s}, nil
	case cutovers.NoGeneration:
		return none{}, nil
	}
	return nil, fmt.Errorf("%w: %q; update this program", ErrGeneration, name)
}

// Read reads what is stored of windows.
func readAll(ctx context.Context, g Generation, q Query) (list []StoredSpan, err error) {
	err = g.Read(ctx, q, collect(&list))
	return list, err
}

// none is the generation of a time whose data has been dropped.
type none struct{}

func (none) Tables(*Config) []*rows.Table { return nil }

// Write leaves out a frame that came when all else of its time had expired.
func (none) Write(context.Context, *window.Window, window.Report, int64) error { return nil }

func (none) Read(context.Context, Query, func(StoredSpan)) error { return nil }

func knownGeneration(name string) bool { return slices.Contains(Generations(), name) }
