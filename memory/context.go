package memory

import "context"

type leaseKey struct{}

// With returns a context whose work takes its memory from a lease.
func With(ctx context.Context, l *Lease) context.Context {
	return context.WithValue(ctx, leaseKey{}, l)
}

// Of returns the lease of With. Outside of With it is Unbounded.
func Of(ctx context.Context) *Lease {
	if l, _ := ctx.Value(leaseKey{}).(*Lease); l != nil {
		return l
	}
	return Unbounded()
}
