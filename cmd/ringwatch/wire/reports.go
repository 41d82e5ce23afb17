package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/prometheus/prometheus/promql"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/api/advice"
	"github.com/ringwatch/ringwatch/api/report"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/clock"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/settings"
	"github.com/ringwatch/ringwatch/memory"
	people "github.com/ringwatch/ringwatch/notify"
	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/query/catalog"
	"github.com/ringwatch/ringwatch/query/roster"
	"github.com/ringwatch/ringwatch/stream"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/events"
)

// Reporter makes the reports of all accounts.
type Reporter struct {
	ReportSource
	Config   *settings.ReportConfig
	Accounts []string
	Nodes    func(context.Context, account.Principal) ([]window.Node, error)
	Publish  func(context.Context, stream.Entry) error
	Log      *slog.Logger
}

// reportParts wires the daily reports: query.Engine → report → a directory, a webhook, a topic.
func reportParts(p *Process, q questions, source ReportSource) ([]Part, error) {
	if p.Config.Report.At == "" {
		return nil, nil
	}
	r := Reporter{ReportSource: source, Config: &p.Config.Report,
		Accounts: p.Config.Report.Accounts, Log: p.Log,
		Nodes: func(ctx context.Context, who account.Principal) ([]window.Node, error) {
			return q.reader.Nodes(ctx, who, time.Minute)
		},
		Publish: p.PublishReport}
	if len(r.Accounts) == 0 {
		for _, a := range p.Config.Accounts {
			r.Accounts = append(r.Accounts, a.Name)
		}
	}
	schedules, err := r.Schedules()
	if err != nil {
		return nil, exit.Usage(err)
	}
	var parts []Part
	for _, s := range schedules {
		parts = append(parts, s.Run)
	}
	return parts, nil
}

// PublishReport makes the topic of reports if need be, and puts one in.
func (p *Process) PublishReport(ctx context.Context, e stream.Entry) error {
	log, err := p.Topics.Log(ctx, p.Config.ReportsLog())
	if err != nil {
		return err
	}
	return log.Publish(ctx, e)
}

// Schedules returns one for each account.
func (r *Reporter) Schedules() ([]*report.Schedule, error) {
	at, err := r.Config.TimeOfDay()
	if err != nil {
		return nil, err
	}
	var list []*report.Schedule
	for _, name := range r.Accounts {
		who := account.Inside(name, r.Config.Clusters...)
		s := &report.Schedule{At: at, Now: clock.Now,
			Clusters: func(ctx context.Context) ([]string, error) { return r.clusters(ctx, who) },
			Make: func(ctx context.Context, cluster string,
				from, to time.Time) (*report.Report, error) {
				return r.report(ctx, who, cluster, from, to)
			},
			Failed: func(cluster string, err error) {
				r.Log.Error("the daily report failed; make it later with ringwatch report --day",
					"account", name, "cluster", cluster, "error", err)
			}}
		if dir := r.Config.Directory; dir != "" {
			s.Sinks = append(s.Sinks, inDirectory(filepath.Join(dir, name)))
		}
		if r.Config.Webhook != "" {
			sink, err := report.Webhook(r.Config.Webhook)
			if err != nil {
				return nil, err
			}
			s.Sinks = append(s.Sinks, sink)
		}
		if r.Config.Topic != "" {
			s.Sinks = append(s.Sinks, r.InTopic)
		}
		list = append(list, s)
	}
	return list, nil
}

// clusters returns those that have nodes, in order.
func (r *Reporter) clusters(ctx context.Context, who account.Principal) ([]string, error) {
	nodes, err := r.Nodes(ctx, who)
	if err != nil {
		return nil, err
	}
	var list []string
	for i := range nodes {
		list = append(list, nodes[i].Cluster)
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

func (r *Reporter) report(ctx context.Context, who account.Principal, cluster string,
	from, to time.Time,
) (*report.Report, error) {
	made, err := r.Make(ctx, who, cluster, from, to)
	if err != nil {
		return nil, err
	}
	r.Log.Info("made the daily report", "account", who.Account, "cluster", cluster,
		"day", from.Format(time.DateOnly), "queries", made.Queries, "lacks", len(made.Lacks))
	return made, nil
}

// ReportSource is what reports are made of.
type ReportSource struct {
	Engine   *query.Engine
	Roster   *roster.Roster
	Catalog  func(account string) *catalog.Catalog
	Advice   settings.Advices
	Happened eventReader
	// Told returns what receivers of an account were told about a cluster; nil: it is not known.
	Told func(account, cluster string, from, to time.Time) (list []report.Told, known bool,
		err error)
}

// Make asks the engine of this process. It implements report.MakeFor.
func (r *ReportSource) Make(ctx context.Context, who account.Principal, cluster string,
	from, to time.Time) (*report.Report, error) {
	source := engineSource{r.Engine, who}
	c := report.Config{Cluster: cluster, From: from, To: to, Catalog: r.Catalog(who.Account),
		Advise: adviser(r.Advice.For(who.Account), source, r.Happened.of(who))}
	if r.Told != nil {
		c.Told = func(_ context.Context, from, to time.Time) ([]report.Told, bool, error) {
			return r.Told(who.Account, cluster, from, to)
		}
	}
	for _, rec := range r.Roster.Gone(who.Account, cluster) {
		c.Left = append(c.Left, report.Left{Node: rec.Node.String(), Address: rec.Address,
			At: time.UnixMilli(rec.End.At), Why: rec.End.Why, By: rec.End.By})
	}
	made, err := report.Make(ctx, source, c)
	if err != nil {
		return nil, err
	}
	made.Account = who.Account
	return made, nil
}

// told returns what this process has told receivers of an account about a cluster. Not known: it
// tells nobody.
func (p *Process) told(account, cluster string, from, to time.Time) (list []report.Told, known bool,
	err error) {
	if p.people == nil {
		return nil, false, nil
	}
	messages, more, err := p.people.Messages(account, people.HistoryQuery{From: from, To: to,
		Limit: people.MaxHistory, Labels: map[string]string{"cluster": cluster}})
	if errors.Is(err, people.ErrClosed) {
		return nil, false, nil
	}
	if err == nil && more {
		err = report.ErrTooManyTold
	}
	for i := range messages {
		list = append(list, report.Told{At: messages[i].At, Alerts: messages[i].Firing(cluster),
			Failed: messages[i].Error != ""})
	}
	return list, true, err
}

// inDirectory is report.Directory with a directory that is made when it is needed.
func inDirectory(dir string) report.Sink {
	write := report.Directory(dir)
	return func(ctx context.Context, r *report.Report) error {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("the directory of reports cannot be made: %w", err)
		}
		return write(ctx, r)
	}
}

// publishTime bounds how long a report waits for Kafka.
const publishTime = time.Minute

// InTopic publishes a report as the last entry of its cluster and day.
func (r *Reporter) InTopic(ctx context.Context, of *report.Report) error {
	var text bytes.Buffer
	if err := of.WriteJSON(&text); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, publishTime)
	defer cancel()
	return r.Publish(ctx, stream.Entry{Account: of.Account, Cluster: of.Cluster,
		Key: of.From.Format(time.DateOnly), Value: text.Bytes()})
}

