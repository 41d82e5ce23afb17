package wire

import (
	"context"
	"maps"
	"strconv"

	"github.com/goccy/go-yaml"
	"github.com/prometheus/common/model"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/api/loki"
	"github.com/ringwatch/ringwatch/api/promapi"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/clock"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/program"
	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/rules"
	"github.com/ringwatch/ringwatch/store"
	"github.com/ringwatch/ringwatch/window"
)

// prometheusAPI is Prometheus's own API.
func prometheusAPI(p *Process, q questions, board *rules.Status) *promapi.API {
	return promapi.New(promapi.Deps{
		Rules: board.PromRules(q.selectors), Alerts: board.PromAlerts,
		Engine: q.engine, Reader: q.reader, Version: program.Version(),
		MaxRequestBytes: p.Config.API.MaxRequestBytes, Clock: clock.Now, Log: p.Log,
		Config: shownConfig(p.Config.Query), Flags: shownFlags(&p.Config.Query),
	})
}

// lokiAPI is the part of Loki's API that Grafana needs, over events.
func lokiAPI(p *Process, q questions, db *store.Store) *loki.API {
	return loki.New(loki.Deps{
		Events: APIStore{db}.Events, Selectors: q.selectors, Clock: clock.Now, Log: p.Log,
		Nodes: func(ctx context.Context, who account.Principal) ([]window.Node, error) {
			return q.reader.Nodes(ctx, who, p.Config.API.NodesTTL)
		},
	})
}

// shownFlags are what /api/v1/status/flags says: the limits of queries, under the names that they
// have among a Prometheus's flags. Any key of scope read sees it, so it names what concerns a
// client, and neither files nor hosts nor keys.
func shownFlags(c *query.Config) map[string]string {
	return map[string]string{
		"query.timeout":         model.Duration(c.Timeout).String(),
		"query.lookback-delta":  model.Duration(c.Lookback).String(),
		"query.max-samples":     strconv.Itoa(c.MaxSamples),
		"query.max-concurrency": strconv.Itoa(c.MaxConcurrent),
	}
}

// shownConfig is what /api/v1/status/config says: the section query of the configuration, without
// the names of files.
func shownConfig(c query.Config) func() string {
	c.LogFile, c.ActiveDir = "", ""
	return func() string {
		section := map[string]any{}
		text, err := yaml.Marshal(c)
		if err == nil {
			err = yaml.Unmarshal(text, &section)
		}
		if err != nil {
			return "" // cannot happen: it was read as YAML
		}
		maps.DeleteFunc(section, func(_ string, value any) bool { return value == "" })
		text, _ = yaml.Marshal(map[string]any{"query": section})
		return string(text)
	}
}
