// Package promapi speaks Prometheus's HTTP API under /api/v1, so that Grafana, promtool and every
// other client of a Prometheus asks Ringwatch as it asks one. Begin with API. Of our packages it
// imports access, memory and query.
//
// What it promises: parameters, answers, warnings and errors have the form of Prometheus's HTTP
// API, version 3. Every answer is limited to the account of the request's key. Clients also ask
// for what Ringwatch does not have, such as exemplars; the answer is empty then.
//
// What bites: times before anything that is kept have no values, and label names and values come
// from an index of whole days.
package promapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/query/expression"
	"github.com/ringwatch/ringwatch/query/index"
	"github.com/ringwatch/ringwatch/query/metadata"
	"github.com/ringwatch/ringwatch/query/selector"
)

// Deps are what the endpoints work with.
type Deps struct {
	Engine *query.Engine
	Reader *query.Reader
	// Rules and Alerts return the data of the endpoints of these names; nil: there are none.
	Rules  func(who account.Principal, q url.Values) (any, error)
	Alerts func(who account.Principal) any
	// Version is Ringwatch's.
	Version string
	// Config returns the configuration as YAML without secrets; nil: there is none to show.
	Config func() string
	// Flags are what the process was started with, without secrets.
	Flags map[string]string
	// MaxRequestBytes bounds a body when it is unpacked: remote read's are packed.
	MaxRequestBytes int64
	Clock           func() time.Time // nil: time.Now
	Log             *slog.Logger
}

// API has the endpoints.
type API struct {
	Deps
	started time.Time
}

// New returns the endpoints.
func New(d Deps) *API {
	if d.Clock == nil {
		d.Clock = time.Now
	}
	return &API{Deps: d, started: d.Clock()}
}

// Routes returns the endpoints, each for keys with the scope read.
func (a *API) Routes() []listener.Route {
	var list []listener.Route
	status := &status{&a.Deps, a.started}
	add := func(methods, path string, h func(http.ResponseWriter, *http.Request,
		account.Principal) error) {
		for _, method := range strings.Fields(methods) {
			list = append(list, listener.Route{Pattern: method + " " + path, Handle: h, Fail: fail})
		}
	}
	get := func(path string, h func(r *http.Request, p account.Principal) (answer, error)) {
		add("GET", path, a.json(h))
	}
	form := func(path string, h func(r *http.Request, p account.Principal) (answer, error)) {
		add("GET POST", path, a.json(h))
	}
	add("GET POST", "/api/v1/query", a.query)
	add("GET POST", "/api/v1/query_range", a.queryRange)
	form("/api/v1/query_exemplars", a.exemplars)
	form("/api/v1/series", a.series)
	form("/api/v1/labels", a.labels)
	get("/api/v1/label/{name}/values", a.labelValues)
	get("/api/v1/metadata", a.metadata)
	form("/api/v1/format_query", a.formatQuery)
	form("/api/v1/parse_query", a.parseQuery)
	get("/api/v1/status/buildinfo", status.buildInfo)
	get("/api/v1/status/runtimeinfo", status.runtimeInfo)
	get("/api/v1/status/flags", status.flags)
	get("/api/v1/status/config", status.configuration)
	get("/api/v1/status/tsdb", a.tsdb)
	get("/api/v1/status/tsdb/blocks", a.blocks)
	get("/api/v1/status/walreplay", a.walReplay)
	get("/api/v1/features", status.features)
	get("/api/v1/notifications", status.notifications)
	add("GET", "/api/v1/notifications/live", status.liveNotifications)
	get("/api/v1/rules", status.rules)
	get("/api/v1/alerts", status.alerts)
	get("/api/v1/alertmanagers", status.alertmanagers)
	get("/api/v1/targets", a.targets)
	add("GET", "/api/v1/targets/metadata", a.targetMetadata)
	add("POST", "/api/v1/read", a.read)
	add("GET", "/federate", a.federate)
	return list
}

// answer is the data of an answer, with what is to be said of it.
type answer struct {
	data     any
	warnings annotations.Annotations
}

// json makes a handler of a function that returns an answer which is small enough to be made whole.
func (a *API) json(
	h func(r *http.Request, p account.Principal) (answer, error),
) func(http.ResponseWriter, *http.Request, account.Principal) error {
	return func(w http.ResponseWriter, r *http.Request, p account.Principal) error {
		if err := parse(r); err != nil {
			return err
		}
		got, err := h(r, p)
		if err != nil {
			return asError(r.Context(), err)
		}
		warnings, infos := got.warnings.AsStrings(r.FormValue("query"), maxWarnings, maxWarnings)
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(struct {
			Status   string   `json:"status"`
			Data     any      `json:"data"`
			Warnings []string `json:"warnings,omitempty"`
			Infos    []string `json:"infos,omitempty"`
		}{"success", got.data, warnings, infos})
		return nil
	}
}

