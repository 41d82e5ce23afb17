package series

// Segment is what one source says of a series.
type Segment struct {
	Samples
	// Ends are the instants, ascending, at which the series was found to be there no more: PromQL's
	// stale markers. None is an instant of a sample.
	Ends     []int64
	Increase *IncreaseStart // of what rollups show to rate and increase
}

// IncreaseStart is how what rollups show to rate and increase begins: a number, or a histogram's
// counts and sum.
type IncreaseStart struct {
	Value   float64
	Counts  []float64
	Spacing int64 // of its samples, ms
}
