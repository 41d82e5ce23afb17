// Package notify leads from alerts to people: Alertmanager's own parts, in this process.
//
// Start with Notifier. Alerts come in by Put, messages go out to the receivers of an
// alertmanager.yml, and Handler is Alertmanager's API v2, with which people silence and look:
//
//	Put ──▶ account ──▶ board ──▶ dispatcher: groups ──▶ gate ──▶ muted, told? ──▶ receivers
//	Handler ──▶ account: silences, alerts, groups
//	Test, Show ──▶ account: is a receiver reached, and what is it told
//
// A message is what a receiver is told of a group: messenger makes it, and templates/ writes it for
// each medium, under the names that Alertmanager's receivers use.
//
// Each account has its own Alertmanager: silences, receivers, groups, limits, API, and a directory.
// Config is what an alertmanager.yml says; journal is how a directory keeps what it must not
// forget.
//
// What it promises:
//   - Put does not wait for receivers. Of an account, no more than Limits say is in memory; what is
//     beyond is dropped and counted, and whoever repeats it is heard when there is room.
//   - A silence that was answered for is on disk. It holds after kill -9.
//   - What a receiver has taken is not told it again within its interval: after kill -9, after a
//     reload, and after Close, which lets what is on its way arrive.
//   - An end is told to whoever was told of the beginning, after a restart, too.
//   - A configuration that cannot work changes nothing.
//   - Several processes tell as one: see Gossip. A silence holds at all within a second, and what
//     one has told the others do not tell. When one goes, the next one tells.
//
// What bites:
//   - A process that is killed between a receiver's answer and its note tells once more. Nobody can
//     know whether the receiver had it.
//   - After a restart what fired fires on for Options.FiringLasts. Whoever puts alerts must repeat
//     them within that time, or they count as ended.
//   - Alertmanager's packages keep how matchers are read for the whole process.
//   - Members that do not reach each other each take themselves for the first, and each tells:
//     better twice than never.
//
// Of our other packages it imports disk.
package notify

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/alertmanager/alert"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/disk"
)

// Options is what a Notifier is opened with. DefaultOptions has the times and limits.
type Options struct {
	// Dir has a directory for each account. It is made if need be.
	Dir     string
	Configs Configs
	Limits  Limits
	// Console is where people see alerts, for links in messages; nil: nowhere.
	Console *url.URL
	// Insights says what is known beside alerts of an account, given by their labels: one for each,
	// in their order, before the context ends, or none. It is asked for the gravest of a message.
	// nil: nothing is known.
	Insights func(ctx context.Context, account string, alerts []map[string]string) []Insight
	// NameAccounts gives alerts of accounts that share a configuration the label account.
	NameAccounts bool

	// FiringLasts is how long an alert fires that is not repeated and does not say so itself.
	FiringLasts time.Duration
	// Retention is how long silences that ended and what was told are known. A repeat_interval
	// beyond it is shorter than it says.
	Retention time.Duration
	// StopTimeout is how long requests on their way have to arrive when something stops.
	StopTimeout time.Duration

	// Gossip has the other processes that tell with this one. Each needs all alerts by Put, what
	// the rules of others say too: a group may have alerts of several.
	Gossip Gossip

	Metrics prometheus.Registerer
	Log     *slog.Logger

	collectEvery time.Duration // alerts that ended leave memory
	syncEvery    time.Duration // what was told gets to the disk; kill -9 does not need it
	shortenEvery time.Duration // files that are long are written anew
	// calm is how long nothing has begun or ended before a group tells, so that inhibitions that
	// come with it are known.
	calm     time.Duration
	testTime time.Duration // that a receiver has to take a test
	// settle is how often it is looked whether all members are there; four times the same is yes.
	settle time.Duration
}

// Configs says which configuration an account has.
type Configs struct {
	Shared *Config            // of all accounts but those in Own; nil: Default
	Own    map[string]*Config // by account
}

func (c Configs) of(account string) (config *Config, own bool) {
	if one := c.Own[account]; one != nil {
		return one, true
	}
	if c.Shared == nil {
		return Default(), false
	}
	return c.Shared, false
}

