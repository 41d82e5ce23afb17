package samples

import (
	"fmt"
	"hash/fnv"
	"strconv"

	"github.com/ringwatch/ringwatch/window"
)

// maxService is how long a service's name may get: Cassandra's keys end at 65,535 bytes. What is
// longer is hashed.
const maxService = 60_000

// prefixOf returns what the services of one metric begin with. No other metric's begin so: "{" is
// in no metric's name.
func prefixOf(metricKey string) string { return metricKey + "{" }

// service returns a series' name with its entity's labels in the dictionary's order; who is asked
// for (cluster, node) is the partition's.
func service(d *window.Dictionary, prefix string, row int) string {
	b := []byte(prefix)
	for i, name := range d.Labels {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, name...), '=')
		b = strconv.AppendQuote(b, d.Rows[row][i])
	}
	if b = append(b, '}'); len(b) <= maxService {
		return string(b)
	}
	h := fnv.New128a()
	h.Write(b)
	return fmt.Sprintf("%s#%x}", prefix, h.Sum(nil))
}
