package main

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
	"github.com/ringwatch/ringwatch/api/report"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/query/catalog"
	"github.com/ringwatch/ringwatch/query/roster"
	"github.com/ringwatch/ringwatch/stream"
)

// reportConfig is the section report: the role api makes reports of each cluster once a day.
// Without a time of day it makes none. It is one process's task: several would need claims, and a
// rule for claims whose process died. So in two processes it calls each webhook twice.
type reportConfig struct {
	At        string   // time of day in UTC, "01:30"; empty: never
	Accounts  []string // whose clusters; none: all accounts of the configuration
	Clusters  []string // globs, * for any run of characters; none: all
	Directory string   // text, HTML and JSON go to DIRECTORY/ACCOUNT/CLUSTER-DAY.*; empty: nowhere
	Webhook   string   // JSON is posted there; empty: nowhere
	Topic     string   // JSON is the last entry of the cluster and day; empty: nowhere
}

// timeOfDay returns how long after midnight reports are made.
func (c *reportConfig) timeOfDay() (time.Duration, error) {
	t, err := time.Parse("15:04", c.At)
	if err != nil {
		return 0, fmt.Errorf("at: %q is not a time of day: write one such as 01:30, in UTC", c.At)
	}
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute, nil
}

// validateReport reports everything that is wrong at once.
func (c *config) validateReport() error {
	r := &c.Report
	if r.At == "" {
		if r.Directory != "" || r.Webhook != "" || r.Topic != "" {
			return errors.New("at is missing: set the time of reports, for instance at: \"01:30\"")
		}
		return nil
	}
	_, err := r.timeOfDay()
	wrong := []error{err, directoryKey("directory", r.Directory)}
	if r.Directory == "" && r.Webhook == "" && r.Topic == "" {
		wrong = append(wrong,
			errors.New("nothing takes the reports: name a directory, webhook or topic"))
	}
	if r.Webhook != "" {
		_, err := report.Webhook(r.Webhook)
		wrong = append(wrong, err)
	}
	if r.Topic != "" {
		wrong = append(wrong, c.reportsLog().Validate())
	}
	for _, name := range r.Accounts {
		if !slices.ContainsFunc(c.Accounts, func(a account.Account) bool {
			return a.Name == name
		}) {
			wrong = append(wrong,
				fmt.Errorf("there is no account %q: use one of the section accounts", name))
		}
	}
	return errors.Join(wrong...)
}

// maxReportBytes bounds a report in the topic: one of 10,000 tables has some 4 MB.
const maxReportBytes = 16 << 20

func (c *config) reportsLog() stream.LogConfig {
	l := stream.DefaultLogConfig(c.Report.Topic)
	l.Partitions, l.MaxEntryBytes = c.Kafka.Partitions, maxReportBytes
	return l
}

// reporter makes the reports of all accounts.
type reporter struct {
	config   *reportConfig
	accounts []string
	nodes    func(context.Context, account.Principal) ([]query.Node, error)
	engine   *query.Engine
	roster   *roster.Roster
	catalog  func(account string) *catalog.Catalog
	advice   advices
	happened eventReader
	publish  func(context.Context, stream.Entry) error
	log      *slog.Logger
}

// reportParts wires the daily reports: query.Engine → report → a directory, a webhook, a topic.
func (p *process) reportParts(q questions, catalogs catalogs, advice advices,
	happened eventReader) ([]part, error) {
	if p.Report.At == "" {
		return nil, nil
	}
	r := reporter{config: &p.Report, accounts: p.Report.Accounts, engine: q.engine,
		roster: q.reader.Roster(), catalog: catalogs.of, advice: advice, happened: happened, log: p.log,
		nodes: func(ctx context.Context, who account.Principal) ([]query.Node, error) {
			return q.reader.Nodes(ctx, who, time.Minute)
		},
		publish: p.publishReport}
	if len(r.accounts) == 0 {
		for _, a := range p.Accounts {
			r.accounts = append(r.accounts, a.Name)
		}
	}
	schedules, err := r.schedules()
	if err != nil {
		return nil, usageError{err}
	}
	var parts []part
	for _, s := range schedules {
		parts = append(parts, s.Run)
	}
	return parts, nil
}

