package notify

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/prometheus/alertmanager/alert"
	"github.com/prometheus/alertmanager/provider"
	"github.com/prometheus/alertmanager/provider/mem"
	"github.com/prometheus/alertmanager/silence"
	"github.com/prometheus/common/model"
)

// board is an account's alerts: Alertmanager's provider in memory, bounded, and with its changes in
// a journal. Repeats are not written down: after a restart an alert that fired fires for a grace
// time, in which the rules say it again.
//
// An end is taken once for each firing. The rules say it for 15 minutes, and a group that has told
// of it would otherwise tell of it again beside the next alert. Nor does a firing begin again whose
// end was said: who heard of both may say the first after the second.
type board struct {
	*mem.Alerts
	limits  Limits
	metrics *metrics
	journal *journal

	mu    sync.Mutex // before that of mem.Alerts
	known map[model.Fingerprint]noted
	held  int       // how many of known are in mem.Alerts
	bytes int       // of those
	news  time.Time // when something began or ended
	calm  time.Duration
}

// noted is what is remembered of an alert, also for a while after it is gone.
type noted struct {
	size   int
	starts int64 // ms since the epoch
	ended  bool
	over   bool      // its end was said; else it may have ended because nobody repeated it
	gone   time.Time // when it left mem.Alerts; zero: it is there
}

// forgetGone is when an end is no longer repeated: the rules do so for 15 minutes.
const forgetGone = time.Hour

// alertOverhead is about what an alert takes beside the bytes of its texts, groups and the log of
// notifications included.
const alertOverhead = 800

// record is an alert in the journal, as JSON.
type record struct {
	model.Alert
	UpdatedAt time.Time `json:"updatedAt"`
	Timeout   bool      `json:"timeout,omitempty"`
	Ended     bool      `json:"ended,omitempty"` // when it was written
}

func sizeOf(a *model.Alert) int {
	n := len(a.GeneratorURL)
	for _, set := range []model.LabelSet{a.Labels, a.Annotations} {
		for name, value := range set {
			n += len(name) + len(value) + 2
		}
	}
	return n
}

// Put takes alerts and leaves out what is beyond a limit, which is counted. It implements
// provider.Alerts.
func (b *board) Put(ctx context.Context, alerts ...*alert.Alert) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.metrics.accepted.Add(float64(len(alerts)))
	taken := make([]*alert.Alert, 0, len(alerts))
	var changes [][]byte
	for _, a := range alerts {
		changed, ok := b.note(a)
		if !ok {
			continue
		}
		taken = append(taken, a)
		if changed {
			if r, err := recordOf(a); err == nil {
				changes = append(changes, r)
			}
		}
	}
	if len(taken) == 0 {
		return nil
	}
	if len(changes) > 0 {
		b.news = time.Now()
	}
	// What fails here is in memory, and goes into the journal when it is next written anew.
	_ = b.journal.append(false, changes...)
	return b.Alerts.Put(ctx, taken...)
}

// note enters an alert and says whether its state is another now; not ok: it is left out.
func (b *board) note(a *alert.Alert) (changed, ok bool) {
	size := sizeOf(&a.Alert)
	if size > b.limits.MaxAlertBytes {
		b.metrics.drop("too_large")
		return false, false
	}
	size += alertOverhead
	fp := a.Fingerprint()
	was, known := b.known[fp]
	now := noted{size: size, starts: a.StartsAt.UnixMilli(), ended: a.Resolved()}
	now.over = now.ended && !a.Timeout
	if known && was.ended && (now.ended && now.starts == was.starts ||
		!now.ended && was.over && now.starts <= was.starts) {
		b.metrics.drop("repeated")
		return false, false
	}
	bytes, held := b.bytes+size, b.held
	if known && was.gone.IsZero() {
		bytes -= was.size
	} else {
		held++
	}
	if bytes > b.limits.MaxBytes || held > b.limits.MaxAlerts {
		b.metrics.drop("full")
		return false, false
	}
	b.bytes, b.held, b.known[fp] = bytes, held, now
	return !known || now.ended != was.ended || now.starts != was.starts, true
}

