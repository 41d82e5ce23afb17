// Package qps answers who asks for how much of Cassandra: /v1/qps. Begin with Handler, and Of.
//
// What it promises: an account is told of its own clients, and an operator of all.
package qps

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/api/refusal"
	"github.com/ringwatch/ringwatch/api/reply"
	"github.com/ringwatch/ringwatch/api/request"
	"github.com/ringwatch/ringwatch/ring/throttle"
)

// Rate is how much of Cassandra somebody asks for, in all processes together, as a mean of
// the last seconds.
type Rate struct {
	// of workload; this and what follows is empty where it is added up
	Class      string `json:"class,omitempty"`
	Client     string `json:"client,omitempty"`
	Keyspace   string `json:"keyspace,omitempty"`
	Table      string `json:"table,omitempty"`
	Datacenter string `json:"datacenter,omitempty"`

	OperationsPerSecond float64 `json:"operations_per_second"`
	RequestsPerSecond   float64 `json:"requests_per_second"`
	RefusedPerSecond    float64 `json:"refused_per_second"` // operations
	Waiting             float64 `json:"waiting"`            // operations
	Running             float64 `json:"running"`            // operations
	// What the requests took that ended; 0: none did.
	MeanSeconds float64 `json:"mean_seconds"`
	P50Seconds  float64 `json:"p50_seconds"`
	P99Seconds  float64 `json:"p99_seconds"`
	// LimitPerSecond is the configured limit of the class, and HealthFactor the part of it that
	// the cluster's health leaves.
	LimitPerSecond float64 `json:"limit_per_second,omitempty"`
	HealthFactor   float64 `json:"health_factor,omitempty"`
}

// Usage returns who asks for how much of Cassandra, the most first: of the clients that keep
// keeps, added up by class, client, table or datacenter, as by says. partial is why it is not all
// that there is, empty if it is.
type Usage func(ctx context.Context, keep func(client string) bool,
	by []string) (list []Rate, partial string, err error)

// Of tells what a throttle has admitted in all processes together.
func Of(t *throttle.Throttle) Usage {
	return func(ctx context.Context, keep func(client string) bool,
		by []string) ([]Rate, string, error) {
		report, err := t.Usage(ctx)
		if err != nil {
			return nil, "", err
		}
		theirs := slices.DeleteFunc(report.Usage, func(u throttle.Usage) bool {
			return !keep(u.Client)
		})
		groups := throttle.Group(theirs, func(w throttle.Work) throttle.Work {
			var group throttle.Work
			for _, word := range by {
				switch word {
				case "class":
					group.Class = w.Class
				case "client":
					group.Client = w.Client
				case "table":
					group.Keyspace, group.Table = w.Keyspace, w.Table
				case "datacenter":
					group.Datacenter = w.Datacenter
				}
			}
			return group
		})
		var list []Rate
		for _, u := range groups {
			r := Rate{
				Class: u.Class, Client: u.Client, Keyspace: u.Keyspace, Table: u.Table,
				Datacenter:          u.Datacenter,
				OperationsPerSecond: u.OperationsPerSecond, RequestsPerSecond: u.RequestsPerSecond,
				RefusedPerSecond: u.RefusedPerSecond, Waiting: u.Waiting, Running: u.Running,
				MeanSeconds: u.Mean.Seconds(), P50Seconds: u.P50.Seconds(),
				P99Seconds: u.P99.Seconds(),
			}
			for _, c := range report.Classes {
				if c.Class == u.Class {
					r.LimitPerSecond, r.HealthFactor = c.OperationsPerSecond, c.Factor
				}
			}
			list = append(list, r)
		}
		partial := ""
		if report.Alone {
			partial = "Redis does not answer: only this process is shown"
		}
		return list, partial, nil
	}
}

// Handler has the endpoint.
type Handler struct {
	usage     Usage
	operators []string // accounts that are told of all clients
	metrics   *reply.Metrics
}

// New returns the endpoint.
func New(usage Usage, operators []string, metrics *reply.Metrics) *Handler {
	return &Handler{usage: usage, operators: operators, metrics: metrics}
}

// Routes returns the endpoint.
func (h *Handler) Routes() []listener.Route {
	return []listener.Route{{Pattern: "GET /v1/qps", Scope: account.Admin, Handle: h.getQPS}}
}

var groupings = []string{"class", "client", "table", "datacenter"}

// getQPS answers /v1/qps: a JSON list of what the account's clients ask for, and for operators of
// what all do. A client is the account's if its name is the account's, or begins with that and a
// slash; account names have none.
func (h *Handler) getQPS(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	values, err := request.Parameters(r, "by")
	if err != nil {
		return err
	}
	by := groupings
	if values.Has("by") {
		by = strings.Split(values.Get("by"), ",")
		for _, word := range by {
			if !slices.Contains(groupings, word) {
				return refusal.UnknownWord("by", word, groupings)
			}
		}
	}
	all := slices.Contains(h.operators, p.Account)
	list, partial, err := h.usage(r.Context(), func(client string) bool {
		return all || client == p.Account || strings.HasPrefix(client, p.Account+"/")
	}, by)
	if err != nil {
		return &listener.Error{Status: http.StatusServiceUnavailable, Reason: "unavailable",
			Message:    "the usage of the database cannot be read now: try again in a moment",
			RetryAfter: 1, Cause: fmt.Errorf("qps: %w", err)}
	}
	if partial != "" {
		h.metrics.NotePartial(w, []string{partial})
	}
	if list == nil {
		list = []Rate{}
	}
	return reply.JSON(w, r, list)
}