// publishReport makes the topic of reports if need be, and puts one in.
func (p *process) publishReport(ctx context.Context, e stream.Entry) error {
	log, err := p.sharedLog(ctx, p.reportsLog())
	if err != nil {
		return err
	}
	return log.Publish(ctx, e)
}

// schedules returns one for each account.
func (r *reporter) schedules() ([]*report.Schedule, error) {
	at, err := r.config.timeOfDay()
	if err != nil {
		return nil, err
	}
	var list []*report.Schedule
	for _, name := range r.accounts {
		who := account.Inside(name, r.config.Clusters...)
		s := &report.Schedule{At: at, Now: clock,
			Clusters: func(ctx context.Context) ([]string, error) { return r.clusters(ctx, who) },
			Make: func(ctx context.Context, cluster string,
				from, to time.Time) (*report.Report, error) {
				return r.report(ctx, who, cluster, from, to)
			},
			Failed: func(cluster string, err error) {
				r.log.Error("the daily report failed; make it later with ringwatch report --day",
					"account", name, "cluster", cluster, "error", err)
			}}
		if dir := r.config.Directory; dir != "" {
			s.Sinks = append(s.Sinks, inDirectory(filepath.Join(dir, name)))
		}
		if r.config.Webhook != "" {
			sink, err := report.Webhook(r.config.Webhook)
			if err != nil {
				return nil, err
			}
			s.Sinks = append(s.Sinks, sink)
		}
		if r.config.Topic != "" {
			s.Sinks = append(s.Sinks, r.inTopic)
		}
		list = append(list, s)
	}
	return list, nil
}

// clusters returns those that have nodes, in order.
func (r *reporter) clusters(ctx context.Context, who account.Principal) ([]string, error) {
	nodes, err := r.nodes(ctx, who)
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

func (r *reporter) report(ctx context.Context, who account.Principal, cluster string,
	from, to time.Time,
) (*report.Report, error) {
	made, err := makeReport(ctx, r.engine, r.roster, r.catalog, r.advice, r.happened, who, cluster,
		from, to)
	if err != nil {
		return nil, err
	}
	r.log.Info("made the daily report", "account", who.Account, "cluster", cluster,
		"day", from.Format(time.DateOnly), "queries", made.Queries, "lacks", len(made.Lacks))
	return made, nil
}

// makeReport asks the engine of this process.
func makeReport(ctx context.Context, engine *query.Engine, nodes *roster.Roster,
	catalogOf func(string) *catalog.Catalog, advice advices, happened eventReader,
	who account.Principal, cluster string, from, to time.Time) (*report.Report, error) {
	source := engineSource{engine, who}
	c := report.Config{Cluster: cluster, From: from, To: to, Catalog: catalogOf(who.Account),
		Advise: adviser(advice.of(who.Account), source, happened.of(who))}
	for _, rec := range nodes.Gone(who.Account, cluster) {
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

// reportsFor makes reports for the API's endpoint.
func reportsFor(engine *query.Engine, nodes *roster.Roster,
	catalogOf func(string) *catalog.Catalog, advice advices,
	happened eventReader) report.MakeFor {
	return func(ctx context.Context, who account.Principal, cluster string, from, to time.Time,
	) (*report.Report, error) {
		return makeReport(ctx, engine, nodes, catalogOf, advice, happened, who, cluster, from, to)
	}
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

// inTopic publishes a report as the last entry of its cluster and day.
func (r *reporter) inTopic(ctx context.Context, of *report.Report) error {
	var text bytes.Buffer
	if err := of.WriteJSON(&text); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, publishTime)
	defer cancel()
	return r.publish(ctx, stream.Entry{Account: of.Account, Cluster: of.Cluster,
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