func recordOf(a *alert.Alert) ([]byte, error) {
	return json.Marshal(record{Alert: a.Alert, UpdatedAt: a.UpdatedAt, Timeout: a.Timeout,
		Ended: a.Resolved()})
}

// noteTold notes alerts that a group is about to tell of and that ended because nobody repeated
// them: a restart must not let them fire again.
func (b *board) noteTold(alerts []*alert.Alert) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var changes [][]byte
	for _, a := range alerts {
		was, known := b.known[a.Fingerprint()]
		if !known || was.ended || !a.Resolved() || was.starts != a.StartsAt.UnixMilli() {
			continue
		}
		was.ended = true
		b.known[a.Fingerprint()] = was
		unsaid := *a
		unsaid.Timeout = true // it fires again if somebody repeats it
		if r, err := recordOf(&unsaid); err == nil {
			changes = append(changes, r)
		}
	}
	if len(changes) > 0 {
		_ = b.journal.append(false, changes...)
	}
}

// settle waits until nothing has begun or ended for a moment, at most five of them. An alert that
// is old when it comes is told at once, and what keeps it quiet may be about to come.
func (b *board) settle(ctx context.Context) {
	for range 5 {
		b.mu.Lock()
		rest := b.calm - time.Since(b.news)
		b.mu.Unlock()
		if rest <= 0 {
			return
		}
		timer := time.NewTimer(rest)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// restore takes what an earlier life has written down. What fired then fires until `until`.
func (b *board) restore(records [][]byte, until time.Time) {
	latest := map[model.Fingerprint]*alert.Alert{}
	for _, text := range records {
		var r record
		if json.Unmarshal(text, &r) != nil || len(r.Labels) == 0 {
			continue // of a later version
		}
		if !r.Ended {
			r.EndsAt = until
		}
		a := alert.New(r.Alert, r.UpdatedAt, r.Timeout)
		latest[a.Fingerprint()] = a
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	taken := make([]*alert.Alert, 0, len(latest))
	for _, a := range latest {
		if _, ok := b.note(a); ok {
			taken = append(taken, a)
		}
	}
	_ = b.Alerts.Put(context.Background(), taken...)
}

// again puts alerts back that a group still has to tell of and the provider has forgotten.
func (b *board) again(alerts []*alert.Alert) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []*alert.Alert
	for _, a := range alerts {
		was, known := b.known[a.Fingerprint()]
		if !known || was.gone.IsZero() || !a.Resolved() {
			continue
		}
		was.gone = time.Time{}
		b.known[a.Fingerprint()] = was
		b.held++
		b.bytes += was.size
		list = append(list, a)
	}
	_ = b.Alerts.Put(context.Background(), list...)
}

// records are all alerts, for the journal that is written anew.
func (b *board) records() (list [][]byte, err error) {
	b.mu.Lock() // Put enters an alert in the journal first
	it := b.GetPending()
	b.mu.Unlock()
	defer it.Close()
	for a := range it.Next() {
		r, err := recordOf(a.Data)
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, it.Err()
}

// forget removes from memory what has been gone for long.
func (b *board) forget(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for fp, n := range b.known {
		if !n.gone.IsZero() && now.Sub(n.gone) > forgetGone {
			delete(b.known, fp)
		}
	}
}

// collected is what is held: alerts and their bytes.
func (b *board) collected() (alerts, bytes int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held, b.bytes
}

var _ provider.Alerts = (*board)(nil)

// callback is told by the provider of what it removes, which is what ended before it looked.
type callback struct {
	*silence.Silencer
	board func() *board
}

// PostDelete implements mem.AlertStoreCallback.
func (c callback) PostDelete(a *alert.Alert) {
	b := c.board()
	b.mu.Lock()
	defer b.mu.Unlock()
	n, known := b.known[a.Fingerprint()]
	if !known || !n.gone.IsZero() {
		return
	}
	if _, err := b.Get(a.Fingerprint()); err == nil {
		return // it has come again meanwhile
	}
	n.gone, n.ended = time.Now(), true
	b.known[a.Fingerprint()] = n
	b.held--
	b.bytes -= n.size
}
