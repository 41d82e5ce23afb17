package reply

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// JSON answers with a value. The error is that of encoding it.
func JSON(w http.ResponseWriter, r *http.Request, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	out := New(w, r, "application/json")
	_, _ = out.Write(append(b, '\n')) // a client that went away misses nothing
	out.End()
	return nil
}

const (
	// TotalHeader tells how many there are of a list, whether the answer has all of them or limit=
	// cut it.
	TotalHeader = "Ringwatch-Total"
	// NextHeader is there when limit= cut a list: what after= takes for the rest of it.
	NextHeader = "Ringwatch-Next"
	// PartialHeader tells how much of what is stored is missing in an answer because it cannot be
	// read: damaged, or written by a newer program.
	PartialHeader = "Ringwatch-Partial"
)

// Metrics count what answers have, and what they lack.
type Metrics struct {
	values  prometheus.Counter
	partial prometheus.Counter
}

// NewMetrics registers the metrics.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	m := &Metrics{
		values: prometheus.NewCounter(prometheus.CounterOpts{Name: "ringwatch_api_points_total",
			Help: "Values in answers."}),
		partial: prometheus.NewCounter(
			prometheus.CounterOpts{Name: "ringwatch_api_partial_answers_total",
				Help: "Answers that lack something which is stored, because it cannot be read."}),
	}
	reg.MustRegister(m.values, m.partial)
	return m
}

// AddValues counts the values of an answer.
func (m *Metrics) AddValues(n int) { m.values.Add(float64(n)) }

// AddPartial counts an answer that lacks something.
func (m *Metrics) AddPartial() { m.partial.Inc() }

// NotePartial sets PartialHeader before an answer is begun, if it lacks something, and counts it.
func (m *Metrics) NotePartial(w http.ResponseWriter, missing ...[]string) {
	n := 0
	for _, texts := range missing {
		n += len(texts)
	}
	m.NoteMissing(w, n)
}

// NoteMissing is NotePartial where how much is missing is counted and not said.
func (m *Metrics) NoteMissing(w http.ResponseWriter, n int) {
	if n > 0 {
		w.Header().Set(PartialHeader, strconv.Itoa(n))
		m.partial.Inc()
	}
}
