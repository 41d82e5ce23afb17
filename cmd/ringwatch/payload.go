package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/url"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"time"
)

// payload is one series in an answer of /v1/nodes/{id}/metrics.
type payload struct {
	Metric string
	Type   string
	Unit   string
	Labels map[string]string
	Values []value
}

// value is one value of a series. Numbers are texts with all their digits.
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

// number reads a number of an answer; what is not there or no number is NaN.
func number(text string) float64 {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return math.NaN()
	}
	return v
}

// name is the series as PromQL writes it, without what all series of a node share.
func (p *payload) name() string {
	if len(p.Labels) == 0 {
		return plain(p.Metric)
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
	return plain(sb.String() + "}")
}

// metrics asks for a node's values. partial says in words what they may lack.
func (c *client) metrics(ctx context.Context, node string,
	query url.Values) (all []payload, partial []string, err error) {
	var answers []struct {
		Payload []payload
		Partial []string
	}
	if err := c.ask(ctx, metricsPath(node), query, &answers); err != nil {
		return nil, nil, err
	}
	for _, a := range answers {
		all, partial = append(all, a.Payload...), append(partial, a.Partial...)
	}
	return all, partial, nil
}

// warnPartial tells a person what an answer may lack, beside the answer.
func warnPartial(out io.Writer, partial []string) {
	for _, text := range partial {
		fmt.Fprintln(out, "ringwatch: the answer may lack something:", plain(text))
	}
}

func metricsPath(node string) string { return "/v1/nodes/" + url.PathEscape(node) + "/metrics" }

// globSelector turns a glob on a metric's name into a selector: * stands for any characters, ?
// for one.
func globSelector(glob string) string {
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

// human writes a number in few characters, with its unit where that has a short form.
func human(v float64, unit string) string {
	switch {
	case math.IsNaN(v):
		return "-"
	case unit == "seconds" && v != 0 && math.Abs(v) < 1e-3:
		return short(v*1e6) + "µs"
	case unit == "seconds" && v != 0 && math.Abs(v) < 1:
		return short(v*1e3) + "ms"
	case unit == "seconds":
		return short(v) + "s"
	case unit == "bytes":
		for _, u := range []string{"B", "KiB", "MiB", "GiB", "TiB"} {
			if math.Abs(v) < 1024 || u == "TiB" {
				return short(v) + u
			}
			v /= 1024
		}
	}
	return short(v)
}

// sixDigits writes a number of an answer for people: whole as it is, else with six digits that
// matter. What is no number stays as it is.
func sixDigits(text string) string {
	v, err := strconv.ParseFloat(text, 64)
	a := math.Abs(v)
	switch {
	case err != nil || math.IsInf(v, 0) || math.IsNaN(v):
		return plain(text)
	case a >= 1e15:
		return strconv.FormatFloat(v, 'g', 6, 64)
	case a >= 1e5:
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}

// short writes a number with about four digits.
func short(v float64) string {
	a := math.Abs(v)
	switch {
	case a >= 1e15:
		return strconv.FormatFloat(v, 'e', 2, 64)
	case a >= 1000 || v == math.Trunc(v):
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 100:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case a >= 10:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}
