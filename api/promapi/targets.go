package promapi

import (
	"maps"
	"net/http"
	"slices"
	"time"

	jsoniter "github.com/json-iterator/go"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/query/metadata"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/window"
)

// target is a node as Prometheus describes what it scrapes.
type target struct {
	Discovered   map[string]string `json:"discoveredLabels"`
	Labels       map[string]string `json:"labels"`
	ScrapePool   string            `json:"scrapePool"`
	ScrapeURL    string            `json:"scrapeUrl"`
	GlobalURL    string            `json:"globalUrl"`
	LastError    string            `json:"lastError"`
	LastScrape   string            `json:"lastScrape"`
	LastDuration float64           `json:"lastScrapeDuration"`
	// up, down, or unknown if it was never heard of
	Health         string `json:"health"`
	ScrapeInterval string `json:"scrapeInterval"`
	ScrapeTimeout  string `json:"scrapeTimeout"`
}

// targets shows nodes as targets: agents push, and what Prometheus says of its last scrape is
// said of the last frame.
func (a *API) targets(r *http.Request, p account.Principal) (answer, error) {
	list := []target{}
	empty := map[string]any{"activeTargets": list, "droppedTargets": []string{},
		"droppedTargetCounts": map[string]int{}}
	switch state := r.FormValue("state"); state {
	case "", "any", "active":
	case "dropped":
		return answer{data: empty}, nil
	default:
		return answer{}, bad("invalid parameter \"state\": %q must be active, dropped or any",
			state)
	}
	if pool := r.FormValue("scrapePool"); pool != "" && pool != scrapePool {
		return answer{data: empty}, nil
	}
	nodes, err := a.Reader.Nodes(r.Context(), p, 5*time.Second)
	if err != nil {
		return answer{}, err
	}
	heard, _, err := a.Reader.LastSeen(r.Context(), p.Account, nodes)
	if err != nil {
		return answer{}, err
	}
	now := a.Clock().UnixMilli()
	for i := range nodes {
		n := &nodes[i]
		if a.Reader.Left(p.Account, n) != nil {
			continue
		}
		url := "/v1/nodes/" + n.ID.String() + "/prometheus"
		t := target{
			Discovered: map[string]string{"__address__": n.Fact("address"),
				"__metrics_path__": url}, Labels: targetLabels(n),
			ScrapePool: scrapePool, ScrapeURL: url, GlobalURL: url,
			LastScrape: time.Time{}.Format(time.RFC3339), Health: "unknown",
			ScrapeInterval: model.Duration(time.Duration(n.Interval) * time.Millisecond).String(),
			ScrapeTimeout:  "0s",
		}
		if at := heard[n.ID]; at > 0 {
			t.LastScrape, t.Health = time.UnixMilli(at).UTC().Format(time.RFC3339Nano), "up"
			if a.Reader.StateAt(now, at, n.Interval) == read.StateDown {
				t.Health, t.LastError = "down", "no frame has come since then: look at "+
					"the agent there"
			}
		}
		list = append(list, t)
	}
	empty["activeTargets"] = list
	return answer{data: empty}, nil
}

// targetLabels are those of a node as a target.
func targetLabels(n *window.Node) map[string]string {
	return map[string]string{"job": scrapePool, "cluster": n.Cluster, "datacenter": n.Datacenter,
		"rack": n.Rack, "node": n.ID.String()}
}

// targetMetadata says what is known of each target's metrics, or of one metric. It is written node
// by node, as a fleet has too much of it for one text.
func (a *API) targetMetadata(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	if err := parse(r); err != nil {
		return err
	}
	limit, err := metadataLimit(r.Form, "limit")
	if err != nil {
		return err
	}
	var match []*labels.Matcher
	if text := r.FormValue("match_target"); text != "" {
		if match, err = a.Engine.Expressions.Selectors(r.Context()).Selector(text); err != nil {
			return invalid("match_target", err)
		}
	}
	nodes, err := a.Reader.Nodes(r.Context(), p, 5*time.Second)
	if err != nil {
		return asError(r.Context(), err)
	}
	nodes = slices.DeleteFunc(slices.Clone(nodes), func(n window.Node) bool {
		if a.Reader.Left(p.Account, &n) != nil {
			return true
		}
		own := targetLabels(&n)
		return slices.ContainsFunc(match, func(m *labels.Matcher) bool {
			return !m.Matches(own[m.Name])
		})
	})
	metric, written := r.FormValue("metric"), 0
	s := jsoniter.ConfigCompatibleWithStandardLibrary.BorrowStream(w)
	defer jsoniter.ConfigCompatibleWithStandardLibrary.ReturnStream(s)
	w.Header().Set("Content-Type", "application/json")
	s.WriteRaw(`{"status":"success","data":[`)
	err = a.Engine.Lists.NodeMetadata(r.Context(), p, nodes, metric,
		func(i int, known map[string]metadata.Metadata) bool {
			if limit >= 0 && written >= limit || s.Error != nil {
				return false
			}
			one := metricMetadata{Target: targetLabels(&nodes[i])}
			for _, name := range slices.Sorted(maps.Keys(known)) {
				if metric == "" { // Prometheus does not repeat the one that is asked for
					one.Metric = name
				}
				if one.Metadata = known[name]; written > 0 {
					s.WriteMore()
				}
				s.WriteVal(one)
				written++
			}
			if s.Buffered() > flushAt {
				_ = s.Flush()
			}
			return true
		})
	if err != nil && written == 0 {
		return asError(r.Context(), err)
	}
	if err != nil { // half of an answer must not look like a whole one
		panic(http.ErrAbortHandler)
	}
	s.WriteRaw("]}\n")
	_ = s.Flush() // a client that went away misses nothing
	return nil
}

// metricMetadata is what is known of one target's metric.
type metricMetadata struct {
	Target map[string]string `json:"target"`
	Metric string            `json:"metric,omitempty"`
	metadata.Metadata
}

// scrapePool is the job that all nodes belong to.
const scrapePool = "ringwatch"