// maxWarnings bounds what is said of an answer.
const maxWarnings = 10

// parse reads a request's parameters, from the URL and from a form.
func parse(r *http.Request) error {
	if err := r.ParseForm(); err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			return &listener.Error{Status: http.StatusRequestEntityTooLarge, Reason: "bad_data",
				Message: fmt.Sprintf("the body has more than %d bytes: send less", large.Limit)}
		}
		return bad("the parameters cannot be read: encode special characters as %%XX, and send a " +
			"body as a form")
	}
	return nil
}

// bad is a refusal of a parameter.
func bad(format string, args ...any) *listener.Error {
	return &listener.Error{Status: http.StatusBadRequest, Reason: "bad_data",
		Message: fmt.Sprintf(format, args...)}
}

// invalid is Prometheus's own refusal of a parameter.
func invalid(name string, err error) *listener.Error {
	return bad("invalid parameter %q: %v", name, err)
}

// fail writes an error as Prometheus does.
func fail(w http.ResponseWriter, _ *http.Request, e *listener.Error) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	w.WriteHeader(e.Status)
	_ = json.NewEncoder(w).Encode(map[string]string{"status": "error", "errorType": kind(e),
		"error": e.Message})
}

// kinds are Prometheus's words for what went wrong.
var kinds = []string{"timeout", "canceled", "execution", "bad_data", "internal", "unavailable",
	"not_found", "not_acceptable"}

func kind(e *listener.Error) string {
	if slices.Contains(kinds, e.Reason) {
		return e.Reason
	}
	switch {
	case e.Status == http.StatusUnauthorized:
		return "unauthorized"
	case e.Status == http.StatusForbidden:
		return "forbidden"
	case e.Status == http.StatusTooManyRequests:
		return "too_many_requests"
	case e.Status == http.StatusNotFound:
		return "not_found"
	case e.Status == http.StatusGatewayTimeout:
		return "timeout"
	case e.Status == http.StatusServiceUnavailable:
		return "unavailable"
	case e.Status >= 500:
		return "internal"
	}
	return "bad_data"
}

// statusCanceled is what Prometheus answers to who has gone.
const statusCanceled = 499

// asError gives an error of a query its status.
func asError(ctx context.Context, err error) error {
	var (
		known    *listener.Error
		limit    *query.LimitError
		busy     *query.BusyError
		timeout  promql.ErrQueryTimeout
		canceled promql.ErrQueryCanceled
		samples  promql.ErrTooManySamples
		text     parser.ParseErrors
		pattern  *selector.LimitError
		wrong    *query.ExpressionError
	)
	failure := func(status int, reason, message string, retry int) error {
		return &listener.Error{Status: status, Reason: reason, Message: message, RetryAfter: retry,
			Cause: err}
	}
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &wrong) && wrong.Evaluated:
		return failure(http.StatusUnprocessableEntity, "execution", wrong.Error(), 0)
	case errors.As(err, &wrong), errors.As(err, &text), errors.As(err, &pattern):
		return invalid("query", err)
	case errors.As(err, &limit) && limit.Limit == "max_steps":
		return bad("exceeded maximum resolution of %d points per timeseries: %v", limit.Value,
			limit)
	case errors.As(err, &limit):
		return failure(http.StatusUnprocessableEntity, "execution", limit.Error(), 0)
	case errors.As(err, &busy):
		return failure(http.StatusTooManyRequests, "unavailable", busy.Error(), busy.RetryAfter())
	case errors.As(err, &samples):
		return failure(http.StatusUnprocessableEntity, "execution",
			err.Error()+": max_samples bounds them; ask for less time, a wider step or "+
				"fewer series", 0)
	case errors.Is(err, memory.ErrTooLarge):
		return failure(http.StatusUnprocessableEntity, "execution",
			"the query needs more memory than an account may have at once: ask for fewer series, "+
				"less time or a wider step", 0)
	case errors.Is(err, memory.ErrBusy):
		return failure(http.StatusServiceUnavailable, "unavailable",
			"the account's other queries use all memory that it may have: ask again when they "+
				"are done", 2)
	case errors.Is(err, index.ErrLoading):
		return failure(http.StatusServiceUnavailable, "unavailable",
			"the list of series is being loaded: try again in a moment; /-/ready shows the "+
				"progress", 5)
	case errors.Is(err, metadata.ErrNoIndex):
		return failure(http.StatusServiceUnavailable, "unavailable",
			"this process has no index of series: ask one that reads the store", 0)
	case errors.Is(err, index.ErrTooLarge):
		return failure(http.StatusUnprocessableEntity, "execution", err.Error(), 0)
	case errors.As(err, &timeout), errors.Is(err, context.DeadlineExceeded):
		return failure(http.StatusServiceUnavailable, "timeout",
			"the query took too long: ask for less time, a wider step or fewer series", 0)
	case errors.As(err, &canceled), errors.Is(err, context.Canceled):
		return failure(statusCanceled, "canceled", "the query was canceled", 0)
	}
	var engine promql.ErrStorage
	if errors.As(err, &engine) || ctx.Err() != nil {
		return err // the server says what it knows of its sources
	}
	return err
}