// DefaultOptions lacks Dir, Metrics and Log.
func DefaultOptions() Options {
	return Options{
		Limits: DefaultLimits(), FiringLasts: 5 * time.Minute, Retention: 120 * time.Hour,
		StopTimeout: 10 * time.Second, collectEvery: 30 * time.Minute, syncEvery: time.Second,
		shortenEvery: time.Minute, calm: time.Second, testTime: 20 * time.Second,
		Gossip: DefaultGossip(), settle: 2 * time.Second,
	}
}

// Alert is one alert of one account at one moment.
type Alert struct {
	Account             string
	Labels, Annotations labels.Labels
	StartsAt            time.Time // since when it fires
	EndsAt              time.Time // when it ended; zero: it fires
	// ValidUntil is until when it fires unless it is repeated; zero: for Options.FiringLasts.
	ValidUntil   time.Time
	GeneratorURL string
	// File and Group are where its rule stands, for a link to the console; "": not known.
	File, Group string
}

// Notifier tells people of alerts. It is safe for concurrent use.
type Notifier struct {
	options Options
	metrics *metrics
	members *members

	mu       sync.RWMutex
	accounts map[string]*account
	closed   bool
	lock     *disk.Lock
}

// ErrClosed is returned after Close.
var ErrClosed = errors.New("notify: closed")

// Open opens the accounts that have a directory; others are opened when they come. What was told
// before is not told again, and what was to be told is. The error wraps disk.ErrInUse if another
// process has Options.Dir.
func Open(o Options) (*Notifier, error) {
	if o.Dir == "" {
		return nil, errors.New("notify: a directory is needed")
	}
	if err := o.Limits.Validate(); err != nil {
		return nil, fmt.Errorf("notify: %w", err)
	}
	m := newMetrics()
	n := &Notifier{options: o, metrics: m, accounts: map[string]*account{}}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := disk.Take(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("notify: %w", err)
	}
	n.lock = lock
	if n.members, err = newMembers(o.Gossip, o.Log); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	names, err := accountsIn(o.Dir)
	if err != nil {
		return nil, errors.Join(err, n.Close())
	}
	for _, name := range names {
		if _, err := n.account(name); err != nil {
			return nil, errors.Join(err, n.Close())
		}
	}
	n.members.join(o.settle)
	m.all, m.members = n.open, n.members.count
	if err := o.Metrics.Register(m); err != nil {
		return nil, errors.Join(fmt.Errorf("notify: cannot register metrics: %w", err), n.Close())
	}
	return n, nil
}

// An account's directory is its name, escaped, after a word that keeps it from being "..".
const accountDir = "account-"

func directoryOf(account string) string { return accountDir + url.PathEscape(account) }

func accountsIn(dir string) (names []string, err error) {
	list, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range list {
		if escaped, ok := strings.CutPrefix(e.Name(), accountDir); ok && e.IsDir() {
			if name, err := url.PathUnescape(escaped); err == nil {
				names = append(names, name)
			}
		}
	}
	return names, err
}

// account returns an account's Alertmanager, and opens it if it is not there.
func (n *Notifier) account(name string) (*account, error) {
	n.mu.RLock()
	a, closed := n.accounts[name], n.closed
	n.mu.RUnlock()
	if closed {
		return nil, ErrClosed
	}
	if a != nil {
		return a, nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil, ErrClosed
	}
	if a := n.accounts[name]; a != nil {
		return a, nil
	}
	c, _ := n.options.Configs.of(name)
	b, err := c.build(n.options.Limits, n.options.Console, n.options.Log)
	if err != nil {
		return nil, fmt.Errorf("notify: account %s: %w", name, err)
	}
	a, err = openAccount(&n.options, n.metrics, n.members, name, b)
	if err != nil {
		return nil, err
	}
	n.accounts[name] = a
	return a, nil
}

// open is what is open, by name.
func (n *Notifier) open() []*account {
	n.mu.RLock()
	defer n.mu.RUnlock()
	list := make([]*account, 0, len(n.accounts))
	for _, a := range n.accounts {
		list = append(list, a)
	}
	slices.SortFunc(list, func(a, b *account) int { return strings.Compare(a.name, b.name) })
	return list
}

