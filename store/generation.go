package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/window"
)

// Generation is one layout of closed windows in Cassandra. Several live side by side; the cutover table says which one serves which windows. Frames of
// windows that are not closed yet, the dictionaries and the nodes are in tables that all generations share.
//
// All implementations pass one contract test (contract_test.go): the same frames in, in any order and repeated, give the same series out.
type Generation interface {
	// Tables returns the layouts of its own tables.
	Tables(c *Config) []tableLayout
	// Write stores a whole window; a window that is there already is replaced. stamp, microseconds since the Unix epoch, is when the window's frames were
	// read: of two writes the later reading wins, in whichever order they come. The row that makes the window visible is written last.
	Write(ctx context.Context, w *window.Window, rep window.Report, stamp int64) error
	// Read calls take for each window of the query that is stored, in any order and from several goroutines. The error is Cassandra's; what cannot be decoded
	// is Kept.Damage.
	Read(ctx context.Context, q Query, take func(Kept)) error
}

// Query is what a Generation reads.
type Query struct {
	Account  string
	Node     uuid.UUID
	From, To int64             // first and last window, by their starts
	Matchers []*labels.Matcher // Kept.Window has at least what matches
	Bare     bool              // only Kept.Meta is wanted
}

// Kept is a stored window.
type Kept struct {
	Start  int64
	Stamp  int64          // when the frames were read that it was made of, µs; 0: nobody knows
	Meta   *window.Meta   // nil: it cannot be decoded
	Window *window.Window // nil: as Meta, or the query was Bare
	Damage []error        // what could not be decoded or was not there
}

// DefaultGeneration is what a new keyspace begins with.
const DefaultGeneration = "v3"

// Generations are the names of all generations, oldest first.
func Generations() []string { return []string{"v1", "v2", "v3"} }

// noGeneration stands in the cutover table for one that was dropped: nothing is stored there.
const noGeneration = "none"

// generation returns the generation of a name in the cutover table.
func (s *Store) generation(name string) (Generation, error) {
	switch name {
	case "v1":
		return newV1(s), nil
	case "v2":
		return newV2(s), nil
	case "v3":
		return v3{s}, nil
	case noGeneration:
		return none{}, nil
	}
	return nil, fmt.Errorf("%w: %q; update this program", ErrGeneration, name)
}

// readOne reads one window. If it is not stored, all but Start is empty.
func readOne(ctx context.Context, g Generation, q Query, bare bool) (Kept, error) {
	k := Kept{Start: q.From}
	q.Bare = bare
	err := g.Read(ctx, q, func(found Kept) { k = found })
	return k, err
}

// none is the generation of a time whose data has been dropped.
type none struct{}

func (none) Tables(*Config) []tableLayout { return nil }

// Write leaves out a frame that came when all else of its time had expired.
func (none) Write(context.Context, *window.Window, window.Report, int64) error { return nil }

func (none) Read(context.Context, Query, func(Kept)) error { return nil }

func knownGeneration(name string) bool { return slices.Contains(Generations(), name) }
