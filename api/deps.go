package api

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/api/advice"
	"github.com/ringwatch/ringwatch/api/eventlog"
	"github.com/ringwatch/ringwatch/api/keys"
	"github.com/ringwatch/ringwatch/api/lookup"
	"github.com/ringwatch/ringwatch/api/qps"
	"github.com/ringwatch/ringwatch/api/report"
	"github.com/ringwatch/ringwatch/api/safe"
	"github.com/ringwatch/ringwatch/api/series"
	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/query/catalog"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/query/roster"
)

// Deps are what the server works with.
type Deps struct {
	// Admit returns who a request comes from, as account.Door does.
	Admit func(*http.Request) (account.Principal, error)
	// Limit counts a request of an account, and of one of its nodes if node is not empty, as
	// limit.Limiter.Take does: it returns 0, or how long to wait and whose limit was met. nil:
	// there are no limits.
	Limit func(ctx context.Context, account, node string) (after time.Duration, whose string)

	// Reader reads what nodes have sent. The server's metrics and its own may go into one registry.
	Reader *read.Reader
	// StoreReady returns nil when the store answers.
	StoreReady func(context.Context) error
	// Warning returns what an operator should know of the store although it is ready, or ""; nil:
	// nothing ever.
	Warning func(context.Context) string

	// Catalog returns an account's catalogue, whose entries Engine evaluates where they are asked
	// for by name. nil: there are no such names.
	Engine  *query.Engine
	Catalog func(account string) *catalog.Catalog

	// Series knows which series there are; nil: there are no endpoints for them.
	Series series.Index
	// SeriesState says in words how fresh Series is, "ok" if all is well; nil if there is no
	// Series.
	SeriesState func() string

	// Lookup reads rows by key; nil: there are no tables for it.
	Lookup lookup.Read
	// Work tells who asks for how much of Cassandra; nil: there is no endpoint for it.
	Work qps.Usage

	// Report makes reports of clusters; nil: there is no endpoint for them.
	Report report.MakeFor

	// Safe returns an account's conditions for maintenance, which Engine evaluates; nil: there is
	// no endpoint for them.
	Safe func(account string) *safe.Conditions

	// Events reads what happened on an account's nodes; nil: there are no endpoints for that. It
	// does not look at what a key may see: clusters are named by the caller.
	Events eventlog.Read
	// Advice returns what an account is told of its alerts, by numbers that Engine has and by
	// Events; nil: there is no endpoint for it.
	Advice func(account string) *advice.Rules

	// Forget puts into every process's roster that a node has left; nil: nobody can.
	Forget func(context.Context, roster.Record) error

	// Installed is how this Ringwatch is installed.
	Installed Installation
	// Away returns when nobody took frames, as read.Sources.Away does. Nil: nothing is known of
	// it.
	Away func() []read.Span

	// MakeKey makes keys for POST /v1/keys; nil: keys are in the configuration only.
	MakeKey keys.Make
	// Sessions lets people sign in to the console for longer than a page lives; nil: nobody can.
	Sessions *account.Sessions

	// RecentReady returns nil when the recent source answers; nil if there is none.
	RecentReady func(context.Context) error

	// Routes are endpoints of other packages.
	Routes []listener.Route

	// Near reports whether the process is near its memory limit, so that it takes no new work.
	// nil: never.
	Near func() bool

	Metrics *prometheus.Registry // the server's own metrics go in, /metrics shows all that is in
	Log     *slog.Logger
}
