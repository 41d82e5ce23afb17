package api

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/listener"
)

// route is one endpoint. Exactly one of open and scoped is set.
type route struct {
	pattern string
	open    http.HandlerFunc // for everybody
	scoped  scopedHandler    // for keys with the scope
	scope   account.Scope    // empty: read
	// fail writes refusals in a form of the route's own; nil: in ours.
	fail func(http.ResponseWriter, *http.Request, *Error)
	// long: a request may take that many times Config.RequestTimeout; 0: once.
	long int
}

// scopedHandler answers for an account. It writes nothing before it is sure of success and
// returns an error otherwise.
type scopedHandler func(w http.ResponseWriter, r *http.Request, p account.Principal) error

func (s *Server) routes() []route {
	return append(slices.Concat(s.seriesRoutes(), s.catalogRoutes(), s.lookupRoutes(),
		s.qpsRoutes(),
		s.reportRoutes(), s.safeRoutes(), s.eventsRoutes(), s.activityRoutes(),
		s.adviceRoutes(), s.keyRoutes(), s.sessionRoutes(), s.addedRoutes()), []route{
		{pattern: "GET /v1/clusters", scoped: s.getClusters},
		{pattern: "GET /v1/nodes", scoped: s.getNodes},
		{pattern: "GET /v1/nodes/{id}", scoped: s.getNode},
		{pattern: "POST /v1/nodes/{id}/forget", scope: account.Rules, scoped: s.postForget},
		{pattern: "GET /v1/clusters/{cluster}/metrics", scoped: s.getMetrics},
		{pattern: "GET /v1/datacenters/{datacenter}/metrics", scoped: s.getMetrics},
		{pattern: "GET /v1/nodes/{id}/metrics", scoped: s.getMetrics},
		{pattern: "GET /v1/nodes/{id}/prometheus", scoped: s.getPrometheus},
		{pattern: "GET /v1/clusters/{cluster}/prometheus", scoped: s.getClusterPrometheus},
		{pattern: "GET /v1/discovery", scoped: s.getDiscovery},
		{pattern: "GET /v1/installation", scoped: s.getInstallation},
		{pattern: "GET /v1/openapi.yaml", open: getOpenAPI},
		{pattern: "GET /-/healthy", open: getHealthy},
		{pattern: "GET /-/ready", open: s.getReady},
		{pattern: "GET /metrics", open: s.exposition().ServeHTTP},
		{pattern: "GET /{$}", open: s.console.ServeHTTP},
		{pattern: "GET /graph", open: s.toExplore},
		{pattern: "GET /query", open: s.toExplore},
		{pattern: "GET /alerts", open: toPage("alerts")},
		{pattern: "GET /targets", open: toPage("fleet")},
		{pattern: "GET /assets/{asset}", open: s.console.ServeHTTP},
	}...)
}

// addedRoutes are those of other packages.
func (s *Server) addedRoutes() []route {
	var list []route
	for _, r := range s.deps.Routes {
		list = append(list, route{pattern: r.Pattern, scoped: r.Handle, scope: r.Scope,
			fail: r.Fail})
	}
	return list
}

// exposition answers /metrics, with the names that a key of scope admin may see.
func (s *Server) exposition() *listener.Exposition {
	refuse := func(w http.ResponseWriter, r *http.Request, err error) {
		writeError(w, asError(r.Context(), err))
	}
	return listener.NewExposition(s.deps.Metrics, account.Names(s.deps.Admit, s.config.Operators),
		refuse, promhttp.HandlerOpts{EnableOpenMetrics: true})
}

// Patterns returns the patterns of all endpoints, such as "GET /v1/nodes".
func (s *Server) Patterns() []string {
	var list []string
	for _, r := range s.routes() {
		list = append(list, r.pattern)
	}
	return list
}

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	for _, r := range s.routes() {
		h := r.open
		if r.scoped != nil {
			h = s.admit(cmp.Or(r.scope, account.Read), r.scoped, r.fail, r.long)
		}
		mux.HandleFunc(r.pattern, h)
	}
	return s.observer.Wrap(mux, missing(mux))
}

// admit lets a handler answer for the account of the request's key, if that has the scope.
func (s *Server) admit(scope account.Scope, h scopedHandler,
	fail func(http.ResponseWriter, *http.Request, *Error), long int) http.HandlerFunc {
	timeout := s.config.RequestTimeout * time.Duration(max(long, 1))
	return func(w http.ResponseWriter, r *http.Request) {
		if long > 1 { // the server's own write timeout counts from the request's head
			_ = http.NewResponseController(w).SetWriteDeadline(
				time.Now().Add(timeout + s.config.RequestTimeout))
		}
		ctx, cancel := context.WithTimeout(r.Context(), timeout)
		defer cancel()
		p, err := s.enter(w, r, scope)
		if err == nil {
			within, end := s.deps.Reader.Shared.Scope(ctx, p.Account)
			defer end()
			err = h(w, r.WithContext(within), p)
		}
		if err == nil {
			return
		}
		e := asError(ctx, err)
		if e.Status >= 500 && r.Context().Err() == nil {
			s.deps.Log.Warn("a request failed", "reason", e.Reason,
				"request", listener.ID(r.Context()), "path", r.URL.Path, "account", p.Account,
				"error", err, "cause", e.Cause)
		}
		refuse(w, r, e, fail)
	}
}

