package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/query/roster"
	"github.com/ringwatch/ringwatch/query/selector"
	"github.com/ringwatch/ringwatch/rules"
	"github.com/ringwatch/ringwatch/stream"
)

// rulesRunCmd is the role: `ringwatch rules` without a subcommand.
type rulesRunCmd struct{ roleFlags }

func (c *rulesRunCmd) Run(ctx context.Context) error {
	p, err := c.start(ctx, "rules", func(c *config) []engine { return []engine{c.kafka()} })
	if err != nil {
		return err
	}
	p.alone = true
	parts, err := p.rulesParts(ctx)
	if err != nil {
		return err
	}
	ops, err := p.ops(p.Rules.consumerConfig, p.rulesReady, nil)
	if err != nil {
		return err
	}
	return p.run(ctx, append(parts, ops)...)
}

// Topics of the rules, beside that of frames.
const (
	statesTopic   = "ringwatch.rules"      // what is known of alerts, by cluster
	filesTopic    = "ringwatch.rule-files" // files given through the API, by account
	recordedTopic = "ringwatch.recorded"   // what rules over all clusters look at
	pulseTopic    = "ringwatch.pulse"      // that ingest works
	rosterTopic   = "ringwatch.nodes"      // since when nodes are there, and how they left
)

// maxStateBytes bounds what is kept of a cluster's alerts: 10,000 of them, packed, are some 300 KB.
const maxStateBytes = 12 << 20

func (p *process) statesLog() stream.LogConfig {
	c := stream.DefaultLogConfig(statesTopic)
	c.Partitions, c.MaxEntryBytes, c.MaxLastBytes = p.Kafka.Partitions, maxStateBytes, 1<<30
	return c
}

func (p *process) filesLog() stream.LogConfig {
	c := stream.DefaultLogConfig(filesTopic)
	c.Partitions, c.Retention, c.MaxEntryBytes = 1, 0, 1<<20
	return c
}

func (p *process) pulseLog() stream.LogConfig {
	c := stream.DefaultLogConfig(pulseTopic)
	c.Partitions, c.Retention = 1, time.Hour
	return c
}

func (p *process) rosterLog() stream.LogConfig {
	c := stream.DefaultLogConfig(rosterTopic)
	c.Partitions, c.Retention, c.MaxEntryBytes = 1, 0, 16<<10
	return c
}

// openLog makes a log's topic if need be, and its client.
func (p *process) openLog(ctx context.Context, c stream.LogConfig) (*stream.Log, error) {
	topics, err := p.openStream()
	if err != nil {
		return nil, err
	}
	err = retry(ctx, p.log, "the topic "+c.Topic, stream.Retryable,
		func(ctx context.Context) error {
			return stream.EnsureLog(ctx, topics, p.Kafka.framesConfig, c)
		})
	if err != nil {
		return nil, err
	}
	return stream.NewLog(topics, p.Kafka.framesConfig, c, p.metrics)
}

// sharedLog is openLog, once a process and topic.
func (p *process) sharedLog(ctx context.Context, c stream.LogConfig) (*stream.Log, error) {
	p.logsMu.Lock()
	defer p.logsMu.Unlock()
	if l := p.logs[c.Topic]; l != nil {
		return l, nil
	}
	l, err := p.openLog(ctx, c)
	if err == nil {
		if p.logs == nil {
			p.logs = map[string]*stream.Log{}
		}
		p.logs[c.Topic] = l
	}
	return l, err
}

