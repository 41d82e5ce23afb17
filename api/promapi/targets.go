package promapi

import (
	"net/http"
	"time"

	"github.com/prometheus/common/model"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/query"
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
	seen, _, err := a.Reader.LastSeen(r.Context(), p.Account, nodes)
	if err != nil {
		return answer{}, err
	}
	now := a.Clock().UnixMilli()
	for i := range nodes {
		n := &nodes[i]
		if a.Reader.Left(p.Account, n) != nil {
			continue
		}
		of := map[string]string{"job": scrapePool, "cluster": n.Cluster, "datacenter": n.Datacenter,
			"rack": n.Rack, "node": n.ID.String()}
		url := "/v1/nodes/" + n.ID.String() + "/prometheus"
		t := target{
			Discovered: map[string]string{"__address__": n.Fact("address"),
				"__metrics_path__": url}, Labels: of,
			ScrapePool: scrapePool, ScrapeURL: url, GlobalURL: url,
			LastScrape: time.Time{}.Format(time.RFC3339), Health: "unknown",
			ScrapeInterval: model.Duration(time.Duration(n.Interval) * time.Millisecond).String(),
			ScrapeTimeout:  "0s",
		}
		if at := seen[n.ID]; at > 0 {
			t.LastScrape, t.Health = time.UnixMilli(at).UTC().Format(time.RFC3339Nano), "up"
			if a.Reader.StateAt(now, at, n.Interval) == query.StateDown {
				t.Health, t.LastError = "down", "no frame has come since then: look at "+
					"the agent there"
			}
		}
		list = append(list, t)
	}
	empty["activeTargets"] = list
	return answer{data: empty}, nil
}

// scrapePool is the job that all nodes belong to.
const scrapePool = "ringwatch"
