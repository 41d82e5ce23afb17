package notify

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

func newHistory(t *testing.T, dir string, maxBytes int64) *history {
	t.Helper()
	h := &history{dir: dir, kind: messagesKind, maxBytes: maxBytes}
	t.Cleanup(func() {
		if err := h.close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

func mustAdd(t *testing.T, h *history, m Told) {
	t.Helper()
	if err := h.add(m.At, &m); err != nil {
		t.Fatal(err)
	}
}

func mustRead(t *testing.T, h *history, q HistoryQuery) (names []string, more bool) {
	t.Helper()
	list, more, err := h.read(q)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range list {
		names = append(names, m.Receiver)
	}
	return names, more
}

// TestHistory: the newest first, by time, label and number; a line that a killed process has left
// unfinished costs that line alone.
func TestHistory(t *testing.T) {
	dir, begin := t.TempDir(), time.Date(2026, 11, 28, 23, 59, 0, 0, time.UTC)
	h := newHistory(t, dir, 1<<20)
	all := HistoryQuery{From: begin.Add(-time.Hour), To: begin.Add(time.Hour), Limit: 100}
	for i := range 5 {
		m := Told{At: begin.Add(time.Duration(i) * time.Minute), Receiver: fmt.Sprint(i),
			Group: map[string]string{"cluster": "shop"}}
		if i == 3 {
			m.Alerts = []ToldAlert{{Labels: map[string]string{"node": "n3"}}}
		}
		mustAdd(t, h, m)
	}
	if err := h.close(); err != nil {
		t.Fatal(err)
	}
	path := h.path(begin)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(content, `{"at":"2026-11-`...), 0o600); err != nil {
		t.Fatal(err)
	}
	h = newHistory(t, dir, 1<<20)
	mustAdd(t, h, Told{At: begin.Add(6 * time.Minute), Receiver: "5"})
	for _, c := range []struct {
		change func(*HistoryQuery)
		want   string
		more   bool
	}{
		{func(*HistoryQuery) {}, "5 4 3 2 1 0", false},
		{func(q *HistoryQuery) { q.Limit = 2 }, "5 4", true},
		{func(q *HistoryQuery) { q.Limit = 6 }, "5 4 3 2 1 0", false},
		{func(q *HistoryQuery) { q.From = begin.Add(3 * time.Minute) }, "5 4 3", false},
		{func(q *HistoryQuery) { q.To = begin.Add(3 * time.Minute) }, "3 2 1 0", false},
		{func(q *HistoryQuery) { q.Labels = map[string]string{"node": "n3"} }, "3", false},
		{func(q *HistoryQuery) { q.Labels, q.Limit = map[string]string{"cluster": "shop"}, 1 },
			"4", true},
		{func(q *HistoryQuery) { q.To = begin.Add(-time.Minute) }, "", false},
	} {
		q := all
		c.change(&q)
		names, more := mustRead(t, h, q)
		if got := strings.Join(names, " "); got != c.want || more != c.more {
			t.Errorf("%+v: %q, more: %v; want %q", q, got, more, c.want)
		}
	}
}

// TestHistoryIsBounded: the oldest messages go, and the files never take more than their bound and
// one file.
func TestHistoryIsBounded(t *testing.T) {
	const bound = 64 << 10
	dir, begin := t.TempDir(), time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC)
	h := newHistory(t, dir, bound)
	for i := range 2000 {
		mustAdd(t, h, Told{At: begin.Add(time.Duration(i) * time.Second),
			Receiver: fmt.Sprint(i), Error: strings.Repeat("x", 100)})
		if i%100 == 0 {
			if err := h.forget(begin.Add(time.Duration(i) * time.Second)); err != nil {
				t.Fatal(err)
			}
		}
	}
	end := begin.Add(2000 * time.Second)
	if err := h.forget(end); err != nil {
		t.Fatal(err)
	}
	var size int64
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	names, _ := mustRead(t, h, HistoryQuery{From: begin, To: end, Limit: MaxHistory})
	if size > bound || size < bound/2 || len(names) < 100 || names[0] != "1999" {
		t.Errorf("%d bytes in %d files, %d messages", size, len(files), len(names))
	}
	if err := h.forget(end.Add(historyAge + time.Hour)); err != nil {
		t.Fatal(err)
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("%d files are left after five years, not the one that is written to", len(files))
	}
}

// TestWhatWasTold: each message to each receiver is written down: after how many tries it was
// taken, or why it was given up until the group's next interval. It is known after a restart.
func TestWhatWasTold(t *testing.T) {
	taken := mustHook(t, func(n int, _ *http.Request) int {
		if n < 3 {
			return http.StatusInternalServerError
		}
		return http.StatusOK
	})
	refusing := mustHook(t, func(int, *http.Request) int { return http.StatusBadRequest })
	hung := mustHook(t, func(int, *http.Request) int { return http.StatusServiceUnavailable })
	o := options(t.TempDir(), mustParse(t, fmt.Sprintf(`
route: {receiver: all, group_by: [cluster], group_wait: 1s, group_interval: 1s}
receivers:
  - name: all
    webhook_configs: [{url: %q}, {url: %q}, {url: %q}]
`, taken.URL, refusing.URL, hung.URL)))
	n := mustOpen(t, o)
	mustPut(t, n, firing("A", "node", "n1"), firing("B"))
	read := func() (list []Told) {
		list, _, err := n.Messages("shop", HistoryQuery{From: time.Unix(0, 0),
			To: time.Now().Add(time.Hour), Limit: 1000, Labels: map[string]string{"node": "n1"}})
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	kinds := func(list []Told) map[string]int {
		got := map[string]int{}
		for _, m := range list {
			switch {
			case m.Error == "":
				got[fmt.Sprintf("taken after %d tries", m.Tries)]++
			case strings.Contains(m.Error, "400") && m.Tries == 1:
				got["refused"]++
			case strings.Contains(m.Error, "503") && m.Tries > 1:
				got["given up"]++
			}
		}
		return got
	}
	eventually(t, func() bool { return len(kinds(read())) == 3 },
		func() string { return fmt.Sprintf("%+v", read()) })
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	o.Metrics = newRegistry()
	n = mustOpen(t, o)
	list := read()
	for _, m := range list {
		if m.Receiver != "all" || m.Integration != "webhook" || m.Status != "firing" ||
			m.Group["cluster"] != "c" || len(m.Alerts) != 2 || m.At.IsZero() {
			t.Errorf("%+v", m)
		}
	}
	if got := kinds(list); len(got) != 3 || got["taken after 3 tries"] != 1 {
		t.Errorf("%v: %+v", got, list)
	}
}

// TestSilenced: a silence that has ended, changed or never began is known as it was, for as long as
// messages are, by others' names for it, and after a restart.
func TestSilenced(t *testing.T) {
	t.Parallel()
	began := time.Now()
	h := mustHook(t, nil)
	o := options(t.TempDir(), mustParse(t, yamlOf(h.URL, "1h", "", "")))
	n := mustOpen(t, o)
	ended := mustSilence(t, n, "alertname", "Ended", time.Hour)
	for at := time.Now().UnixMilli(); time.Now().UnixMilli() <= at+1; {
		runtime.Gosched() // the API has milliseconds, and the order is by them
	}
	lasts := mustSilence(t, n, "alertname", "Lasts", time.Hour)
	if status, said := ask(t, n, "shop", "DELETE", "/api/v2/silence/"+ended, ""); status != 200 {
		t.Fatalf("%d: %s", status, said)
	}
	over := time.Now()
	check := func(n *Notifier, from, to time.Time, limit int, want string, more bool) {
		t.Helper()
		list, has, err := n.Silenced("shop", from, to, limit)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range list {
			name := map[string]string{ended: "ended", lasts: "lasts"}[*s.ID]
			got = append(got, fmt.Sprintf("%s %s %s %s", name, *s.Status.State, *s.CreatedBy,
				*s.Matchers[0].Value))
		}
		if text := strings.Join(got, ", "); text != want || has != more {
			t.Errorf("%q, %v, not %q, %v", text, has, want, more)
		}
	}
	both := "lasts active me Lasts, ended expired me Ended"
	check(n, began, over, 10, both, false)
	check(n, began, over, 1, "lasts active me Lasts", true)
	check(n, over.Add(time.Second), over.Add(time.Minute), 10, "lasts active me Lasts", false)
	check(n, began.Add(-time.Hour), began.Add(-time.Minute), 10, "", false)
	if list, _, err := n.Silenced("other", began, over, 10); err != nil || len(list) > 0 {
		t.Errorf("another account has %d, %v", len(list), err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "copy")
	if err := Copy(o.Dir, copied); err != nil {
		t.Fatal(err)
	}
	o.Dir, o.Metrics, o.Retention = copied, newRegistry(), time.Nanosecond // Alertmanager forgets
	check(mustOpen(t, o), began, over, 10, both, false)
}
