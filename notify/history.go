package notify

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/alertmanager/alert"
	amnotify "github.com/prometheus/alertmanager/notify"
	"github.com/prometheus/common/model"

	"github.com/ringwatch/ringwatch/disk/durable"
)

// Told is one message to one receiver, and what became of it.
type Told struct {
	At          time.Time         `json:"at"` // when it was taken, or given up
	Receiver    string            `json:"receiver"`
	Integration string            `json:"integration"` // by what: email, slack, …
	Status      string            `json:"status"`      // firing, or resolved: all of it ended
	Group       map[string]string `json:"group"`       // the labels that its alerts share
	Alerts      []ToldAlert       `json:"alerts"`      // the first of them
	More        int               `json:"more,omitempty"`
	Tries       int               `json:"tries"`
	// Error is why it was given up until the group's next interval; empty: the receiver took it.
	Error string `json:"error,omitempty"`
}

// ToldAlert is one alert of a message.
type ToldAlert struct {
	Status string            `json:"status"`
	Labels map[string]string `json:"labels"`
}

// Firing returns the names of its alerts that fire, each once: of a cluster, if one is given.
func (m *Told) Firing(cluster string) (names []string) {
	for _, a := range m.Alerts {
		name := a.Labels["alertname"]
		if a.Status == string(model.AlertFiring) && !slices.Contains(names, name) &&
			(cluster == "" || a.Labels["cluster"] == cluster) {
			names = append(names, name)
		}
	}
	return names
}

// What one record may take: so many alerts are named, and a label or an error is cut at so many
// bytes.
const (
	historyAlerts = 20
	historyText   = 1 << 10
)

// historyAge is how long messages are known: as long as rollups of hours.
const historyAge = 5 * 366 * 24 * time.Hour

// history is a line of JSON for each message, or each change of a silence, in files that are named
// by when they begin. The oldest go when all of them are larger than maxBytes.
type history struct {
	dir      string
	kind     string // what the names of its files begin with
	maxBytes int64

	mu    sync.Mutex
	file  *os.File
	size  int64
	dirty bool
}

// The kinds of history.
const (
	messagesKind = "messages-"
	silencesKind = "silences-"
)

var historyKinds = []string{messagesKind, silencesKind}

const (
	historySuffix = ".jsonl"
	historyBegin  = "20060102T150405.000Z" // UTC
	// historyFiles is how many files there are when there is no room for another.
	historyFiles = 8
)

// path is that of the file that begins then.
func (h *history) path(begin time.Time) string {
	return filepath.Join(h.dir, h.kind+begin.UTC().Format(historyBegin)+historySuffix)
}

// add writes down what has happened now.
func (h *history) add(now time.Time, what any) error {
	line, err := json.Marshal(what)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.open(now); err != nil {
		return err
	}
	n, err := h.file.Write(append(line, '\n'))
	h.size += int64(n)
	h.dirty = true
	return err
}

// open has a file that is not full: the newest one, or another one.
func (h *history) open(now time.Time) error {
	full := func(size int64) bool { return size >= h.maxBytes/historyFiles }
	if h.file != nil {
		if !full(h.size) {
			return nil
		}
		f := h.file
		h.file = nil
		if err := errors.Join(durable.Bytes(f), f.Close()); err != nil {
			return err
		}
	}
	begins, err := h.begins()
	if err != nil {
		return err
	}
	path := h.path(now)
	if len(begins) > 0 {
		newest := h.path(begins[0])
		if info, err := os.Stat(newest); err != nil {
			return err
		} else if !full(info.Size()) || begins[0].After(now) { // a clock may go back
			path = newest
		}
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	h.size, err = endLine(f)
	if err = errors.Join(err, durable.Names(h.dir)); err != nil {
		return errors.Join(err, f.Close())
	}
	h.file = f
	return nil
}

// endLine ends a line that a killed process has left unfinished, which who reads skips, and returns
// the file's size.
func endLine(f *os.File) (size int64, err error) {
	if size, err = f.Seek(0, io.SeekEnd); err != nil || size == 0 {
		return size, err
	}
	last := []byte{0}
	if _, err := f.ReadAt(last, size-1); err != nil || last[0] == '\n' {
		return size, err
	}
	_, err = f.Write([]byte("\n"))
	return size + 1, err
}

// sync makes everything last.
func (h *history) sync() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.dirty || h.file == nil {
		return nil
	}
	err := durable.Bytes(h.file)
	h.dirty = err != nil
	return err
}

// forget removes the oldest files, beyond a size and an age. The newest stays: it is written to.
func (h *history) forget(now time.Time) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	begins, err := h.begins()
	if err != nil {
		return err
	}
	var size int64
	for i, begin := range begins { // the newest first
		path := h.path(begin)
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		size += info.Size()
		// What a file has is older than the next one's begin.
		if i > 0 && (size > h.maxBytes || now.Sub(begins[i-1]) > historyAge) {
			if err := os.Remove(path); err != nil {
				return err
			}
		}
	}
	return nil
}

// begins are when the files begin, the newest first.
func (h *history) begins() (list []time.Time, err error) {
	entries, err := os.ReadDir(h.dir)
	for _, e := range entries {
		name, is := strings.CutPrefix(e.Name(), h.kind)
		if name, ok := strings.CutSuffix(name, historySuffix); is && ok {
			if begin, err := time.Parse(historyBegin, name); err == nil {
				list = append(list, begin)
			}
		}
	}
	slices.SortFunc(list, func(a, b time.Time) int { return b.Compare(a) })
	return list, err
}

