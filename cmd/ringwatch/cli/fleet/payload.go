package fleet

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/screen"
)

// Payload is one series in an answer of /v1/nodes/{id}/metrics.
type Payload struct {
	Metric string
	Type   string
	Unit   string
	Labels map[string]string
	Values []value
}

// Value is one value of a series. Numbers are texts with all their digits.
type value struct {
	Value string
	Time  time.Time
	summary
	Interval *summary // histograms: what came since the value before
	Samples  string   // rollups only: how many values this is of
	Mean     string   // of a gauge's rollup
	Increase string   // of a counter's
}

// summary is what a histogram's value says in short.
type summary struct {
	Count, P50, P99 string
}

// Name is the series as PromQL writes it, without what all series of a node share.
func (p *Payload) Name() string {
	if len(p.Labels) == 0 {
		return screen.Plain(p.Metric)
	}
	names := make([]string, 0, len(p.Labels))
	for n := range p.Labels {
		names = append(names, n)
	}
	sort.Strings(names)
	var sb strings.Builder
	sb.WriteString(p.Metric)
	for i, n := range names {
		sb.WriteByte("{,"[min(i, 1)])
		sb.WriteString(n + "=" + strconv.Quote(p.Labels[n]))
	}
	return screen.Plain(sb.String() + "}")
}

// AskMetrics asks for a node's values. partial says in words what they may lack.
func AskMetrics(ctx context.Context, c *client.Client, node string,
	query url.Values) (all []Payload, partial []string, err error) {
	var answers []struct {
		Payload []Payload
		Partial []string
	}
	if err := c.Ask(ctx, MetricsPath(node), query, &answers); err != nil {
		return nil, nil, err
	}
	for _, a := range answers {
		all, partial = append(all, a.Payload...), append(partial, a.Partial...)
	}
	return all, partial, nil
}

// WarnPartial tells a person what an answer may lack, beside the answer.
func WarnPartial(out io.Writer, partial []string) {
	for _, text := range partial {
		fmt.Fprintln(out, "ringwatch: the answer may lack something:", screen.Plain(text))
	}
}

// MetricsPath is the API's path of a node's values.
func MetricsPath(node string) string { return "/v1/nodes/" + url.PathEscape(node) + "/metrics" }

// GlobSelector turns a glob on a metric's name into a selector: * stands for any characters, ?
// for one.
func GlobSelector(glob string) string {
	if !strings.ContainsAny(glob, "*?") {
		return "{__name__=" + strconv.Quote(glob) + "}"
	}
	var sb strings.Builder
	for _, r := range glob {
		switch r {
		case '*':
			sb.WriteString(".*")
		case '?':
			sb.WriteByte('.')
		default:
			sb.WriteString(regexp.QuoteMeta(string(r)))
		}
	}
	return "{__name__=~" + strconv.Quote(sb.String()) + "}" // selectors anchor at both ends
}