// rulesParts wires Kafka → rules → Kafka and whoever is told of alerts.
func (p *process) rulesParts(ctx context.Context) ([]part, error) {
	topics, err := p.ensureTopic(ctx, p.Kafka.framesConfig)
	if err != nil {
		return nil, err
	}
	recorded := p.Kafka.framesConfig
	recorded.Topic = recordedTopic
	if _, err := p.ensureTopic(ctx, recorded); err != nil {
		return nil, err
	}
	states, err := p.sharedLog(ctx, p.statesLog())
	if err != nil {
		return nil, err
	}
	files, err := p.sharedLog(ctx, p.filesLog())
	if err != nil {
		return nil, err
	}
	pulses, err := p.sharedLog(ctx, p.pulseLog())
	if err != nil {
		return nil, err
	}
	left, err := p.sharedLog(ctx, p.rosterLog())
	if err != nil {
		return nil, err
	}
	applied, nodes := newApplied(), &roster.Roster{}
	begin, err := readLog(ctx, files, applied.take)
	if err != nil {
		return nil, err
	}
	leftFrom, err := readLog(ctx, left, enter(nodes))
	if err != nil {
		return nil, err
	}
	heard := &pulse{}
	producer, err := stream.NewProducer(topics, p.Kafka.framesConfig, labelled(p.metrics, "rules"))
	if err != nil {
		return nil, err
	}
	forward, err := stream.NewProducer(topics, recorded, labelled(p.metrics, "recorded"))
	if err != nil {
		return nil, err
	}
	notifier, telling, err := p.openNotifier(ctx)
	if err != nil {
		return nil, err
	}
	budget, err := p.rulesBudget()
	if err != nil {
		return nil, err
	}
	deps := rules.Deps{
		Publish: producer.Publish,
		Forward: func(ctx context.Context, account string, b []byte) error {
			return forward.Publish(ctx, account, frame.EveryCluster, b)
		},
		Notify:  tell(notifier),
		Load:    loadStates(states),
		Save:    saveState(states),
		Pulse:   heard.unbroken,
		Applied: applied.files,
		Past:    p.past,
		Roster:  nodes, Enroll: enroll(left), KeepLeft: p.Cassandra.RawTTL,
		Budget: budget, Metrics: p.metrics, Log: p.log,
	}
	if deps.Relabel, err = p.mapping(); err != nil {
		return nil, usageError{err}
	}
	if deps.More, err = p.deviations(); err != nil {
		return nil, err
	}
	parts := []part{
		func(ctx context.Context) error { return files.Follow(ctx, begin, applied.take) },
		func(ctx context.Context) error { return left.Follow(ctx, leftFrom, enter(nodes)) },
		func(ctx context.Context) error { return heard.follow(ctx, pulses) },
	}
	parts = append(parts, telling...)
	p.Rules.Config.Clock = clock
	for _, every := range []bool{false, true} {
		run, err := p.rulesConsumer(topics, deps, every)
		if err != nil {
			return nil, err
		}
		parts = append(parts, run)
	}
	p.rulesReady = func(ctx context.Context) error { return producer.Ready(ctx) }
	return []part{func(ctx context.Context) error {
		defer producer.Close()
		defer forward.Close()
		return together(ctx, parts...)
	}}, nil
}

// labelled tells the producers of a process apart.
func labelled(reg prometheus.Registerer, of string) prometheus.Registerer {
	return prometheus.WrapRegistererWith(prometheus.Labels{"producer": of}, reg)
}

// rulesConsumer wires the rules of single clusters, or those over all clusters of an account.
func (p *process) rulesConsumer(topics stream.Engine, deps rules.Deps, every bool) (part, error) {
	of, group := p.Kafka.Topic, rulesGroup
	if every {
		of, group = recordedTopic, accountsGroup
	}
	reached := &through{}
	var consumer *stream.Consumer
	deps.Every, deps.Through = every, reached.of
	role, err := rules.New(p.Rules.Config, deps)
	if err != nil {
		return nil, usageError{err}
	}
	c := stream.DefaultConsumerConfig(of, group)
	c.MaxAge = p.Rules.MaxLookback + p.Rules.CatchUp
	c.TickEvery = rulesTick
	if consumer, err = stream.NewConsumer(topics, c, role, p.metrics, p.log); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		g, ctx := errgroup.WithContext(ctx)
		g.Go(func() error { return consumer.Run(ctx) })
		g.Go(func() error { return reached.follow(ctx, consumer) })
		return g.Wait()
	}, nil
}

