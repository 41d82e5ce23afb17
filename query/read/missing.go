package read

import (
	"slices"
	"time"
)

// NoCluster asks InFlight for all clusters of an account: who asks for a node that nobody knows
// does not know its cluster either.
const NoCluster = ""

// formatMillis is an instant as the API writes it: RFC 3339 with milliseconds, in UTC.
func formatMillis(at int64) string {
	return time.UnixMilli(at).UTC().Format("2006-01-02T15:04:05.000Z")
}

// AppendMissing appends what is missing without duplicates: two readings may miss the same.
func AppendMissing(list, more []string) []string {
	for _, text := range more {
		if !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return list
}

// NotWhole is how warnings begin that say what an answer lacks.
const NotWhole = "the answer is not whole: "
