package promapi

import (
	"net/http"
	"strconv"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/query/index"
)

// stat is how often something is there, as Prometheus says it.
type stat struct {
	Name  string `json:"name"`
	Value uint64 `json:"value"`
}

// tsdbStatus is what Prometheus says of its head. Ours is the index of today's series.
type tsdbStatus struct {
	Head struct {
		Series  uint64 `json:"numSeries"`
		Pairs   uint64 `json:"numLabelPairs"`
		Chunks  int64  `json:"chunkCount"` // none: values are not in memory
		MinTime int64  `json:"minTime"`    // the begin of the day, in ms
		MaxTime int64  `json:"maxTime"`    // now
	} `json:"headStats"`
	Metrics []stat `json:"seriesCountByMetricName"`
	Values  []stat `json:"labelValueCountByLabelName"`
	// Bytes is the length of a label's different values: the index has each of them once.
	Bytes  []stat `json:"memoryInBytesByLabelName"`
	ByPair []stat `json:"seriesCountByLabelValuePair"`
}

// What limit= may be, and is without one.
const (
	defaultStats = 10
	maxStats     = 10_000
)

// tsdb says what the account's series of today are made of. It multiplies and does not enumerate: a
// list of metrics and a set of entities are looked at once, with the number of nodes that have
// them.
func (a *API) tsdb(r *http.Request, p account.Principal) (answer, error) {
	limit := defaultStats
	if text := r.FormValue("limit"); text != "" {
		var err error
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 {
			return answer{}, bad("limit must be a positive number")
		}
		if limit > maxStats {
			return answer{}, bad("limit must not exceed %d", maxStats)
		}
	}
	c, warnings, err := a.Engine.Lists.Cardinality(r.Context(), p, limit)
	if err != nil {
		return answer{}, err
	}
	var s tsdbStatus
	s.Head.Series, s.Head.Pairs = c.Series, c.Pairs
	s.Head.MinTime, s.Head.MaxTime = c.From, a.Clock().UnixMilli()
	s.Metrics, s.Values, s.Bytes, s.ByPair = asStats(c.Metrics), asStats(c.Values),
		asStats(c.TextBytes), asStats(c.ByPair)
	return answer{data: s, warnings: warnings}, nil
}

func asStats(list []index.Count) []stat {
	stats := make([]stat, len(list))
	for i, c := range list {
		stats[i] = stat{c.Name, c.N}
	}
	return stats
}

// blocks lists no files: Cassandra has the samples.
func (a *API) blocks(*http.Request, account.Principal) (answer, error) {
	return answer{data: map[string]any{"blocks": []string{}}}, nil
}

// walReplay is that of a Prometheus without a log to read at its start.
func (a *API) walReplay(*http.Request, account.Principal) (answer, error) {
	return answer{data: map[string]int{"min": 0, "max": 0, "current": 0}}, nil
}
