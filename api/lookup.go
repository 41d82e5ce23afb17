package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/prometheus/common/model"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/api/lookup"
)

// Lookup reads rows of a table that the account may read, as lookup.Lookup.Read does. An error
// that is no *Error stays inside.
type Lookup func(ctx context.Context, q *lookup.Query, take func(i int, a lookup.Answer)) error

// ndjson is a JSON document per line.
const ndjson = "application/x-ndjson"

func (s *Server) lookupRoutes() []route {
	return []route{{pattern: "POST /v1/lookup/{keyspace}/{table}", scoped: s.postLookup}}
}

// keyAnswer is an answer and whose.
type keyAnswer struct {
	lookup.Answer
	key int
}

// postLookup answers /v1/lookup/{keyspace}/{table}: for each key its rows, that there are none,
// or why it could not be read.
//
// If nothing at all could be read that is the request's error. Otherwise the status is 200, what
// failed is in the answer, and PartialHeader counts it: as a header of a whole answer, as a
// trailer of one in lines.
func (s *Server) postLookup(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	q, timeout, err := s.lookupQuery(r)
	if err != nil {
		return err
	}
	if s.deps.Lookup == nil {
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
		ended <- s.deps.Lookup(ctx, q, func(i int, a lookup.Answer) { answers <- keyAnswer{a, i} })
		close(answers)
	}()
	l := &lookupAnswer{Server: s, w: w, r: r, keys: q.Keys, stop: cancel, lines: takes(r, ndjson)}
	for a := range answers {
		if l.take(a); len(answers) == 0 {
			l.flush()
		}
	}
	if err := <-ended; err != nil && l.taken == 0 {
		if _, refusal := errors.AsType[*Error](err); !refusal &&
			errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return &Error{Status: http.StatusGatewayTimeout, Reason: "timeout",
				Message: "the answer took too long: ask for fewer keys, or give it more time",
				Cause:   err}
		}
		return err
	}
	if l.failed > 0 && r.Context().Err() == nil {
		s.deps.Log.Warn("keys of a lookup failed", "request", listener.ID(r.Context()),
			"table", q.Keyspace+"."+q.Table, "account", p.Account, "keys", len(q.Keys),
			"failed", l.failed,
			"error", l.first, "cause", l.first.Cause)
	}
	return l.end()
}