func (h *history) close() error {
	err := h.sync()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.file == nil {
		return nil
	}
	err = errors.Join(err, h.file.Close())
	h.file = nil
	return err
}

// HistoryQuery asks for messages.
type HistoryQuery struct {
	From, To time.Time // both included
	Limit    int       // how many at most, the newest; at least 1
	// Labels are what at least one alert of a message has, or its group.
	Labels map[string]string
}

// MaxHistory bounds HistoryQuery.Limit.
const MaxHistory = 10_000

// read returns messages, the newest first, and whether there are more.
func (h *history) read(q HistoryQuery) (list []Told, more bool, err error) {
	begins, err := h.begins()
	if err != nil {
		return nil, false, err
	}
	for i, begin := range begins {
		if begin.After(q.To) || i > 0 && begins[i-1].Before(q.From) {
			continue
		}
		some, err := readMessages(h.path(begin), &q,
			q.Limit+1-len(list))
		if err != nil {
			return nil, false, err
		}
		if list = append(list, some...); len(list) > q.Limit {
			return list[:q.Limit], true, nil
		}
	}
	return list, false, nil
}

// readMessages returns the newest messages of a file, the newest first. It holds no more of them
// than are asked for.
func readMessages(path string, q *HistoryQuery, limit int) ([]Told, error) {
	var kept []Told // a ring once it is full: the oldest is at next
	next := 0
	err := readLines(path, func(m *Told) {
		switch {
		case !q.wants(m):
		case len(kept) < limit:
			kept = append(kept, *m)
		default:
			kept[next] = *m
			next = (next + 1) % limit
		}
	})
	kept = slices.Concat(kept[next:], kept[:next])
	slices.Reverse(kept)
	return kept, err
}

// readLines gives f each line of a file that can be read, the oldest first.
func readLines[T any](path string, f func(*T)) error {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) { // it was forgotten meanwhile
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewReaderSize(file, 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("%s: %w", path, err)
		}
		var one T
		if len(bytes.TrimSpace(line)) > 0 && json.Unmarshal(line, &one) == nil {
			f(&one)
		}
		if err != nil {
			return nil
		}
	}
}

func (q *HistoryQuery) wants(m *Told) bool {
	if m.At.Before(q.From) || m.At.After(q.To) {
		return false
	}
	has := func(labels map[string]string) bool {
		for name, value := range q.Labels {
			if labels[name] != value {
				return false
			}
		}
		return true
	}
	return len(q.Labels) == 0 || has(m.Group) ||
		slices.ContainsFunc(m.Alerts, func(a ToldAlert) bool { return has(a.Labels) })
}

// cut bounds a text of a record.
func cut(text string) string {
	if len(text) <= historyText {
		return text
	}
	return strings.ToValidUTF8(text[:historyText], "") + "…"
}

// tries are the messages of a gate that are on their way, until a receiver takes them or they are
// given up.
type tries struct {
	history *history
	log     *slog.Logger

	mu   sync.Mutex
	open map[string]map[string]*Told // by group, and by receiver and integration
}

func newTries(h *history, log *slog.Logger) *tries {
	return &tries{history: h, log: log, open: map[string]map[string]*Told{}}
}

// note counts a try, and writes the message down when it was the last.
func (t *tries) note(ctx context.Context, receiver string, in amnotify.Integration,
	alerts []*alert.Alert, failure error, again bool) {
	group, _ := amnotify.GroupKey(ctx)
	to := receiver + "/" + in.String()
	t.mu.Lock()
	m := t.open[group][to]
	if m == nil {
		m = toldOf(ctx, receiver, in.Name(), alerts)
	}
	m.Tries++
	m.Error = ""
	if failure != nil {
		m.Error = cut(failure.Error())
	}
	if failure != nil && again {
		if t.open[group] == nil {
			t.open[group] = map[string]*Told{}
		}
		t.open[group][to] = m
		t.mu.Unlock()
		return
	}
	delete(t.open[group], to)
	t.mu.Unlock()
	t.write(m)
}

// end writes down what was given up of a group's messages: its time is over.
func (t *tries) end(ctx context.Context) {
	group, _ := amnotify.GroupKey(ctx)
	t.mu.Lock()
	left := t.open[group]
	delete(t.open, group)
	t.mu.Unlock()
	for _, m := range left {
		t.write(m)
	}
}

func (t *tries) write(m *Told) {
	m.At = time.Now()
	if err := t.history.add(m.At, m); err != nil {
		t.log.Error("what a receiver was told cannot be written down", "dir", t.history.dir,
			"error", err)
	}
}

// toldOf is a message before its first try.
func toldOf(ctx context.Context, receiver, integration string, alerts []*alert.Alert) *Told {
	m := &Told{Receiver: receiver, Integration: integration, Group: map[string]string{},
		Status: string(model.AlertResolved), Alerts: []ToldAlert{},
		More: max(0, len(alerts)-historyAlerts)}
	labels, _ := amnotify.GroupLabels(ctx)
	for name, value := range labels {
		m.Group[string(name)] = cut(string(value))
	}
	now, _ := amnotify.Now(ctx)
	for i, a := range alerts {
		status := model.AlertResolved
		if !a.ResolvedAt(now) {
			status = model.AlertFiring
			m.Status = string(status)
		}
		if i >= historyAlerts {
			continue
		}
		one := ToldAlert{Status: string(status), Labels: map[string]string{}}
		for name, value := range a.Labels {
			one.Labels[string(name)] = cut(string(value))
		}
		m.Alerts = append(m.Alerts, one)
	}
	return m
}
