package alerts

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/fleet"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/screen"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
)

// Stretch is a time in which an alert fired without a pause.
type Stretch struct {
	Labels map[string]string `json:"labels"` // with alertname, and without alertstate
	From   time.Time         `json:"from"`
	To     time.Time         `json:"to"`     // when it was last recorded as firing
	Firing bool              `json:"firing"` // it fires now
}

// A past is asked for in so many steps at most, none shorter than shortestStep. A pause shorter
// than a step is not seen: a group of rules that is evaluated once a minute records an alert as
// often, which is no pause.
const (
	pastSteps    = 2000
	shortestStep = 90 * time.Second
)

func stepOf(span time.Duration) time.Duration {
	return max(shortestStep, (span / pastSteps).Round(time.Second))
}

// past prints when alerts fired, the newest first.
func (c *AlertsCmd) past(ctx context.Context, out io.Writer, api *client.Client,
	now time.Time) error {
	span, err := screen.ParseSpan("since", c.Since)
	if err != nil {
		return err
	}
	if c.State != "" || c.Wide {
		return exit.Usage(errors.New("--since lists what fired: leave out --state and --wide"))
	}
	if c.Cluster != "" {
		if err := fleet.CheckCluster(ctx, api, c.Cluster); err != nil {
			return err
		}
	}
	list, err := askPast(ctx, api, c.Cluster, now, span, stepOf(span))
	if err != nil {
		return err
	}
	if c.JSON {
		return screen.PrintJSON(out, list)
	}
	if len(list) == 0 {
		_, err := fmt.Fprintf(out, "Nothing fired within %s.\n", screen.Plain(c.Since))
		return err
	}
	alerts := make([]AlertInfo, len(list))
	for i := range list {
		alerts[i].Labels = list[i].Labels
	}
	names, err := askNames(ctx, api, alerts)
	if err != nil {
		return err
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "SEVERITY\tALERT\tFROM\tTO\tLASTED\tWHERE")
	for i := range list {
		s := &list[i]
		to, lasted := s.To.Local().Format(time.DateTime), s.To.Sub(s.From)
		if s.Firing {
			to, lasted = "fires", now.Sub(s.From)
		}
		seconds := max(0, lasted.Seconds())
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", screen.Dash(screen.Plain(s.Labels["severity"])),
			screen.Dash(screen.Plain(s.Labels["alertname"])), s.From.Local().Format(time.DateTime),
			to, (&fleet.NodeInfo{AgeSeconds: &seconds}).Age(), alerts[i].where(names))
	}
	return t.Flush()
}

// askPast asks the series ALERTS, which rules record, when its alerts fired.
func askPast(ctx context.Context, api *client.Client, cluster string, now time.Time,
	span, step time.Duration) ([]Stretch, error) {
	where := `alertstate="firing"`
	if cluster != "" {
		where += ",cluster=" + strconv.Quote(cluster)
	}
	firsts, err := askTimes(ctx, api, "first", where, now, span, step)
	if err != nil {
		return nil, err
	}
	lasts, err := askTimes(ctx, api, "last", where, now, span, step)
	if err != nil {
		return nil, err
	}
	firing, err := AskAlerts(ctx, api)
	if err != nil {
		return nil, err
	}
	fires := map[string]bool{}
	for i := range firing {
		fires[firing[i].key()] = firing[i].State == "firing"
	}
	list := []Stretch{}
	for key, first := range firsts {
		last := lasts[key]
		for i, at := range first.at {
			if i == 0 || at.Sub(first.at[i-1]) > step {
				from := first.times[at]
				list = append(list, Stretch{Labels: first.labels, From: from, To: from})
			}
			if s := &list[len(list)-1]; last != nil && last.times[at].After(s.To) {
				s.To = last.times[at]
			}
		}
		if n := len(first.at); n > 0 && now.Sub(first.at[n-1]) <= step {
			list[len(list)-1].Firing = fires[key]
		}
	}
	slices.SortFunc(list, func(a, b Stretch) int {
		one, other := AlertInfo{Labels: a.Labels}, AlertInfo{Labels: b.Labels}
		return cmp.Or(b.From.Compare(a.From), cmp.Compare(one.key(), other.key()))
	})
	return list, nil
}

// alertTimes are an alert's times of a kind, by the end of the step that they lie in.
type alertTimes struct {
	labels map[string]string
	at     []time.Time
	times  map[time.Time]time.Time
}

// askTimes returns, by AlertInfo.key, the first or the last time of each step at which an alert
// was recorded.
func askTimes(ctx context.Context, api *client.Client, kind, where string, now time.Time,
	span, step time.Duration) (map[string]*alertTimes, error) {
	var answer struct {
		Data struct {
			Result []struct {
				Metric map[string]string
				Values [][2]json.RawMessage
			}
		}
	}
	seconds := strconv.FormatInt(int64(step/time.Second), 10)
	if err := api.Ask(ctx, "/api/v1/query_range", url.Values{
		"query": {"ts_of_" + kind + "_over_time(ALERTS{" + where + "}[" + seconds + "s])"},
		"start": {strconv.FormatInt(now.Add(-span).Unix(), 10)},
		"end":   {strconv.FormatInt(now.Unix(), 10)}, "step": {seconds},
	}, &answer); err != nil {
		return nil, err
	}
	all := map[string]*alertTimes{}
	for _, series := range answer.Data.Result {
		a := &alertTimes{labels: maps.Clone(series.Metric), times: map[time.Time]time.Time{}}
		delete(a.labels, "alertstate")
		delete(a.labels, "__name__")
		for _, v := range series.Values {
			var at float64
			var text string
			if json.Unmarshal(v[0], &at) != nil || json.Unmarshal(v[1], &text) != nil {
				continue
			}
			value, err := strconv.ParseFloat(text, 64)
			if err != nil {
				continue
			}
			end := time.UnixMilli(int64(at * 1000))
			a.at = append(a.at, end)
			a.times[end] = time.UnixMilli(int64(value * 1000))
		}
		info := AlertInfo{Labels: a.labels}
		all[info.key()] = a
	}
	return all, nil
}
