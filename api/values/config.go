package values

import (
	"context"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/api/budget"
	"github.com/ringwatch/ringwatch/api/fleet"
	"github.com/ringwatch/ringwatch/api/instant"
	"github.com/ringwatch/ringwatch/api/latest"
	"github.com/ringwatch/ringwatch/api/reply"
	"github.com/ringwatch/ringwatch/api/request"
	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/query/catalog"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/rollup"
)

// Reader reads what nodes sent, as read.Reader.
type Reader interface {
	// Latest returns a node's newest state; its Window is nil without an error if none is known.
	Latest(ctx context.Context, account string, n *window.Node) (read.State, error)
	// Range returns a node's values from from to to, both inclusive and in ms, of what any of the
	// selectors selects.
	Range(ctx context.Context, account string, n *window.Node, from, to int64,
		selectors [][]*labels.Matcher) (read.Values, error)
}

// Part returns a context whose work gives its memory back when end is called, as
// share.Readings.Part.
type Part func(ctx context.Context) (within context.Context, end func())

// Rollups reads a node's rollups, as read.Reader.
type Rollups interface {
	// HasRollups reports whether Rollups may be called.
	HasRollups() bool
	// Rollups returns those of periods that hold instants from from to to, in ms, and in words what
	// is missing in them.
	Rollups(ctx context.Context, account string, n *window.Node, level rollup.Level, from, to int64,
		selectors []read.RollupSelector) (all []rollup.Series, missing []string, err error)
}

// Engine evaluates PromQL, as query.Engine.
type Engine interface {
	instant.Engine
	// Range evaluates an expression at from, from+step … until to.
	Range(ctx context.Context, who account.Principal, expr string, from, to time.Time,
		step time.Duration, o query.Options) (*query.Answer, error)
}

// InFlight says in words that frames of a cluster which belong to a range that ends at an instant,
// in ms, may still be on their way to the store, as read.Reader.InFlight.
type InFlight func(ctx context.Context, account, cluster string, to int64) []string

// Config is what a Handler works with.
type Config struct {
	Fleet     *fleet.Fleet
	Reader    Reader
	Part      Part
	Rollups   Rollups
	InFlight  InFlight
	Encodings *latest.Encodings
	Selectors *request.Selectors
	// Catalog returns an account's catalogue, whose entries Engine evaluates; nil: there are no
	// such names.
	Catalog  func(account string) *catalog.Catalog
	Engine   Engine
	Limits   budget.Limits
	MaxRange time.Duration
	Metrics  *reply.Metrics
	Clock    func() time.Time
}
