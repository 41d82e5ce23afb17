package api

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/api/advice"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/window/events"
)

const (
	// adviceAge is for how long what is said of the alerts of a cluster holds: as long as rules
	// take to evaluate them again.
	adviceAge = 30 * time.Second
	// adviceAlerts is of how many alerts of a cluster something is said.
	adviceAlerts = 100
	// adviceSeriesBytes is what a series of an answer takes in memory: its labels are some eight.
	adviceSeriesBytes = 600
)

// advised keeps what was said of the alerts that fire now, by account and cluster. Every query is
// of one cluster alone, so what one key of the account is told another that sees it may be.
type advised struct {
	mu   sync.Mutex
	said map[[2]string]saidOf
}

type saidOf struct {
	until time.Time
	list  []advice.Advice
}

func (a *advised) get(key [2]string, now time.Time) ([]advice.Advice, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	of := a.said[key]
	return of.list, now.Before(of.until)
}

func (a *advised) put(key [2]string, now time.Time, list []advice.Advice) {
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.DeleteFunc(a.said, func(_ [2]string, of saidOf) bool { return !now.Before(of.until) })
	if a.said == nil {
		a.said = map[[2]string]saidOf{}
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
	answer := struct {
		Advice []advice.Advice `json:"advice"`
	}{[]advice.Advice{}}
	source := adviceSource{s, p}
	firing, err := source.firing(r.Context(), q.Get("cluster"), q.Get("alert"), at)
	if err != nil {
		return err
	}
	for _, cluster := range slices.Sorted(maps.Keys(firing)) {
		key := [2]string{p.Account, cluster}
		list, known := s.advised.get(key, now)
		if known = known && len(q["alert"])+len(q["at"]) == 0; !known {
			list, err = s.advise(r.Context(), p, firing[cluster], at)
			if err != nil {
				return err
			}
			if len(q["alert"])+len(q["at"]) == 0 {
				s.advised.put(key, now, list)
			}
		}
		answer.Advice = append(answer.Advice, list...)
	}
	return writeJSON(w, r, answer)
}

// advise says what is to be said of alerts of a cluster.
func (s *Server) advise(ctx context.Context, p account.Principal, alerts []map[string]string,
	at time.Time) ([]advice.Advice, error) {
	nodes, err := s.deps.Reader.Nodes(ctx, p, s.config.NodesTTL)
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	for i := range nodes {
		names[nodes[i].ID.String()] = nodes[i].Name()
	}
	question := advice.Question{Source: adviceSource{s, p}, At: at, Name: func(id string) string {
		if name := names[id]; name != "" {
			return name
		}
		return id
	}}
	if s.deps.Events != nil {
		question.Events = advice.EventsOf(func(ctx context.Context,
			q events.Query) (events.Page, error) {
			return s.deps.Events(ctx, p.Account, q)
		})
	}
	return s.deps.Advice(p.Account).Ask(ctx, question, alerts)
}

// adviceSource asks PromQL for an account. It implements advice.Source.
type adviceSource struct {
	*Server
	who account.Principal
}

// Query implements advice.Source.
func (s adviceSource) Query(ctx context.Context, expr string, at time.Time) (list []advice.Series,
	err error) {
	answer, err := s.deps.Engine.Instant(ctx, s.who, expr, at, query.Options{Fresh: true})
	if err != nil {
		return nil, err
	}
	defer answer.Close()
	v, err := answer.Vector()
	if err != nil {
		return nil, err
	}
	if err := memory.Of(ctx).Take(adviceSeriesBytes * int64(len(v))); err != nil {
		return nil, err
	}
	for i := range v {
		if v[i].H == nil {
			list = append(list, advice.Series{Labels: v[i].Metric.Map(), Value: v[i].F})
		}
	}
	return list, nil
}

// firing returns the labels of alerts that fire at an instant, by cluster, as rules record them.
func (s adviceSource) firing(ctx context.Context, cluster, alert string,
	at time.Time) (map[string][]map[string]string, error) {
	where := `alertstate="firing",cluster!=""`
	for name, value := range map[string]string{"cluster": cluster, "alertname": alert} {
		if value != "" {
			where += "," + name + "=" + strconv.Quote(value)
		}
	}
	list, err := s.Query(ctx, "ALERTS{"+where+"}", at)
	if err != nil {
		if errors.Is(err, context.Canceled) {
			return nil, err
		}
		return nil, asError(ctx, err)
	}
	firing := map[string][]map[string]string{}
	for _, of := range list {
		delete(of.Labels, "__name__")
		delete(of.Labels, "alertstate")
		cluster := of.Labels["cluster"]
		if len(firing[cluster]) < adviceAlerts {
			firing[cluster] = append(firing[cluster], of.Labels)
		}
	}
	return firing, nil
}
