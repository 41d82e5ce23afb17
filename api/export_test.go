package api

// What tests measure.
var (
	JSONBytes    = jsonBytes
	AppendString = appendString
)
