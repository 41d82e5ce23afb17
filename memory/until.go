package memory

import "context"

// Passing is a lease that gives nothing any more once a context has ended. What takes its memory
// piece by piece, as decoding does, so ends soon after who asked for it has gone.
type Passing struct {
	*Lease
	ctx context.Context
}

// Until returns the lease for as long as the context lasts.
func Until(ctx context.Context, l *Lease) Passing { return Passing{l, ctx} }

// Take is Lease.Take. Its error is the context's if that has ended.
func (p Passing) Take(bytes int64) error {
	if err := p.ctx.Err(); err != nil {
		return err
	}
	return p.Lease.Take(bytes)
}
