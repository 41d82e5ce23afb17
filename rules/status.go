package rules

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/prometheus/prometheus/model/labels"
	promrules "github.com/prometheus/prometheus/rules"
)

// Status is the state of all rules and alerts, as the processes that evaluate them report it; the
// API answers from it. Its methods may be called from many goroutines.
type Status struct {
	files *files

	mu     sync.RWMutex
	states map[string]map[string]*State // by account and cluster
}

// NewStatus returns a Status that knows the rule files; see New.
func NewStatus(c Config, d Deps) (*Status, error) {
	r, err := New(c, d)
	if err != nil {
		return nil, err
	}
	return &Status{files: r.files, states: map[string]map[string]*State{}}, nil
}

// Put enters a cluster's newest state.
func (b *Status) Put(s State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(s.Groups) == 0 {
		delete(b.states[s.Account], s.Cluster)
		return
	}
	if b.states[s.Account] == nil {
		b.states[s.Account] = map[string]*State{}
	}
	b.states[s.Account][s.Cluster] = &s
}

// Filter says which groups and rules are asked for; zero: all.
type Filter struct {
	Type          string // alert or record
	Files         []string
	Groups        []string
	Names         []string
	Match         [][]*labels.Matcher // of the rules' own labels, one of the lists; none: all
	WithoutAlerts bool
	Owns          func(cluster string) bool // clusters whose alerts may be seen; nil: all
}

func (f *Filter) wants(list []string, text string) bool {
	return len(list) == 0 || slices.Contains(list, text)
}

// means reports whether a rule's labels are asked for.
func (f *Filter) means(of map[string]string) bool {
	return len(f.Match) == 0 || slices.ContainsFunc(f.Match, func(list []*labels.Matcher) bool {
		return !slices.ContainsFunc(list, func(m *labels.Matcher) bool {
			return !m.Matches(of[m.Name])
		})
	})
}

// Page returns groups from the one that a token names, so many at most, and the token of the first
// that is left; "" if none is. The tokens are Prometheus's. ok is false if none of them has the
// token.
func Page(list []Group, limit int, token string) (page []Group, next string, ok bool) {
	of := func(g *Group) string {
		sum := sha256.Sum256([]byte(g.File + ";" + g.Name))
		return hex.EncodeToString(sum[:])
	}
	if token != "" {
		i := slices.IndexFunc(list, func(g Group) bool { return of(&g) == token })
		if i < 0 {
			return nil, "", false
		}
		list = list[i:]
	}
	if limit > 0 && len(list) > limit {
		return list[:limit], of(&list[limit]), true
	}
	return list, "", true
}

// Group is a group of rules in the form of Prometheus's API.
type Group struct {
	Name           string    `json:"name"`
	File           string    `json:"file"`
	Rules          []Rule    `json:"rules"`
	Interval       float64   `json:"interval"` // seconds
	Limit          int       `json:"limit"`
	EvaluationTime float64   `json:"evaluationTime"` // seconds, of the slowest cluster
	LastEvaluation time.Time `json:"lastEvaluation"` // of the cluster that is furthest behind
}

// Rule is a rule in the form of Prometheus's API. Those of alerting rules are nil in recording
// ones.
type Rule struct {
	State          *string            `json:"state,omitempty"`
	Name           string             `json:"name"`
	Query          string             `json:"query"`
	Duration       *float64           `json:"duration,omitempty"` // seconds
	KeepFiringFor  *float64           `json:"keepFiringFor,omitempty"`
	Labels         map[string]string  `json:"labels,omitempty"`
	Annotations    *map[string]string `json:"annotations,omitempty"`
	Alerts         *[]ActiveAlert     `json:"alerts,omitempty"`
	Health         string             `json:"health"`
	LastError      string             `json:"lastError,omitempty"`
	EvaluationTime float64            `json:"evaluationTime"`
	LastEvaluation time.Time          `json:"lastEvaluation"`
	Type           string             `json:"type"`
}

// ActiveAlert is an alert in the form of Prometheus's API.
type ActiveAlert struct {
	Labels          map[string]string `json:"labels"`
	Annotations     map[string]string `json:"annotations"`
	State           string            `json:"state"`
	ActiveAt        *time.Time        `json:"activeAt,omitempty"`
	KeepFiringSince *time.Time        `json:"keepFiringSince,omitempty"`
	Value           string            `json:"value"`
}

