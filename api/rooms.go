package api

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/api/activity"
	"github.com/ringwatch/ringwatch/api/advice"
	"github.com/ringwatch/ringwatch/api/eventlog"
	"github.com/ringwatch/ringwatch/api/fleet"
	"github.com/ringwatch/ringwatch/api/keys"
	"github.com/ringwatch/ringwatch/api/latest"
	"github.com/ringwatch/ringwatch/api/lookup"
	"github.com/ringwatch/ringwatch/api/nodes"
	"github.com/ringwatch/ringwatch/api/qps"
	"github.com/ringwatch/ringwatch/api/reply"
	"github.com/ringwatch/ringwatch/api/report"
	"github.com/ringwatch/ringwatch/api/request"
	"github.com/ringwatch/ringwatch/api/safe"
	"github.com/ringwatch/ringwatch/api/scrape"
	"github.com/ringwatch/ringwatch/api/series"
	"github.com/ringwatch/ringwatch/api/values"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/query/selector"
	"github.com/ringwatch/ringwatch/query/share"
)

// newRooms makes the rooms for which there is what they need, and returns their endpoints.
func newRooms(c *Config, d *Deps) ([]listener.Route, error) {
	parser, err := selector.New(c.Selectors)
	if err != nil {
		return nil, err
	}
	selectors := request.NewSelectors(parser, c.MaxSelectors)
	metrics := reply.NewMetrics(d.Metrics)
	reader, found := d.Reader, fleet.New(d.Reader, c.NodesTTL)
	encodings, err := latest.New(c.AnswersBytes, reader, shareReads(reader), d.Metrics)
	if err != nil {
		return nil, fmt.Errorf("cannot keep answers: %w", err)
	}
	scraping := scrape.Config{Fleet: found, Reader: reader, Part: reader.Shared.Part,
		State: reader.StateAt, Encodings: encodings, Limits: c.limits(), Metrics: metrics,
		Clock: c.Clock}
	if d.Engine != nil {
		scraping.Queue = d.Engine.Begin
	}
	routes := slices.Concat(
		nodes.New(nodes.Config{Fleet: found, Reader: reader, Trouble: reader,
			Roster: reader.Roster(), Forget: d.Forget, PublicURL: c.PublicURL,
			DiscoverySpan: c.DiscoverySpan, Metrics: metrics, Clock: c.Clock,
			Log: d.Log}).Routes(),
		values.New(values.Config{Fleet: found, Reader: reader, Part: reader.Shared.Part,
			Rollups:  reader,
			InFlight: reader.InFlight, Encodings: encodings, Selectors: selectors,
			Catalog: d.Catalog, Engine: d.Engine, Limits: c.limits(), MaxRange: c.MaxRange,
			Metrics: metrics, Clock: c.Clock}).Routes(),
		scrape.New(scraping).Routes(),
		lookup.NewHandler(lookup.HandlerConfig{Read: d.Lookup, Timeout: c.RequestTimeout,
			MaxBytes: c.MaxResponseBytes, Metrics: metrics, Registry: d.Metrics,
			Log: d.Log}).Routes(),
		keys.New(keys.Config{Make: d.MakeKey, Sessions: d.Sessions,
			TLS: strings.HasPrefix(c.PublicURL, "https:"), Clock: c.Clock, Log: d.Log}).Routes(),
		[]listener.Route{{Pattern: "GET /v1/installation", Handle: d.getInstallation}},
		d.Routes)
	if d.Series != nil {
		routes = append(routes, series.New(series.Config{Index: d.Series,
			InFlight: reader.InFlight, Selectors: selectors, MaxSeries: c.MaxSeries,
			MaxRange: c.MaxRange, Metrics: metrics, Clock: c.Clock}).Routes()...)
	}
	if d.Work != nil {
		routes = append(routes, qps.New(d.Work, c.Operators, metrics).Routes()...)
	}
	if d.Events != nil {
		routes = append(routes, eventlog.New(d.Events, found, metrics, c.Clock).Routes()...)
	}
	if d.Engine != nil {
		routes = append(routes, activity.New(d.Engine, found, metrics, c.Clock).Routes()...)
	}
	return append(routes, newAdvisers(c, d, found, metrics)...), nil
}

// newAdvisers are the rooms that say in words what numbers suggest.
func newAdvisers(c *Config, d *Deps, found *fleet.Fleet,
	metrics *reply.Metrics) (routes []listener.Route) {
	if d.Report != nil {
		routes = append(routes, report.NewHandler(d.Report, found, c.MaxResponseBytes, metrics,
			c.Clock).Routes()...)
	}
	if d.Safe != nil {
		routes = append(routes, safe.NewHandler(d.Safe, d.Engine, found, d.Reader.Left,
			c.Clock).Routes()...)
	}
	if d.Advice != nil {
		routes = append(routes, advice.NewHandler(advice.HandlerConfig{Rules: d.Advice,
			Engine: d.Engine, Fleet: found, Events: d.Events, Clock: c.Clock}).Routes()...)
	}
	return routes
}

// shareReads lets requests for the same encoding share it.
func shareReads(reader *read.Reader) latest.Share {
	return func(ctx context.Context, account, name string,
		encode func(context.Context) (*latest.Encoded, error)) (*latest.Encoded, error) {
		return share.Read(ctx, reader.Shared, account, name, encode)
	}
}