// engineSource asks PromQL in this process. It implements report.Source.
type engineSource struct {
	engine *query.Engine
	who    account.Principal
}

// Query implements report.Source.
func (s engineSource) Query(ctx context.Context, expr string,
	at time.Time) ([]report.Series, error) {
	a, err := s.engine.Instant(ctx, s.who, expr, at, query.Options{})
	if err != nil {
		return nil, err
	}
	defer a.Close()
	return reportSeries(ctx, a.Value)
}

// QueryRange implements report.Source.
func (s engineSource) QueryRange(ctx context.Context, expr string, from, to time.Time,
	step time.Duration,
) ([]report.Series, error) {
	a, err := s.engine.Range(ctx, s.who, expr, from, to, step, query.Options{})
	if err != nil {
		return nil, err
	}
	defer a.Close()
	return reportSeries(ctx, a.Value)
}

// What a series and a point of a report take in memory.
const (
	reportSeriesBytes = 600 // its labels are some eight
	reportPointBytes  = 16
)

// reportSeries copies an answer's numbers: they are valid only until it is closed. The lease of the
// request, if there is one, pays for the copy. Errors are package memory's.
func reportSeries(ctx context.Context, v any) (list []report.Series, err error) {
	lease := memory.Of(ctx)
	add := func(s report.Series, points int) error {
		if len(s.Points) == 0 {
			return nil
		}
		list = append(list, s)
		bytes := reportSeriesBytes + reportPointBytes*int64(points)
		for _, value := range s.Labels {
			bytes += int64(len(value))
		}
		return lease.Take(bytes)
	}
	switch v := v.(type) {
	case promql.Scalar:
		return []report.Series{{Points: []report.Point{{At: v.T, Value: v.V}}}}, nil
	case promql.Vector:
		for _, s := range v {
			if s.H != nil {
				continue
			}
			one := report.Series{Labels: s.Metric.Map(),
				Points: []report.Point{{At: s.T, Value: s.F}}}
			if err := add(one, 1); err != nil {
				return nil, err
			}
		}
	case promql.Matrix:
		for _, s := range v {
			one := report.Series{Labels: s.Metric.Map()}
			for _, p := range s.Floats {
				one.Points = append(one.Points, report.Point{At: p.T, Value: p.F})
			}
			if err := add(one, len(s.Floats)); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

// eventReader reads events of an account; nil: nothing is known of events.
type eventReader func(ctx context.Context, account string, q events.Query) (events.Page, error)

// For returns the events that who asks may see.
func (read eventReader) of(who account.Principal) advice.Events {
	if read == nil {
		return nil
	}
	return advice.EventsOf(who.Owns,
		func(ctx context.Context, q events.Query) (events.Page, error) {
			return read(ctx, who.Account, q)
		})
}

// adviser says in reports what the numbers beside alerts suggest.
func adviser(rules *advice.Rules, source report.Source, happened advice.Events) report.Advise {
	return func(ctx context.Context, alerts []map[string]string, at time.Time,
		name func(string) string) (said []report.Advised) {
		list, err := rules.Ask(ctx, advice.Question{Source: adviceSource{source}, Name: name,
			At: at, Events: happened}, alerts)
		if err != nil {
			return nil // the context's, which the report says
		}
		for _, a := range list {
			said = append(said, report.Advised{Alert: a.Labels, Text: a.Text})
		}
		return said
	}
}

// adviceSource asks what a report asks. It implements advice.Source.
type adviceSource struct{ report.Source }

// Query implements advice.Source.
func (s adviceSource) Query(ctx context.Context, expr string, at time.Time) ([]advice.Series,
	error) {
	list, err := s.Source.Query(ctx, expr, at)
	if err != nil {
		return nil, err
	}
	var of []advice.Series
	for _, one := range list {
		of = append(of, advice.Series{Labels: one.Labels,
			Value: one.Points[len(one.Points)-1].Value})
	}
	return of, nil
}
