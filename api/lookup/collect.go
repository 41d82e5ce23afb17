package lookup

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/api/literal"
	"github.com/ringwatch/ringwatch/api/refusal"
	"github.com/ringwatch/ringwatch/api/reply"
)

// ndjson is a JSON document per line.
const ndjson = "application/x-ndjson"

// keyAnswer is an answer and whose.
type keyAnswer struct {
	answer Answer
	key    int
}

// collected puts answers together: a whole document in the keys' order, or lines as they come.
type collected struct {
	w        http.ResponseWriter
	r        *http.Request
	keys     []json.RawMessage
	stop     func() // ends the reading
	lines    bool
	maxBytes int64
	counted  *prometheus.CounterVec // keys, by result
	metrics  *reply.Metrics

	results                [][]byte      // of a document, by key; of lines those that wait for out
	out                    *reply.Writer // of lines, from the first on that is no failure
	broken                 bool          // the client went away
	bytes                  int64
	over                   *Error // the answer is full
	first                  *Error // failure
	answered               []bool // by key
	taken                  int
	found, missing, failed int
}

func (l *collected) take(a keyAnswer) {
	if l.answered == nil {
		l.answered = make([]bool, len(l.keys))
	}
	if l.answered[a.key] {
		return
	}
	l.answered[a.key] = true
	l.taken++
	if l.bytes += int64(len(a.answer.Rows)); l.bytes > l.maxBytes && l.over == nil {
		l.over = refusal.Bad("too_large", "keys",
			"the answer would have more than %d MiB: ask for fewer keys, columns or rows",
			l.maxBytes>>20)
		l.stop()
	}
	if l.over != nil {
		a.answer = Answer{Err: l.over}
	}
	result := "found"
	switch {
	case a.answer.Err != nil:
		result = "failed"
		l.failed++
		l.first = cmp.Or(l.first, a.answer.Err)
	case a.answer.Rows == nil:
		result = "missing"
		l.missing++
	default:
		l.found++
	}
	l.counted.WithLabelValues(result).Inc()
	b := appendKeyAnswer(nil, a, l.keys[a.key])
	switch {
	case !l.lines:
		if l.results == nil {
			l.results = make([][]byte, len(l.keys))
		}
		l.results[a.key] = b
	case l.out == nil && a.answer.Err != nil: // all may fail yet, and the status say so
		l.results = append(l.results, b)
	default:
		if l.out == nil {
			l.out = reply.New(l.w, l.r, ndjson)
			for _, waiting := range l.results {
				l.line(waiting)
			}
			l.results = nil
		}
		l.line(b)
	}
}

// line writes a line, if there is anybody to read it.
func (l *collected) line(b []byte) {
	if !l.broken {
		_, err := l.out.Write(append(b, '\n'))
		l.broken = err != nil
	}
}

// flush sends lines when no more are there.
func (l *collected) flush() {
	if l.out != nil && !l.broken {
		l.broken = l.out.Flush() != nil
	}
}

// end writes what is left, or returns why there is no answer.
func (l *collected) end() error {
	for i := range l.keys {
		if l.taken == len(l.keys) {
			break
		}
		l.take(keyAnswer{Answer{Err: &Error{Status: http.StatusServiceUnavailable,
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
		l.metrics.AddPartial()
	}
	if l.lines {
		l.line(append(append([]byte{'{'}, counts...), '}'))
		l.out.End()
		if l.failed > 0 {
			l.w.Header().Set(http.TrailerPrefix+reply.PartialHeader, strconv.Itoa(l.failed))
		}
		return nil
	}
	if l.failed > 0 {
		l.w.Header().Set(reply.PartialHeader, strconv.Itoa(l.failed))
	}
	out := reply.New(l.w, l.r, "application/json")
	defer out.End()
	out.WriteString("{")
	_, _ = out.Write(counts)
	for i, b := range l.results {
		out.WriteString([...]string{`,"results":[`, ","}[min(i, 1)])
		_, _ = out.Write(b)
	}
	out.WriteString("]}\n") // a client that went away misses nothing
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
	case a.answer.Err != nil:
		b = literal.AppendString(append(b, `,"error":{"reason":`...), a.answer.Err.Reason)
		b = literal.AppendString(append(b, `,"message":`...), a.answer.Err.Message)
		b = append(b, '}')
	case a.answer.Rows == nil:
		b = append(b, `,"found":false`...)
	default:
		b = append(append(b, `,"found":true,"rows":`...), a.answer.Rows...)
		if a.answer.More {
			b = append(b, `,"more":true`...)
		}
	}
	return append(b, '}')
}