// lookupQuery reads a request's body and returns also how long its answer may take.
func (s *Server) lookupQuery(r *http.Request) (*lookup.Query, time.Duration, error) {
	if _, err := parameters(r); err != nil {
		return nil, 0, err
	}
	text, err := io.ReadAll(r.Body) // bounded by enter
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, 0, &Error{Status: http.StatusRequestEntityTooLarge, Reason: "body_too_large",
			Field: "body",
			Message: fmt.Sprintf("the body has more than %d bytes: ask for fewer keys at a time",
				large.Limit)}
	case err != nil:
		return nil, 0, bad("bad_body", "body", "the body broke off: send it again")
	case !utf8.Valid(text):
		return nil, 0, bad("bad_body", "body",
			"the body is not UTF-8: write other bytes as a blob, 0x…")
	}
	var body struct {
		Keys    []json.RawMessage `json:"keys"`
		Columns []string          `json:"columns"`
		Rows    *int              `json:"rows"`
		Class   string            `json:"class"`
		Timeout *string           `json:"timeout"`
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&body); err != nil {
		var kind *json.UnmarshalTypeError
		if errors.As(err, &kind) && kind.Field != "" {
			return nil, 0, bad("bad_body", kind.Field,
				"%s cannot be %s: keys and columns are lists, rows is a number, class and "+
					"timeout are strings", kind.Field, kind.Value)
		}
		if name, unknown := strings.CutPrefix(err.Error(), "json: unknown field "); unknown {
			return nil, 0, bad("unknown_field", strings.Trim(name, `"`),
				"unknown field: use keys, columns, rows, class and timeout")
		}
		return nil, 0, bad("bad_body", "body",
			`the body is not JSON such as {"keys":[1,2],"columns":["name"]}`)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, 0, bad("bad_body", "body",
			"the body has more after its JSON object: leave it out")
	}
	q := &lookup.Query{Keyspace: r.PathValue("keyspace"), Table: r.PathValue("table"),
		Columns: body.Columns, Keys: body.Keys, Class: body.Class}
	if body.Rows != nil {
		if q.Rows = *body.Rows; q.Rows < 1 {
			return nil, 0, bad("bad_rows", "rows",
				"rows must be the number of rows of a key, 1 or more")
		}
	}
	timeout := s.config.RequestTimeout
	if body.Timeout != nil {
		d, err := model.ParseDuration(*body.Timeout)
		if err != nil || d <= 0 || time.Duration(d) > timeout {
			return nil, 0, bad("bad_timeout", "timeout",
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

// lookupAnswer puts answers together: a whole document in the keys' order, or lines as they come.
type lookupAnswer struct {
	*Server
	w     http.ResponseWriter
	r     *http.Request
	keys  []json.RawMessage
	stop  func() // ends the reading
	lines bool

	results                [][]byte      // of a document, by key; of lines those that wait for out
	out                    *answerWriter // of lines, from the first on that is no failure
	broken                 bool          // the client went away
	bytes                  int64
	over                   *Error // the answer is full
	first                  *Error // failure
	answered               []bool // by key
	taken                  int
	found, missing, failed int
}

func (l *lookupAnswer) take(a keyAnswer) {
	if l.answered == nil {
		l.answered = make([]bool, len(l.keys))
	}
	if l.answered[a.key] {
		return
	}
	l.answered[a.key] = true
	l.taken++
	if l.bytes += int64(len(a.Rows)); l.bytes > l.config.MaxResponseBytes && l.over == nil {
		l.over = bad("too_large", "keys",
			"the answer would have more than %d MiB: ask for fewer keys, columns or rows",
			l.config.MaxResponseBytes>>20)
		l.stop()
	}
	if l.over != nil {
		a.Answer = lookup.Answer{Err: l.over}
	}
	result := "found"
	switch {
	case a.Err != nil:
		result = "failed"
		l.failed++
		l.first = cmp.Or(l.first, a.Err)
	case a.Rows == nil:
		result = "missing"
		l.missing++
	default:
		l.found++
	}
	l.metrics.lookups.WithLabelValues(result).Inc()
	b := appendKeyAnswer(nil, a, l.keys[a.key])
	switch {
	case !l.lines:
		if l.results == nil {
			l.results = make([][]byte, len(l.keys))
		}
		l.results[a.key] = b
	case l.out == nil && a.Err != nil: // all may fail yet, and the status say so
		l.results = append(l.results, b)
	default:
		if l.out == nil {
			l.out = answer(l.w, l.r, ndjson)
			for _, waiting := range l.results {
				l.line(waiting)
			}
			l.results = nil
		}
		l.line(b)
	}
}

// line writes a line, if there is anybody to read it.
func (l *lookupAnswer) line(b []byte) {
	if !l.broken {
		_, err := l.out.Write(append(b, '\n'))
		l.broken = err != nil
	}
}

// flush sends lines when no more are there.
func (l *lookupAnswer) flush() {
	if l.out != nil && !l.broken {
		l.broken = l.out.flush() != nil
	}
}

// end writes what is left, or returns why there is no answer.
func (l *lookupAnswer) end() error {
	for i := range l.keys {
		if l.taken == len(l.keys) {
			break
		}
		l.take(
			keyAnswer{lookup.Answer{Err: &Error{Status: http.StatusServiceUnavailable,
				Reason: "unavailable", Message: "it was not read: ask again in a moment",
				RetryAfter: 1}}, i})
	}
	switch {
	case l.over != nil && l.out == nil:
		return l.over
	case l.failed == len(l.keys):
		return l.first
	}
	counts := fmt.Appendf(nil, `"found":%d,"missing":%d,"failed":%d`, l.found, l.missing, l.failed)
	if l.failed > 0 {
		l.metrics.partial.Inc()
	}
	if l.lines {
		l.line(append(append([]byte{'{'}, counts...), '}'))
		l.out.end()
		if l.failed > 0 {
			l.w.Header().Set(http.TrailerPrefix+PartialHeader, strconv.Itoa(l.failed))
		}
		return nil
	}
	if l.failed > 0 {
		l.w.Header().Set(PartialHeader, strconv.Itoa(l.failed))
	}
	out := answer(l.w, l.r, "application/json")
	defer out.end()
	_, _ = out.WriteString("{")
	_, _ = out.Write(counts)
	for i, b := range l.results {
		_, _ = out.WriteString([...]string{`,"results":[`, ","}[min(i, 1)])
		_, _ = out.Write(b)
	}
	_, _ = out.WriteString("]}\n") // a client that went away misses nothing
	return nil
}

// appendKeyAnswer appends what there is of a key:
//
//	{"index":0,"key":17,"found":true,"rows":[{…}],"more":true}
//	{"index":1,"key":18,"found":false}
//	{"index":2,"key":19,"error":{"reason":"timeout","message":"…"}}
func appendKeyAnswer(b []byte, a keyAnswer, key json.RawMessage) []byte {
	b = fmt.Appendf(b, `{"index":%d,"key":`, a.key)
	var compact bytes.Buffer
	_ = json.Compact(&compact, key) // it was decoded
	b = append(b, compact.Bytes()...)
	switch {
	case a.Err != nil:
		b = appendString(append(b, `,"error":{"reason":`...), a.Err.Reason)
		b = appendString(append(b, `,"message":`...), a.Err.Message)
		b = append(b, '}')
	case a.Rows == nil:
		b = append(b, `,"found":false`...)
	default:
		b = append(append(b, `,"found":true,"rows":`...), a.Rows...)
		if a.More {
			b = append(b, `,"more":true`...)
		}
	}
	return append(b, '}')
}
