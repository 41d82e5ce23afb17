package api

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/api/refusal"
	"github.com/ringwatch/ringwatch/console"
)

// route is one endpoint: for everybody, or for keys.
type route struct {
	pattern string
	open    http.HandlerFunc // for everybody; nil: for keys
	keyed   listener.Route
}

// newRoutes makes the endpoints, and registers their metrics.
func newRoutes(c *Config, d *Deps) ([]route, error) {
	pages, err := console.New()
	if err != nil {
		return nil, err
	}
	keyed, err := newRooms(c, d)
	if err != nil {
		return nil, err
	}
	list := []route{
		{pattern: "GET /v1/openapi.yaml", open: getOpenAPI},
		{pattern: "GET /-/healthy", open: getHealthy},
		{pattern: "GET /-/ready", open: d.getReady},
		{pattern: "GET /metrics", open: exposition(c, d).ServeHTTP},
		{pattern: "GET /{$}", open: pages.ServeHTTP},
		{pattern: "GET /graph", open: toExplore(c.Clock)},
		{pattern: "GET /query", open: toExplore(c.Clock)},
		{pattern: "GET /alerts", open: toPage("alerts")},
		{pattern: "GET /targets", open: toPage("fleet")},
		{pattern: "GET /assets/{asset}", open: pages.ServeHTTP},
	}
	for _, r := range keyed {
		list = append(list, route{pattern: r.Pattern, keyed: r})
	}
	return list, nil
}

// exposition answers /metrics, with the names that a key of scope admin may see.
func exposition(c *Config, d *Deps) *listener.Exposition {
	refuse := func(w http.ResponseWriter, r *http.Request, err error) {
		refusal.Write(w, nil, refusal.Of(r.Context(), err), nil)
	}
	return listener.NewExposition(d.Metrics, account.Names(d.Admit, c.Operators), refuse,
		promhttp.HandlerOpts{EnableOpenMetrics: true})
}

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	for _, r := range s.routes {
		handle := r.open
		if handle == nil {
			handle = s.admit(r.keyed)
		}
		mux.HandleFunc(r.pattern, handle)
	}
	return s.observer.Wrap(mux, missing(mux))
}
