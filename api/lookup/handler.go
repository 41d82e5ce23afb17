package lookup

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/api/refusal"
	"github.com/ringwatch/ringwatch/api/reply"
	"github.com/ringwatch/ringwatch/api/request"
)

// Read reads rows of a table that the account may read, as Lookup.Read does. An error
// that is no *Error stays inside.
type Read func(ctx context.Context, q *Query, take func(i int, a Answer)) error

// HandlerConfig is what a Handler works with.
type HandlerConfig struct {
	Read     Read          // nil: there are no tables for it
	Timeout  time.Duration // of a request, if it asks for no less
	MaxBytes int64         // of an answer's rows
	Metrics  *reply.Metrics
	Registry prometheus.Registerer
	Log      *slog.Logger
}

// Handler has the endpoint POST /v1/lookup/{keyspace}/{table}.
type Handler struct {
	config HandlerConfig
	keys   *prometheus.CounterVec // by result
}

// NewHandler registers its metric and returns the endpoint.
func NewHandler(c HandlerConfig) *Handler {
	h := &Handler{config: c, keys: prometheus.NewCounterVec(
		prometheus.CounterOpts{Name: "ringwatch_api_lookup_keys_total",
			Help: "Keys of lookups that were answered, by result (found, missing, failed)."},
		[]string{"result"})}
	for _, result := range []string{"found", "missing", "failed"} {
		h.keys.WithLabelValues(result)
	}
	c.Registry.MustRegister(h.keys)
	return h
}

// Routes returns the endpoint.
func (h *Handler) Routes() []listener.Route {
	return []listener.Route{{Pattern: "POST /v1/lookup/{keyspace}/{table}", Handle: h.post}}
}

// post answers /v1/lookup/{keyspace}/{table}: for each key its rows, that there are none,
// or why it could not be read.
//
// If nothing at all could be read that is the request's error. Otherwise the status is 200, what
// failed is in the answer, and reply.PartialHeader counts it: as a header of a whole answer, as a
// trailer of one in lines.
func (h *Handler) post(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	q, timeout, err := h.query(r)
	if err != nil {
		return err
	}
	if h.config.Read == nil {
		return &Error{Status: http.StatusNotFound, Reason: "unknown_table", Field: "table",
			Message: "this server offers no table for lookups: the operator lists them in " +
				"lookup.tables"}
	}
	if p.Limited() {
		return &Error{Status: http.StatusForbidden, Reason: "limited_key", Field: "Authorization",
			Message: "this key is limited to clusters, and lookups are of the whole account: use " +
				"a key that is not limited"}
	}
	q.Account, q.Client = p.Account, p.Account+"/"+p.Key()
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	answers := make(chan keyAnswer, len(q.Keys)) // so that a slow client holds up nobody
	ended := make(chan error, 1)
	go func() {
		ended <- h.config.Read(ctx, q, func(i int, a Answer) { answers <- keyAnswer{a, i} })
		close(answers)
	}()
	l := &collected{w: w, r: r, keys: q.Keys, stop: cancel, lines: takes(r, ndjson),
		maxBytes: h.config.MaxBytes, counted: h.keys, metrics: h.config.Metrics}
	for a := range answers {
		if l.take(a); len(answers) == 0 {
			l.flush()
		}
	}
	if err := <-ended; err != nil && l.taken == 0 {
		if _, refused := errors.AsType[*Error](err); !refused &&
			errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return &Error{Status: http.StatusGatewayTimeout, Reason: "timeout",
				Message: "the answer took too long: ask for fewer keys, or give it more time",
				Cause:   err}
		}
		return err
	}
	if l.failed > 0 && r.Context().Err() == nil {
		h.config.Log.Warn("keys of a lookup failed", "request", listener.ID(r.Context()),
			"table", q.Keyspace+"."+q.Table, "account", p.Account, "keys", len(q.Keys),
			"failed", l.failed,
			"error", l.first, "cause", l.first.Cause)
	}
	return l.end()
}

// queryBody is what query reads.
var queryBody = request.Body{Less: "ask for fewer keys at a time",
	Binary:  "write other bytes as a blob, 0x…",
	Types:   "keys and columns are lists, rows is a number, class and timeout are strings",
	Fields:  "use keys, columns, rows, class and timeout",
	Example: `{"keys":[1,2],"columns":["name"]}`}

// query reads a request's body and returns also how long its answer may take.
func (h *Handler) query(r *http.Request) (*Query, time.Duration, error) {
	if _, err := request.Parameters(r); err != nil {
		return nil, 0, err
	}
	var body struct {
		Keys    []json.RawMessage `json:"keys"`
		Columns []string          `json:"columns"`
		Rows    *int              `json:"rows"`
		Class   string            `json:"class"`
		Timeout *string           `json:"timeout"`
	}
	if err := queryBody.Decode(r, &body); err != nil {
		return nil, 0, err
	}
	q := &Query{Keyspace: r.PathValue("keyspace"), Table: r.PathValue("table"),
		Columns: body.Columns, Keys: body.Keys, Class: body.Class}
	if body.Rows != nil {
		if q.Rows = *body.Rows; q.Rows < 1 {
			return nil, 0, refusal.Bad("bad_rows", "rows",
				"rows must be the number of rows of a key, 1 or more")
		}
	}
	timeout := h.config.Timeout
	if body.Timeout != nil {
		d, err := model.ParseDuration(*body.Timeout)
		if err != nil || d <= 0 || time.Duration(d) > timeout {
			return nil, 0, refusal.Bad("bad_timeout", "timeout",
				"timeout must be a duration such as 250ms, at most %s", model.Duration(timeout))
		}
		timeout = time.Duration(d)
	}
	return q, timeout, nil
}

// takes reports whether a request's Accept names a media type.
func takes(r *http.Request, media string) bool {
	for _, part := range strings.Split(strings.Join(r.Header.Values("Accept"), ","), ",") {
		name, _, _ := strings.Cut(part, ";")
		if strings.EqualFold(strings.TrimSpace(name), media) {
			return true
		}
	}
	return false
}
