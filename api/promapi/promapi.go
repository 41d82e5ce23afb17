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
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/prometheus/prometheus/util/annotations"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/query/read"
)

// Deps are what the endpoints work with.
type Deps struct {
	Engine *query.Engine
	Reader *read.Reader
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
