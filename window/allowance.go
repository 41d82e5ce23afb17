package window

// Allowance is asked before memory is taken, and told what is free again; see frame.Allowance. A
// *memory.Lease is one. Its errors wrap what it says of itself.
type Allowance interface {
	Take(bytes int64) error
	Give(bytes int64)
}
