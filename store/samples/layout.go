package samples

import (
	"context"

	"github.com/ringwatch/ringwatch/store/spans"
	"github.com/ringwatch/ringwatch/window"
)

// rowLayout is where v1 and v2 differ.
type rowLayout interface {
	// batches returns how many batches of a window are written at once, and how many bytes at most
	// one has.
	batches() (inFlight, bytes int)
	// joins reports whether rows of two services may be in one batch.
	joins() bool
	// read calls take for the rows of a window. services are those that are wanted, names the
	// prefixes of them all.
	read(ctx context.Context, g Generation, q spans.Query, start int64,
		services map[string]*window.Series, names []string,
		take func(service string, r *sampleRow)) error
}