// rulesTick is how often what is due is looked for, and how far the stream has been read.
const rulesTick = 500 * time.Millisecond

// loadStates reads what is known of the alerts of a partition's clusters.
func loadStates(log *stream.Log) func(context.Context, int32) ([]rules.State, error) {
	return func(ctx context.Context, partition int32) ([]rules.State, error) {
		entries, _, err := log.Last(ctx, []int32{partition})
		if err != nil {
			return nil, err
		}
		var list []rules.State
		for _, e := range entries {
			s, err := rules.UnpackState(e.Value)
			if err != nil {
				return nil, fmt.Errorf("cluster %s: %w", e.Cluster, err)
			}
			list = append(list, s)
		}
		return list, nil
	}
}

func saveState(log *stream.Log) func(context.Context, int32, rules.State) error {
	return func(ctx context.Context, _ int32, s rules.State) error {
		e := stream.Entry{Account: s.Account, Cluster: s.Cluster, Key: "state"}
		if len(s.Groups) > 0 {
			var err error
			if e.Value, err = s.Pack(); err != nil {
				return err
			}
		}
		return log.Publish(ctx, e)
	}
}

// through remembers how far a consumer is.
type through struct {
	mu sync.Mutex
	at map[int32]time.Time
}

func (t *through) of(partition int32) (time.Time, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at, known := t.at[partition]
	return at, known
}