// instant reads a time: seconds since 1970, or RFC 3339.
func instant(text string) (time.Time, error) {
	outside := fmt.Errorf("cannot parse %q to a valid timestamp: it is out of range", text)
	if s, err := strconv.ParseFloat(text, 64); err == nil {
		if math.IsNaN(s) || math.Abs(s) > maxSeconds {
			return time.Time{}, outside
		}
		whole, part := math.Modf(s)
		return time.Unix(int64(whole), int64(math.Round(part*1000))*int64(time.Millisecond)).UTC(),
			nil
	}
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		if s := t.Unix(); s > maxSeconds || s < -maxSeconds {
			return time.Time{}, outside
		}
		return t, nil
	}
	return time.Time{}, fmt.Errorf("cannot parse %q to a valid timestamp", text)
}

// maxSeconds bounds times, to the years 1684 to 2255: Prometheus's engine counts nanoseconds.
const maxSeconds = 9_000_000_000

// ever are what Prometheus's clients send for "since ever" and "for ever".
var ever = map[string]time.Time{
	"-9223372036854775.808":               time.Unix(0, 0),
	"9223372036854775.807":                time.Unix(maxSeconds, 0),
	"-292273086-05-16T16:47:06Z":          time.Unix(0, 0),
	"292277025-08-18T07:12:54.999999999Z": time.Unix(maxSeconds, 0),
}

// time reads a time parameter; without it the default.
func (a *API) time(values url.Values, name string, without time.Time) (time.Time, error) {
	text := values.Get(name)
	if text == "" {
		return without, nil
	}
	if t, known := ever[text]; known {
		return t, nil
	}
	t, err := instant(text)
	if err != nil {
		return t, invalid(name, err)
	}
	return t, nil
}

// duration reads a span: seconds, or a number with a unit.
func duration(text string) (time.Duration, error) {
	if s, err := strconv.ParseFloat(text, 64); err == nil {
		ns := s * float64(time.Second)
		if math.IsNaN(ns) || ns > math.MaxInt64 || ns < math.MinInt64 {
			return 0, fmt.Errorf("cannot parse %q to a valid duration. It overflows int64", text)
		}
		return time.Duration(ns), nil
	}
	if d, err := model.ParseDuration(text); err == nil {
		return time.Duration(d), nil
	}
	return 0, fmt.Errorf("cannot parse %q to a valid duration", text)
}

// options reads what a query asks for beside its expression.
func options(values url.Values) (o query.Options, limit int, err error) {
	for _, d := range []struct {
		name string
		into *time.Duration
	}{{"timeout", &o.Timeout}, {"lookback_delta", &o.Lookback}} {
		if text := values.Get(d.name); text != "" {
			if *d.into, err = duration(text); err != nil {
				return o, 0, invalid(d.name, err)
			}
			if *d.into <= 0 {
				return o, 0, bad("invalid parameter %q: it must be greater than 0", d.name)
			}
		}
	}
	o.PerStepStats = values.Get("stats") == "all"
	limit, err = number(values, "limit")
	return o, limit, err
}

// number reads a limit of query, series and labels; 0 is none.
func number(values url.Values, name string) (int, error) {
	text := values.Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, invalid(name, fmt.Errorf("%q is not a number", text))
	}
	if n < 0 {
		return 0, bad("invalid parameter %q: %s must be non-negative", name, name)
	}
	return n, nil
}

func (a *API) exemplars(r *http.Request, _ account.Principal) (answer, error) {
	if _, err := a.Engine.Expressions.Parse(r.Context(), r.FormValue("query")); err != nil {
		return answer{}, invalid("query", err)
	}
	return answer{data: []string{}}, nil
}