// lowMemoryRetry is after how many seconds who is refused for want of memory asks again: by then
// the collector has run, and answers have been written.
const lowMemoryRetry = 5

// enter returns who a request comes from if it may be answered: its size, its key and the
// account's limits are right.
func (s *Server) enter(w http.ResponseWriter, r *http.Request,
	scope account.Scope) (account.Principal, error) {
	if n := len(r.URL.RawQuery); n > s.config.MaxQueryBytes {
		return account.Principal{}, &Error{Status: http.StatusRequestURITooLong,
			Reason: "query_too_long", Field: "query",
			Message: fmt.Sprintf("the part after ? has %d bytes, and %d are allowed: ask for "+
				"fewer metrics at a time", n, s.config.MaxQueryBytes)}
	}
	if r.ContentLength > s.config.MaxRequestBytes {
		return account.Principal{}, &Error{Status: http.StatusRequestEntityTooLarge,
			Reason: "body_too_large", Field: "body",
			Message: fmt.Sprintf("the body has %d bytes, and %d are allowed: ask for less "+
				"at a time", r.ContentLength, s.config.MaxRequestBytes)}
	}
	r.Body = http.MaxBytesReader(w, r.Body, s.config.MaxRequestBytes)
	p, err := s.deps.Admit(r)
	if err != nil {
		return p, err
	}
	listener.Admitted(r.Context(), p.Account, p.Key())
	if !p.Can(scope) {
		return p, &Error{Status: http.StatusForbidden, Reason: "no_scope", Field: "Authorization",
			Message: fmt.Sprintf("this key does not have the scope %s: use one that has it, "+
				"such as ringwatch key create --scopes operator makes", scope)}
	}
	if s.deps.Near != nil && s.deps.Near() {
		return p, &Error{Status: http.StatusServiceUnavailable, Reason: "low_memory",
			Message: "the process is near its memory limit: ask again in some seconds, or give " +
				"the role more memory", RetryAfter: lowMemoryRetry}
	}
	if s.deps.Limit == nil {
		return p, nil
	}
	node := ""
	if id, err := uuid.Parse(r.PathValue("id")); err == nil {
		node = id.String()
	}
	if after, whose := s.deps.Limit(r.Context(), p.Account, node); after > 0 {
		field, message := "Authorization", fmt.Sprintf("account %s asks too often: ask again in %s",
			p.Account, wait(after))
		if whose != "account" {
			field, message = "id", fmt.Sprintf("account %s asks too often for this node: ask "+
				"again in %s", p.Account, wait(after))
		}
		return p, &Error{Status: http.StatusTooManyRequests, Reason: "too_many_requests",
			Field: field, Message: message, RetryAfter: int(math.Ceil(after.Seconds()))}
	}
	return p, nil
}

// wait is a duration for people.
func wait(d time.Duration) time.Duration {
	return max(d.Round(100*time.Millisecond), 100*time.Millisecond)
}

// methods are all that routes are for, in the order in which refusals name them.
var methods = [...]string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut,
	http.MethodPatch, http.MethodDelete}

// missing answers where no route is. Where there are some for other methods it names these: OPTIONS
// gets 204, anything else 405. Where there is none at all it answers 404. Nobody needs a key for
// that: it says what openapi.yaml says.
func missing(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var allowed []string
		for _, method := range methods {
			try := r.Clone(r.Context())
			try.Method = method
			if _, pattern := mux.Handler(try); pattern != "" {
				allowed = append(allowed, method)
			}
		}
		if len(allowed) == 0 {
			writeError(w, &Error{Status: http.StatusNotFound, Reason: "no_such_path",
				Message: "this path does not exist: /v1/openapi.yaml lists those that do"})
			return
		}
		w.Header().Set("Allow", strings.Join(append(allowed, http.MethodOptions), ", "))
		if r.Method == http.MethodOptions {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		// who knows HEAD knows that it goes with GET
		of := slices.DeleteFunc(allowed, func(m string) bool { return m == http.MethodHead })
		writeError(w, &Error{Status: http.StatusMethodNotAllowed, Reason: "method",
			Message: r.Method + " is not for this path: use " + strings.Join(of, " or ")})
	})
}
