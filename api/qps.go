package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/ring/throttle"
)

// WorkRate is how much of Cassandra somebody asks for, in all processes together, as a mean of
// the last seconds.
type WorkRate struct {
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

// Work returns who asks for how much of Cassandra, the most first: of the clients that keep
// keeps, added up by class, client, table or datacenter, as by says. partial is why it is not all
// that there is, empty if it is.
type Work func(ctx context.Context, keep func(client string) bool,
	by []string) (list []WorkRate, partial string, err error)

// WorkOf tells what a throttle has admitted in all processes together.
func WorkOf(t *throttle.Throttle) Work {
	return func(ctx context.Context, keep func(client string) bool,
		by []string) ([]WorkRate, string, error) {
		report, err := t.Usage(ctx)
		if err != nil {
			return nil, "", err
		}
		kept := slices.DeleteFunc(report.Usage, func(u throttle.Usage) bool {
			return !keep(u.Client)
		})
		groups := throttle.Group(kept, func(w throttle.Work) throttle.Work {
			var of throttle.Work
			for _, part := range by {
				switch part {
				case "class":
					of.Class = w.Class
				case "client":
					of.Client = w.Client
				case "table":
					of.Keyspace, of.Table = w.Keyspace, w.Table
				case "datacenter":
					of.Datacenter = w.Datacenter
				}
			}
			return of
		})
		var list []WorkRate
		for _, u := range groups {
			r := WorkRate{
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

// qpsRoutes are there if Deps.Work is.
func (s *Server) qpsRoutes() []route {
	if s.deps.Work == nil {
		return nil
	}
	return []route{{pattern: "GET /v1/qps", scope: account.Admin, scoped: s.getQPS}}
}

var workParts = []string{"class", "client", "table", "datacenter"}

// getQPS answers /v1/qps: a JSON list of what the account's clients ask for, and for accounts in
// Config.Operators of what all do. A client is the account's if its name is the account's, or
// begins with that and a slash; account names have none.
func (s *Server) getQPS(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	values, err := parameters(r, "by")
	if err != nil {
		return err
	}
	by := workParts
	if values.Has("by") {
		by = strings.Split(values.Get("by"), ",")
		for _, part := range by {
			if !slices.Contains(workParts, part) {
				return unknownWord("by", part, workParts)
			}
		}
	}
	all := slices.Contains(s.config.Operators, p.Account)
	list, partial, err := s.deps.Work(r.Context(), func(client string) bool {
		return all || client == p.Account || strings.HasPrefix(client, p.Account+"/")
	}, by)
	if err != nil {
		return &Error{Status: http.StatusServiceUnavailable, Reason: "unavailable",
			Message:    "the usage of the database cannot be read now: try again in a moment",
			RetryAfter: 1, Cause: fmt.Errorf("qps: %w", err)}
	}
	if partial != "" {
		s.notePartial(w, []string{partial})
	}
	if list == nil {
		list = []WorkRate{}
	}
	return writeJSON(w, r, list)
}