// Groups returns an account's groups of rules, with what is known of them in all of its clusters.
func (b *Status) Groups(account string, f Filter) []Group {
	set, _ := b.files.of(account)
	b.mu.RLock()
	states := slices.SortedFunc(maps.Values(b.states[account]), func(x, y *State) int {
		return cmp.Compare(x.Cluster, y.Cluster)
	})
	b.mu.RUnlock()
	list := []Group{}
	for _, file := range set.all {
		for _, of := range file.groups {
			if !f.wants(f.Files, file.name) || !f.wants(f.Groups, of.Name) {
				continue
			}
			g := Group{Name: of.Name, File: file.name, Limit: of.Limit, Rules: []Rule{},
				Interval: time.Duration(of.Interval).Seconds()}
			if g.Interval == 0 {
				g.Interval = b.files.config.EvaluationInterval.Seconds()
			}
			seen := map[string]int{}
			for _, r := range of.Rules {
				one := Rule{Name: r.Record + r.Alert, Query: r.Expr, Type: "recording",
					Labels: promrules.FromMaps(of.Labels, r.Labels).Map(), Health: "unknown"}
				if expr, err := b.files.parser.ParseExpr(r.Expr); err == nil {
					one.Query = expr.String()
				}
				alerts := []ActiveAlert{}
				if r.Alert != "" {
					one.Type = "alerting"
					hold, keep := time.Duration(r.For).Seconds(), time.Duration(
						r.KeepFiringFor).Seconds()
					one.Duration, one.KeepFiringFor = &hold, &keep
					notes := r.Annotations
					if notes == nil {
						notes = map[string]string{}
					}
					one.Annotations = &notes
				}
				// The same rule may stand in a group several times, under other labels or none.
				key := one.Name + "\x00" + labels.FromMap(one.Labels).String()
				nth := seen[key]
				seen[key]++
				for _, s := range states {
					if f.Owns == nil || f.Owns(s.Cluster) {
						alerts = append(alerts, one.enter(&g, s, key, nth)...)
					}
				}
				if r.Alert != "" {
					state := stateOf(alerts)
					one.State = &state
					if !f.WithoutAlerts {
						one.Alerts = &alerts
					}
				}
				if f.wants(f.Names, one.Name) && f.means(one.Labels) &&
					(f.Type == "" || f.Type+"ing" == one.Type ||
						f.Type == "alert" && r.Alert != "") {
					g.Rules = append(g.Rules, one)
				}
			}
			if len(g.Rules) > 0 {
				list = append(list, g)
			}
		}
	}
	return list
}

// enter adds what a cluster says of the rule, and returns its alerts.
func (r *Rule) enter(g *Group, s *State, key string, nth int) (alerts []ActiveAlert) {
	for i := range s.Groups {
		of := &s.Groups[i]
		if of.Name != g.Name || of.File != g.File {
			continue
		}
		g.EvaluationTime = max(g.EvaluationTime, of.Took)
		if at := timeOf(of.Evaluated); g.LastEvaluation.IsZero() || at.Before(g.LastEvaluation) {
			g.LastEvaluation = at
		}
		left := nth
		for j := range of.Rules {
			one := &of.Rules[j]
			if one.Name+"\x00"+one.Labels != key {
				continue
			}
			if left > 0 {
				left--
				continue
			}
			r.EvaluationTime = max(r.EvaluationTime, one.Took)
			r.LastEvaluation = g.LastEvaluation
			if r.Health != "err" {
				r.Health = one.Health
			}
			if one.Error != "" && r.LastError == "" {
				r.LastError = fmt.Sprintf("cluster %s: %s", s.Cluster, one.Error)
			}
			for k := range one.Alerts {
				if a := &one.Alerts[k]; a.State != "inactive" {
					alerts = append(alerts, a.active())
				}
			}
			break
		}
	}
	return alerts
}

func (a *AlertState) active() ActiveAlert {
	at := timeOf(a.ActiveAt)
	of := ActiveAlert{Labels: a.Labels, Annotations: a.Annotations, State: a.State, ActiveAt: &at,
		Value: strconv.FormatFloat(float64(a.Value), 'e', -1, 64)}
	if of.Annotations == nil {
		of.Annotations = map[string]string{}
	}
	if a.KeepFiring > 0 {
		since := timeOf(a.KeepFiring)
		of.KeepFiringSince = &since
	}
	return of
}

// stateOf returns the state of a rule with such alerts.
func stateOf(list []ActiveAlert) string {
	state := "inactive"
	for i := range list {
		if list[i].State == "firing" {
			return "firing"
		}
		state = list[i].State
	}
	return state
}

// Alerts returns the alerts that are pending or fire in an account's clusters.
func (b *Status) Alerts(account string, owns func(cluster string) bool) []ActiveAlert {
	list := []ActiveAlert{}
	b.mu.RLock()
	defer b.mu.RUnlock()
	for _, cluster := range slices.Sorted(maps.Keys(b.states[account])) {
		if owns != nil && !owns(cluster) {
			continue
		}
		for _, g := range b.states[account][cluster].Groups {
			for _, r := range g.Rules {
				for k := range r.Alerts {
					if r.Alerts[k].State != "inactive" {
						list = append(list, r.Alerts[k].active())
					}
				}
			}
		}
	}
	return list
}

// maxState bounds a state when it is unpacked, in bytes.
const maxState = 256 << 20

// Pack returns a state in the bytes that a log keeps.
func (s *State) Pack() ([]byte, error) {
	b, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("rules: %w", err)
	}
	w, err := packer()
	if err != nil {
		return nil, fmt.Errorf("rules: %w", err)
	}
	return w.EncodeAll(b, nil), nil
}

// packer returns the process's encoder, whose tables take some MB: one is enough.
var packer = sync.OnceValues(func() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true))
})

// UnpackState reads what Pack wrote.
func UnpackState(b []byte) (State, error) { return unpack(b, maxState) }

// unpack makes no more than so many bytes of b.
func unpack(b []byte, most uint64) (State, error) {
	var s State
	r, err := zstd.NewReader(bytes.NewReader(b), zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderMaxMemory(most))
	if err != nil {
		return s, fmt.Errorf("rules: %w", err)
	}
	defer r.Close()
	if err := json.NewDecoder(io.LimitReader(r, int64(most))).Decode(&s); err != nil {
		return s, fmt.Errorf("rules: a state cannot be read: %w", err)
	}
	return s, nil
}
