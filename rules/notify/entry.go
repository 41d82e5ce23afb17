package notify

import (
	"encoding/json"
	"fmt"

	"github.com/ringwatch/ringwatch/stream"
)

// EntryOf is the alert as the topic has it: its key is the fingerprint, so the last entry of a key
// says in which state the alert is.
func EntryOf(a *Alert) (stream.Entry, error) {
	value, err := json.Marshal(a)
	if err != nil {
		return stream.Entry{}, fmt.Errorf("notify: an alert cannot be written as JSON: %w", err)
	}
	return stream.Entry{
		Account: a.Account, Cluster: a.Cluster, Key: a.Fingerprint(), Value: value,
	}, nil
}

// AlertOf reads what EntryOf wrote. Whose it is says the key, whatever the value says.
func AlertOf(e stream.Entry) (Alert, error) {
	var a Alert
	if err := json.Unmarshal(e.Value, &a); err != nil {
		return Alert{}, fmt.Errorf("notify: an entry of the topic is not an alert: %w", err)
	}
	a.Account, a.Cluster = e.Account, e.Cluster
	if a.State != Firing && a.State != Resolved {
		return Alert{}, fmt.Errorf("notify: an entry of the topic is not an alert: state %q",
			a.State)
	}
	return a, nil
}