// catalogue reads match[], start, end and limit.
func (a *API) catalogue(r *http.Request) (c metadata.SeriesQuery, limit int, err error) {
	if limit, err = number(r.Form, "limit"); err != nil {
		return c, 0, err
	}
	if c.From, err = a.time(r.Form, "start", time.Unix(0, 0)); err != nil {
		return c, 0, err
	}
	if c.To, err = a.time(r.Form, "end", a.Clock()); err != nil {
		return c, 0, err
	}
	if c.To.Before(c.From) {
		return c, 0, invalid("end", errors.New("end timestamp must not be before start time"))
	}
	if now := a.Clock(); c.To.After(now) {
		c.To = now.Add(time.Minute)
	}
	if c.From.After(c.To) {
		c.From = c.To
	}
	request := a.Engine.Expressions.Selectors(r.Context())
	for _, text := range r.Form["match[]"] {
		matchers, err := request.Selector(text)
		if err != nil {
			return c, 0, invalid("match[]", err)
		}
		if !slices.ContainsFunc(matchers, expression.MatchesSomething) {
			return c, 0, invalid("match[]",
				errors.New("match[] must contain at least one non-empty matcher"))
		}
		c.Selectors = append(c.Selectors, matchers)
	}
	return c, limit, nil
}

func (a *API) series(r *http.Request, p account.Principal) (answer, error) {
	if len(r.Form["match[]"]) == 0 {
		return answer{}, bad("no match[] parameter provided")
	}
	c, limit, err := a.catalogue(r)
	if err != nil {
		return answer{}, err
	}
	list, warnings, err := a.Engine.Lists.Series(r.Context(), p, c, limit)
	if err != nil {
		return answer{}, err
	}
	if list == nil {
		return answer{data: []string{}, warnings: warnings}, nil
	}
	return answer{data: list, warnings: warnings}, nil
}

func (a *API) labels(r *http.Request, p account.Principal) (answer, error) {
	c, limit, err := a.catalogue(r)
	if err != nil {
		return answer{}, err
	}
	list, warnings, err := a.Engine.Lists.LabelNames(r.Context(), p, c)
	return limited(list, limit, warnings), err
}

func (a *API) labelValues(r *http.Request, p account.Principal) (answer, error) {
	name := r.PathValue("name")
	if strings.HasPrefix(name, "U__") {
		name = model.UnescapeName(name, model.ValueEncodingEscaping)
	}
	if !model.UTF8Validation.IsValidLabelName(name) {
		return answer{}, bad("invalid label name: %q", name)
	}
	c, limit, err := a.catalogue(r)
	if err != nil {
		return answer{}, err
	}
	list, warnings, err := a.Engine.Lists.LabelValues(r.Context(), p, name, c)
	return limited(list, limit, warnings), err
}

// limited cuts a list, and says so.
func limited(list []string, limit int, warnings annotations.Annotations) answer {
	if limit > 0 && len(list) > limit {
		list = list[:limit]
		warnings.Add(metadata.ErrLimited)
	}
	if list == nil {
		list = []string{}
	}
	return answer{list, warnings}
}

// metadataLimit reads a limit of metadata. As in Prometheus a negative one, unlike 0, is none.
func metadataLimit(values url.Values, name string) (int, error) {
	text := values.Get(name)
	if text == "" {
		return -1, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, bad("%s must be a number", name)
	}
	return n, nil
}

func (a *API) metadata(r *http.Request, p account.Principal) (answer, error) {
	limit, err := metadataLimit(r.Form, "limit")
	if err != nil {
		return answer{}, err
	}
	if _, err := metadataLimit(r.Form, "limit_per_metric"); err != nil {
		return answer{}, err // there is one of each
	}
	found, err := a.Engine.Lists.Metadata(r.Context(), p, r.FormValue("metric"))
	if err != nil {
		return answer{}, err
	}
	var names []string
	for name := range found {
		names = append(names, name)
	}
	slices.Sort(names)
	list := map[string][]metadata.Metadata{}
	for i, name := range names {
		if i == limit {
			break
		}
		list[name] = []metadata.Metadata{found[name]}
	}
	return answer{data: list}, nil
}

func (a *API) formatQuery(r *http.Request, _ account.Principal) (answer, error) {
	expr, err := a.Engine.Expressions.Parse(r.Context(), r.FormValue("query"))
	if err != nil {
		return answer{}, invalid("query", err)
	}
	return answer{data: expr.Pretty(0)}, nil
}

func (a *API) parseQuery(r *http.Request, _ account.Principal) (answer, error) {
	expr, err := a.Engine.Expressions.Parse(r.Context(), r.FormValue("query"))
	if err != nil {
		return answer{}, invalid("query", err)
	}
	return answer{data: tree(expr)}, nil
}
