package series

// What a series of an answer takes, in bytes, beside its values.
const (
	SeriesCost    = 400
	SampleCost    = 16
	FilledCost    = 10
	HistogramCost = 72
)