// Put takes alerts: a firing one again and again while it fires, and its end. What is beyond a
// limit is left out and counted; an error is of an account's directory, or ErrClosed.
func (n *Notifier) Put(ctx context.Context, alerts ...Alert) error {
	byAccount := map[string][]*alert.Alert{}
	var names []string
	now := time.Now()
	for i := range alerts {
		name := alerts[i].Account
		if byAccount[name] == nil {
			names = append(names, name)
		}
		byAccount[name] = append(byAccount[name], n.converted(&alerts[i], now))
	}
	var errs []error
	for _, name := range names {
		a, err := n.account(name)
		if err == nil {
			err = a.board.Put(ctx, byAccount[name]...)
		} else {
			n.metrics.accepted.Add(float64(len(byAccount[name])))
			n.metrics.dropped.WithLabelValues("closed").Add(float64(len(byAccount[name])))
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// converted is an alert in Alertmanager's form. An end that has passed would end one that fires,
// and one to come would not end one that ended.
func (n *Notifier) converted(a *Alert, now time.Time) *alert.Alert {
	m := model.Alert{Labels: setOf(a.Labels), Annotations: setOf(a.Annotations),
		StartsAt: a.StartsAt, GeneratorURL: a.GeneratorURL}
	n.mu.RLock()
	_, own := n.options.Configs.of(a.Account)
	n.mu.RUnlock()
	if n.options.NameAccounts && !own && m.Labels["account"] == "" {
		m.Labels["account"] = model.LabelValue(a.Account)
	}
	if a.File != "" {
		m.Annotations[ruleAnnotation] = model.LabelValue(ruleOf(a.File, a.Group))
	}
	if m.StartsAt.IsZero() || m.StartsAt.After(now) {
		m.StartsAt = now
	}
	switch {
	case a.EndsAt.IsZero():
		m.EndsAt = now.Add(n.options.FiringLasts)
		if a.ValidUntil.After(m.EndsAt) {
			m.EndsAt = a.ValidUntil
		}
	case a.EndsAt.After(now):
		m.EndsAt = now
	default:
		m.EndsAt = a.EndsAt
	}
	if m.EndsAt.Before(m.StartsAt) {
		m.StartsAt = m.EndsAt
	}
	return alert.New(m, now, a.EndsAt.IsZero() && a.ValidUntil.IsZero())
}

func setOf(all labels.Labels) model.LabelSet {
	set := make(model.LabelSet, all.Len())
	all.Range(func(l labels.Label) {
		if l.Value != "" {
			set[model.LabelName(l.Name)] = model.LabelValue(l.Value)
		}
	})
	return set
}

// Handler is Alertmanager's HTTP API of one account: /api/v2/, /-/healthy, /-/ready and /metrics.
// Who may ask is the caller's to decide.
func (n *Notifier) Handler(account string) (http.Handler, error) {
	a, err := n.account(account)
	if err != nil {
		return nil, err
	}
	return a.handler, nil
}

// Reload takes other configurations. If one of them cannot work for an account, nothing changes.
func (n *Notifier) Reload(c Configs) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return ErrClosed
	}
	all := map[string]*built{}
	for name := range n.accounts {
		one, _ := c.of(name)
		b, err := one.build(n.options.Limits, n.options.Console, n.options.Log)
		if err != nil {
			return fmt.Errorf("notify: account %s: %w", name, err)
		}
		all[name] = b
	}
	n.options.Configs = c
	var work sync.WaitGroup
	for name, a := range n.accounts {
		work.Go(func() { a.become(all[name]) })
	}
	work.Wait()
	return nil
}

// Messages returns what an account's receivers were told, the newest first, and whether there are
// more than q asks for.
func (n *Notifier) Messages(account string, q HistoryQuery) (list []Told, more bool, err error) {
	a, err := n.account(account)
	if err != nil {
		return nil, false, err
	}
	return a.history.read(q)
}

// Close ends all accounts. It waits for requests on their way, up to Options.StopTimeout.
func (n *Notifier) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil
	}
	n.closed = true
	var work sync.WaitGroup
	for _, a := range n.accounts {
		work.Go(a.stop)
	}
	work.Wait()
	n.members.leave(n.options.StopTimeout)
	var errs []error
	for _, a := range n.accounts {
		errs = append(errs, a.close())
	}
	return errors.Join(append(errs, n.lock.Close())...)
}
