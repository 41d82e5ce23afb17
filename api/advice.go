package api

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/api/advice"
	"github.com/ringwatch/ringwatch/window/events"
)

const (
	// adviceAge is for how long what is said of the alerts of a cluster holds: as long as rules
	// take to evaluate them again.
	adviceAge = 30 * time.Second
	// adviceAlerts is of how many alerts of a cluster something is said.
	adviceAlerts = 100
)

// advised keeps what was said of the alerts that fire now.
type advised struct {
	mu   sync.Mutex
	said map[advisedKey]saidOf
}

// advisedKey is who may be told the same: who asked the same and sees the same clusters.
type advisedKey struct {
	account, clusters string
	cluster           string // of the question; empty: all
}

type saidOf struct {
	until time.Time
	list  []advice.Advice
}

func (a *advised) get(key advisedKey, now time.Time) ([]advice.Advice, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	of := a.said[key]
	return of.list, now.Before(of.until)
}

func (a *advised) put(key advisedKey, now time.Time, list []advice.Advice) {
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.DeleteFunc(a.said, func(_ advisedKey, of saidOf) bool { return !now.Before(of.until) })
	if a.said == nil {
		a.said = map[advisedKey]saidOf{}
	}
	a.said[key] = saidOf{now.Add(adviceAge), list}
}

// adviceRoutes are there if Deps.Advice is.
func (s *Server) adviceRoutes() []route {
	if s.deps.Advice == nil {
		return nil
	}
	return []route{{pattern: "GET /v1/advice", scoped: s.getAdvice}}
}

// getAdvice answers /v1/advice: what the numbers beside firing alerts suggest, now or at an
// instant.
func (s *Server) getAdvice(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	q, err := parameters(r, "cluster", "alert", "at")
	if err != nil {
		return err
	}
	now := s.config.Clock()
	at := now
	if q.Has("at") {
		ms, err := parseTime("at", q.Get("at"))
		if err != nil {
			return err
		}
		at = time.UnixMilli(ms)
	}
	key := advisedKey{p.Account, p.Sight(), q.Get("cluster")}
	newest := !q.Has("alert") && !q.Has("at")
	list, known := s.advised.get(key, now)
	if !newest || !known {
		source := &adviceSource{Server: s, who: p}
		firing, err := source.firing(r.Context(), q.Get("cluster"), q.Get("alert"), at)
		if err != nil {
			return err
		}
		if len(firing) == 0 && q.Has("cluster") { // silence would say that all is well there
			if _, err := s.nodesOf(r.Context(), p, url.Values{"cluster": q["cluster"]}); err != nil {
				return err
			}
		}
		if list, err = source.advise(r.Context(), firing, at); err != nil {
			return err
		}
		// What no alert fires of may be the name of anything, so it takes no memory.
		if newest && len(firing) > 0 && !source.failed {
			s.advised.put(key, now, list)
		}
	}
	return writeJSON(w, r, struct {
		Advice []advice.Advice `json:"advice"`
	}{list})
}

// advise says what is to be said of alerts.
func (s *adviceSource) advise(ctx context.Context, alerts []map[string]string,
	at time.Time) ([]advice.Advice, error) {
	nodes, err := s.deps.Reader.Nodes(ctx, s.who, s.config.NodesTTL)
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	for i := range nodes {
		names[nodes[i].ID.String()] = nodes[i].Name()
	}
	question := advice.Question{Source: s, At: at, Name: func(id string) string {
		if name := names[id]; name != "" {
			return name
		}
		return id
	}}
	if s.deps.Events != nil {
		question.Events = advice.EventsOf(s.who.Owns, func(ctx context.Context,
			q events.Query) (events.Page, error) {
			page, err := s.deps.Events(ctx, s.who.Account, q)
			s.failed = s.failed || err != nil
			return page, err
		})
	}
	return s.deps.Advice(s.who.Account).Ask(ctx, question, alerts)
}

// adviceSource asks PromQL for an account. It implements advice.Source.
type adviceSource struct {
	*Server
	who    account.Principal
	failed bool // something could not be asked, so silence says nothing
}

// Query implements advice.Source.
func (s *adviceSource) Query(ctx context.Context, expr string, at time.Time) (list []advice.Series,
	err error) {
	_, err = s.newest(ctx, s.who, expr, at, func(labels map[string]string, v float64) {
		list = append(list, advice.Series{Labels: labels, Value: v})
	})
	s.failed = s.failed || err != nil
	return list, err
}

// firing returns the labels of alerts that fire at an instant, as rules record them, one cluster
// after the other. A rule may record any name of a cluster: of those that the key does not see
// nothing is said.
func (s *adviceSource) firing(ctx context.Context, cluster, alert string,
	at time.Time) (alerts []map[string]string, err error) {
	where := `alertstate="firing",cluster!=""`
	for name, value := range map[string]string{"cluster": cluster, "alertname": alert} {
		if value != "" {
			where += "," + name + "=" + strconv.Quote(value)
		}
	}
	list, err := s.Query(ctx, "ALERTS{"+where+"}", at)
	if err != nil {
		return nil, err
	}
	firing := map[string][]map[string]string{}
	for _, of := range list {
		delete(of.Labels, "__name__")
		delete(of.Labels, "alertstate")
		cluster := of.Labels["cluster"]
		if s.who.Owns(cluster) && len(firing[cluster]) < adviceAlerts {
			firing[cluster] = append(firing[cluster], of.Labels)
		}
	}
	for _, cluster := range slices.Sorted(maps.Keys(firing)) {
		alerts = append(alerts, firing[cluster]...)
	}
	return alerts, nil
}