func (t *through) follow(ctx context.Context, c *stream.Consumer) error {
	tick := time.NewTicker(rulesTick)
	defer tick.Stop()
	for {
		if reached, err := c.Progress(ctx); err == nil {
			t.mu.Lock()
			t.at = reached.Through
			t.mu.Unlock()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// applied are the rule files that were given through the API, as far as this process has read.
type applied struct {
	mu sync.Mutex
	of map[string]map[string][]byte // by account and name
}

func newApplied() *applied { return &applied{of: map[string]map[string][]byte{}} }

func (a *applied) take(e stream.Entry) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if e.Value == nil {
		delete(a.of[e.Account], e.Key)
		return nil
	}
	if a.of[e.Account] == nil {
		a.of[e.Account] = map[string][]byte{}
	}
	a.of[e.Account][e.Key] = e.Value
	return nil
}

// readLog reads the last entry of each key, and returns where what comes later begins.
func readLog(
	ctx context.Context, log *stream.Log, take func(stream.Entry) error,
) (stream.Position, error) {
	entries, at, err := log.Last(ctx, nil)
	for _, e := range entries {
		_ = take(e)
	}
	return at, err
}

// files returns a copy of what there is.
func (a *applied) files() map[string]map[string][]byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := map[string]map[string][]byte{}
	for account, list := range a.of {
		all[account] = map[string][]byte{}
		for name, text := range list {
			all[account][name] = text
		}
	}
	return all
}

// boardParts wires what the API says of rules: the files, and what those who evaluate them say. It
// waits for nothing: while Kafka is away the API knows of no alerts, and answers all the rest.
func (p *process) boardParts() (
	*rules.Status, func(context.Context, string, string, []byte) error, part, error,
) {
	given := newApplied()
	extra, err := p.deviations()
	if err != nil {
		return nil, nil, nil, err
	}
	board, err := rules.NewStatus(p.Rules.Config,
		rules.Deps{Applied: given.files, More: extra, Log: p.log})
	if err != nil {
		return nil, nil, nil, usageError{err}
	}
	var files atomic.Pointer[stream.Log]
	publish := func(ctx context.Context, account, name string, text []byte) error {
		log := files.Load()
		if log == nil {
			return errors.New("Kafka has not been reached yet")
		}
		e := stream.Entry{Account: account, Key: name, Value: text}
		if err := log.Publish(ctx, e); err != nil {
			return err
		}
		return given.take(e)
	}
	put := func(e stream.Entry) error {
		s := rules.State{Account: e.Account, Cluster: e.Cluster}
		if e.Value != nil {
			var err error
			if s, err = rules.UnpackState(e.Value); err != nil {
				p.log.Warn("the state of a cluster's rules cannot be read", "cluster", e.Cluster,
					"error", err)
				return nil
			}
		}
		board.Put(s)
		return nil
	}
	return board, publish, func(ctx context.Context) error {
		return together(ctx,
			func(ctx context.Context) error { return p.keepReading(ctx, p.statesLog(), nil, put) },
			func(ctx context.Context) error {
				return p.keepReading(ctx, p.filesLog(), &files, given.take)
			},
			func(ctx context.Context) error {
				for ctx.Err() == nil {
					board.Look(time.Now())
					pause(ctx, p.Rules.Reload)
				}
				return nil
			})
	}, nil
}

// keepReading reads the last entry of each key of a log, and then follows it, however often Kafka
// is away, until ctx ends. opened is told of the log once it is there.
func (p *process) keepReading(ctx context.Context, c stream.LogConfig,
	opened *atomic.Pointer[stream.Log], take func(stream.Entry) error) error {
	for ctx.Err() == nil {
		log, err := p.sharedLog(ctx, c)
		if errors.Is(err, errNoStream) {
			<-ctx.Done()
			return nil
		}
		if err == nil {
			if opened != nil {
				opened.Store(log)
			}
			var last []stream.Entry
			var at stream.Position
			if last, at, err = log.Last(ctx, nil); err == nil {
				for _, e := range last {
					_ = take(e)
				}
				err = log.Follow(ctx, at, take)
			}
		}
		if err != nil && ctx.Err() == nil {
			p.log.Debug("cannot read a topic now; trying again", "topic", c.Topic, "error", err)
			pause(ctx, time.Second)
		}
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// promRules answers /api/v1/rules. selectors reads match[].
func promRules(
	board *rules.Status, selectors *selector.Parser,
) func(account.Principal, url.Values) (any, error) {
	bad := func(field, text string) error {
		return &listener.Error{Status: http.StatusBadRequest, Reason: "bad_data", Field: field,
			Message: text}
	}
	return func(who account.Principal, q url.Values) (any, error) {
		f := rules.Filter{Type: q.Get("type"), Files: q["file[]"], Groups: q["rule_group[]"],
			Names: q["rule_name[]"], Owns: who.Owns,
			WithoutAlerts: q.Get("exclude_alerts") == "true"}
		if f.Type != "" && f.Type != "alert" && f.Type != "record" {
			return nil, bad("type", "type must be alert or record: leave it out for all rules")
		}
		read := selectors.Request(context.Background())
		for _, text := range q["match[]"] {
			m, err := read.Selector(text)
			if err != nil {
				return nil, bad("match[]", fmt.Sprintf("match[]: %v", err))
			}
			f.Match = append(f.Match, m)
		}
		limit, token := 0, q.Get("group_next_token")
		if text := q.Get("group_limit"); text != "" {
			var err error
			if limit, err = strconv.Atoi(text); err != nil || limit < 0 {
				return nil, bad("group_limit",
					"group_limit must be a number of groups: 0 means all")
			}
		} else if token != "" {
			return nil, bad("group_next_token", "group_next_token needs group_limit: set both")
		}
		page, next, ok := rules.Page(board.Groups(who.Account, f), limit, token)
		if !ok {
			return nil, bad("group_next_token",
				"no group has this group_next_token, since rules have changed: begin without it")
		}
		data := map[string]any{"groups": page}
		if next != "" {
			data["groupNextToken"] = next
		}
		return data, nil
	}
}

// promAlerts answers /api/v1/alerts.
func promAlerts(board *rules.Status) func(account.Principal) any {
	return func(who account.Principal) any {
		return map[string]any{"alerts": board.Alerts(who.Account, who.Owns)}
	}
}
