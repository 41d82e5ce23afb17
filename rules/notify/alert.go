package notify

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/prometheus/prometheus/model/labels"
)

// State is what an alert is in when somebody is told of it.
type State string

// Alerts that are pending are told to nobody.
const (
	Firing   State = "firing"
	Resolved State = "resolved"
)

// Alert is one alert of one account at one state. Its JSON is the value of the topic's entries; a
// field that is empty is left out.
type Alert struct {
	Account string `json:"account"`           // whose it is
	Cluster string `json:"cluster,omitempty"` // the cluster it is about; empty: several of them
	Group   string `json:"group,omitempty"`   // the rule group's name
	File    string `json:"file,omitempty"`    // the rule file's name

	Labels      labels.Labels `json:"labels"` // alertname among them
	Annotations labels.Labels `json:"annotations"`

	State      State     `json:"state"`
	ActiveAt   time.Time `json:"activeAt"`            // since when the expression holds
	StartsAt   time.Time `json:"startsAt"`            // since when it fires
	EndsAt     time.Time `json:"endsAt,omitzero"`     // when it ended; zero while it fires
	ValidUntil time.Time `json:"validUntil,omitzero"` // fires until then unless it is repeated

	Value        Value  `json:"value"`                  // of the expression, last time
	Expression   string `json:"expression,omitempty"`   // in PromQL
	GeneratorURL string `json:"generatorURL,omitempty"` // where a person sees the expression
}

// Fingerprint is a hash of the labels, 16 hexadecimal digits. It is the same in every process.
func (a *Alert) Fingerprint() string { return fmt.Sprintf("%016x", labels.StableHash(a.Labels)) }

// Identity tells one firing of an alert from all others: the account, the labels' fingerprint and
// since when the expression holds. It is the same in every process and after a restart.
func (a *Alert) Identity() string {
	return a.series() + "@" + strconv.FormatInt(a.ActiveAt.UnixMilli(), 10)
}

// series names all firings of the same labels.
func (a *Alert) series() string { return a.Account + "/" + a.Fingerprint() }

// changed is when the alert came into its state.
func (a *Alert) changed() time.Time {
	if a.State == Resolved {
		return a.EndsAt
	}
	return a.StartsAt
}

// size is about what the alert takes of memory.
func (a *Alert) size() int {
	n := 400 + len(a.Account) + len(a.Cluster) + len(a.Group) + len(a.File) + len(a.Expression) +
		len(a.GeneratorURL)
	for _, of := range []labels.Labels{a.Labels, a.Annotations} {
		of.Range(func(l labels.Label) { n += len(l.Name) + len(l.Value) + 4 })
	}
	return n
}

// Value is a number that is text in JSON, as in Prometheus's: "NaN" and "+Inf" are values, too.
type Value float64

// MarshalJSON implements json.Marshaler.
func (v Value) MarshalJSON() ([]byte, error) {
	return json.Marshal(strconv.FormatFloat(float64(v), 'g', -1, 64))
}

// UnmarshalJSON implements json.Unmarshaler.
func (v *Value) UnmarshalJSON(b []byte) error {
	var text string
	if err := json.Unmarshal(b, &text); err != nil {
		return err
	}
	f, err := strconv.ParseFloat(text, 64)
	*v = Value(f)
	return err
}
