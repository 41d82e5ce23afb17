// Package generations says which layout of closed windows serves which time. A layout is a
// generation: v1 and v2 (package samples) and v3 (package columns), side by side. Start with Set.
package generations

import (
	"context"

	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/spans"
	"github.com/ringwatch/ringwatch/window"
)

// Generation is one layout of closed windows in Cassandra. Several live side by side; the cutover
// table says which one serves which windows. Frames of windows that are not closed yet, the
// dictionaries and the nodes are in tables that all generations share.
//
// All implementations pass one contract test, the store's: the same frames in, in any order
// and repeated, give the same series out.
type Generation interface {
	// Tables returns the layouts of its own tables.
	Tables() []*rows.Table
	// Write stores a whole window; a window that is there already is replaced. stamp, microseconds
	// since the Unix epoch, is when the window's frames were read: of two writes the later reading
	// wins, in whichever order they come. The row that makes the window visible is written last.
	Write(ctx context.Context, w *window.Window, rep window.Report, stamp int64) error
	// Read calls take for spans that hold what is stored of the query's windows, in any order and
	// from several goroutines. The error is Cassandra's; what cannot be decoded is
	// spans.Span.Damage.
	Read(ctx context.Context, q spans.Query, take func(spans.Span)) error
}

// ReadAll reads what is stored of windows.
func ReadAll(ctx context.Context, g Generation, q spans.Query) (list []spans.Span, err error) {
	err = g.Read(ctx, q, spans.Collect(&list))
	return list, err
}

// none is the generation of a time whose data has been dropped.
type none struct{}

func (none) Tables() []*rows.Table { return nil }

// Write leaves out a frame that came when all else of its time had expired.
func (none) Write(context.Context, *window.Window, window.Report, int64) error { return nil }

func (none) Read(context.Context, spans.Query, func(spans.Span)) error { return nil }
