package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"
)

// told is an alert that people were told of.
type told struct {
	Alert    string  `json:"alert"`
	Severity string  `json:"severity"`
	Node     int     `json:"node,omitempty"` // its number; 0: it names none
	Seconds  float64 `json:"seconds"`        // after the last step
	Right    bool    `json:"right"`          // it had to be told, or could be

	node, text, key string
	at              time.Time
}

// ear is the receiver. It notes what it is told.
type ear struct {
	server *httptest.Server

	mu       sync.Mutex
	list     []*told         // those that fired, in the order in which they were told
	open     map[string]bool // by key: told, and not yet that it ended
	messages []time.Time
}

// message is what Alertmanager's webhooks get.
type message struct {
	Alerts []struct {
		Status      string
		Labels      map[string]string
		Annotations map[string]string
	}
}

func newEar() *ear {
	e := &ear{open: map[string]bool{}}
	e.server = httptest.NewServer(http.HandlerFunc(e.hear))
	return e
}

func (e *ear) hear(w http.ResponseWriter, r *http.Request) {
	var m message
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 8<<20)).Decode(&m); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	now := time.Now()
	e.messages = append(e.messages, now)
	for _, a := range m.Alerts {
		if ofMachine(a.Labels) {
			continue
		}
		key := keyOf(a.Labels)
		if a.Status != "firing" {
			delete(e.open, key)
			continue
		}
		if e.open[key] {
			continue // it goes on
		}
		e.open[key] = true
		e.list = append(e.list, &told{Alert: a.Labels["alertname"], Severity: a.Labels["severity"],
			node: a.Labels["node"], at: now, key: key, text: strings.Join([]string{
				a.Annotations["summary"], a.Annotations["description"], a.Annotations["advice"],
			}, "\n")})
	}
}

func keyOf(labels map[string]string) string {
	var list []string
	for name, value := range labels {
		list = append(list, name+"="+value)
	}
	slices.Sort(list)
	return strings.Join(list, ",")
}

// since returns what was told from an instant on, and in how many messages.
func (e *ear) since(at time.Time) (list []*told, messages int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, t := range e.list {
		if !t.at.Before(at) {
			list = append(list, t)
		}
	}
	for _, m := range e.messages {
		if !m.Before(at) {
			messages++
		}
	}
	return list, messages
}

// waiting are the names of the alerts that were told and of which nobody was told that they ended.
func (e *ear) waiting() (names []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for key := range e.open {
		names = append(names, key)
	}
	return names
}
