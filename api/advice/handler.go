package advice

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
	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/api/fleet"
	"github.com/ringwatch/ringwatch/api/instant"
	"github.com/ringwatch/ringwatch/api/reply"
	"github.com/ringwatch/ringwatch/api/request"
	"github.com/ringwatch/ringwatch/window/events"
)

const (
	// maxAge is for how long what is said of the alerts of a cluster holds: as long as rules
	// take to evaluate them again.
	maxAge = 30 * time.Second
	// maxAlertsOfCluster is of how many alerts of a cluster something is said.
	maxAlertsOfCluster = 100
)

// recent keeps what was said of the alerts that fire now.
type recent struct {
	mu      sync.Mutex
	answers map[recentKey]recentAnswer
}

// recentKey is who may be told the same: who asked the same and sees the same clusters.
type recentKey struct {
	account, clusters string
	cluster           string // of the question; empty: all
}

type recentAnswer struct {
	until time.Time
	list  []Advice
}

func (r *recent) get(key recentKey, now time.Time) ([]Advice, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	answer := r.answers[key]
	return answer.list, now.Before(answer.until)
}

func (r *recent) put(key recentKey, now time.Time, list []Advice) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.answers, func(_ recentKey, a recentAnswer) bool {
		return !now.Before(a.until)
	})
	if r.answers == nil {
		r.answers = map[recentKey]recentAnswer{}
	}
	r.answers[key] = recentAnswer{now.Add(maxAge), list}
}

// HandlerConfig is what a Handler works with.
type HandlerConfig struct {
	// Rules returns what an account is told of its alerts.
	Rules  func(account string) *Rules
	Engine instant.Engine
	Fleet  *fleet.Fleet
	// Events reads what happened on an account's nodes; nil: nothing is known of that.
	Events func(ctx context.Context, account string, q events.Query) (events.Page, error)
	Clock  func() time.Time
}

// Handler has the endpoint /v1/advice.
type Handler struct {
	config HandlerConfig
	recent recent
}

// NewHandler returns the endpoint.
func NewHandler(c HandlerConfig) *Handler { return &Handler{config: c} }

// Routes returns the endpoint.
func (h *Handler) Routes() []listener.Route {
	return []listener.Route{{Pattern: "GET /v1/advice", Handle: h.getAdvice}}
}

// getAdvice answers /v1/advice: what the numbers beside firing alerts suggest, now or at an
// instant.
func (h *Handler) getAdvice(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	q, err := request.Parameters(r, "cluster", "alert", "at")
	if err != nil {
		return err
	}
	now := h.config.Clock()
	at := now
	if q.Has("at") {
		ms, err := request.ParseTime("at", q.Get("at"))
		if err != nil {
			return err
		}
		at = time.UnixMilli(ms)
	}
	key := recentKey{p.Account, p.Sight(), q.Get("cluster")}
	newest := !q.Has("alert") && !q.Has("at")
	list, known := h.recent.get(key, now)
	if !newest || !known {
		source := &accountSource{config: &h.config, who: p}
		firing, err := source.firing(r.Context(), q.Get("cluster"), q.Get("alert"), at)
		if err != nil {
			return err
		}
		if len(firing) == 0 && q.Has("cluster") { // silence would say that all is well there
			place := url.Values{"cluster": q["cluster"]}
			if _, err := h.config.Fleet.Nodes(r.Context(), p, place); err != nil {
				return err
			}
		}
		if list, err = source.advise(r.Context(), firing, at); err != nil {
			return err
		}
		// What no alert fires of may be the name of anything, so it takes no memory.
		if newest && len(firing) > 0 && !source.failed {
			h.recent.put(key, now, list)
		}
	}
	return reply.JSON(w, r, struct {
		Advice []Advice `json:"advice"`
	}{list})
}

// accountSource asks PromQL for an account. It implements Source.
type accountSource struct {
	config *HandlerConfig
	who    account.Principal
	failed bool // something could not be asked, so silence says nothing
}

// advise says what is to be said of alerts.
func (s *accountSource) advise(ctx context.Context, alerts []map[string]string,
	at time.Time) ([]Advice, error) {
	nodes, err := s.config.Fleet.All(ctx, s.who)
	if err != nil {
		return nil, err
	}
	question := Question{Source: s, At: at, Name: fleet.Called(nodes)}
	if s.config.Events != nil {
		question.Events = EventsOf(s.who.Owns, func(ctx context.Context,
			q events.Query) (events.Page, error) {
			page, err := s.config.Events(ctx, s.who.Account, q)
			s.failed = s.failed || err != nil
			return page, err
		})
	}
	return s.config.Rules(s.who.Account).Ask(ctx, question, alerts)
}

// Query implements Source.
func (s *accountSource) Query(ctx context.Context, expr string, at time.Time) (list []Series,
	err error) {
	_, err = instant.Ask(ctx, s.config.Engine, s.who, expr, at,
		func(labels map[string]string, v float64) {
			list = append(list, Series{Labels: labels, Value: v})
		})
	s.failed = s.failed || err != nil
	return list, err
}

// firing returns the labels of alerts that fire at an instant, as rules record them, one cluster
// after the other. A rule may record any name of a cluster: of those that the key does not see
// nothing is said.
func (s *accountSource) firing(ctx context.Context, cluster, alert string,
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
	for _, series := range list {
		delete(series.Labels, "__name__")
		delete(series.Labels, "alertstate")
		cluster := series.Labels["cluster"]
		if s.who.Owns(cluster) && len(firing[cluster]) < maxAlertsOfCluster {
			firing[cluster] = append(firing[cluster], series.Labels)
		}
	}
	for _, cluster := range slices.Sorted(maps.Keys(firing)) {
		alerts = append(alerts, firing[cluster]...)
	}
	return alerts, nil
}
