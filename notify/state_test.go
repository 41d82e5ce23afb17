package notify

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/disk"
)

func newRegistry() *prometheus.Registry { return prometheus.NewRegistry() }

func mustServe(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// copied is a directory as kill -9 leaves it: nobody closes anything.
func copied(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

// TestKilled: who opens a directory again, closed, as kill -9 left it or as Copy copied it, tells
// nothing twice, knows the silences, and tells the end of what was told before.
func TestKilled(t *testing.T) {
	for name, again := range map[string]func(*testing.T, *Notifier, string) string{
		"closed": func(t *testing.T, n *Notifier, dir string) string {
			if err := n.Close(); err != nil {
				t.Fatal(err)
			}
			return dir
		},
		"killed": func(t *testing.T, n *Notifier, dir string) string {
			to := copied(t, dir)
			if err := n.Close(); err != nil { // the other one would tell, too
				t.Fatal(err)
			}
			return to
		},
		"copied": func(t *testing.T, n *Notifier, dir string) string {
			to := filepath.Join(t.TempDir(), "copy")
			if err := Check(dir, nil); !errors.Is(err, disk.ErrInUse) {
				t.Errorf("Check of a directory in use: %v", err)
			}
			if err := errors.Join(Copy(dir, to), n.Close()); err != nil {
				t.Fatal(err)
			}
			if err := Check(to, func(path, what string) {
				t.Errorf("%s: %s", path, what)
			}); err != nil {
				t.Error(err)
			}
			return to
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := mustHook(t, nil)
			o := options(t.TempDir(), mustParse(t, yamlOf(h.URL, "1h", "", "")))
			n := mustOpen(t, o)
			id := mustSilence(t, n, "alertname", "Quiet", time.Hour)
			a, b, quietOne := firing("A"), firing("B"), firing("Quiet")
			mustPut(t, n, a, b, quietOne)
			h.wait(t, "A firing, B firing")
			settled(t, n)
			o.Dir, o.Metrics = again(t, n, o.Dir), newRegistry()
			n = mustOpen(t, o)
			h.stays(t, n, "A firing, B firing")
			if status, said := ask(t, n, "shop", http.MethodGet, "/api/v2/silence/"+id,
				""); status != http.StatusOK || !strings.Contains(said, `"active"`) {
				t.Errorf("the silence is forgotten: %d %s", status, said)
			}
			mustPut(t, n, a, b, quietOne) // the rules say them again
			h.stays(t, n, "A firing, B firing")
			mustPut(t, n, ended(a), b, quietOne)
			h.wait(t, "A firing, B firing", "A resolved, B firing")
		})
	}
}

// settled waits until what was told is in the file.
func settled(t *testing.T, n *Notifier) {
	t.Helper()
	a, err := n.account("shop")
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool {
		a.running.Load().gate.mu.Lock()
		defer a.running.Load().gate.mu.Unlock()
		return a.running.Load().gate.inside == 0
	}, func() string { return "a group is never done" })
}

// TestEndWhileAway: what was told and ended while nobody ran is told when it is known.
func TestEndWhileAway(t *testing.T) {
	h := mustHook(t, nil)
	o := options(t.TempDir(), mustParse(t, yamlOf(h.URL, "1h", "", "")))
	o.FiringLasts = 15 * time.Second // longer than the group waits
	n := mustOpen(t, o)
	mustPut(t, n, firing("A"))
	h.wait(t, "A firing")
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	o.Metrics = newRegistry()
	mustOpen(t, o) // nobody repeats it
	h.wait(t, "A firing", "A resolved")
}

// TestDiskFails: a silence that cannot be written is not answered for.
func TestDiskFails(t *testing.T) {
	h := mustHook(t, nil)
	n := opened(t, h, "1h")
	a, err := n.account("shop")
	if err != nil {
		t.Fatal(err)
	}
	a.silenceFile.mu.Lock()
	whole := a.silenceFile.file
	broken, err := os.Open(os.DevNull) // for reading alone
	a.silenceFile.file = broken
	a.silenceFile.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	status, said := ask(t, n, "shop", http.MethodPost, "/api/v2/silences", `{"matchers": [{"name":
		"a", "value": "b", "isRegex": false}], "startsAt": "2026-01-01T00:00:00Z", "endsAt":
		"2099-01-01T00:00:00Z", "createdBy": "me", "comment": "no"}`)
	if status != http.StatusInternalServerError || !strings.Contains(said, "to disk") {
		t.Errorf("%d %s", status, said)
	}
	_ = whole.Close()
	mustSilence(t, n, "alertname", "A", time.Hour) // the file is written anew
}

// TestJournal: of each beginning of a file the whole records are read, and no flipped bit is taken
// for another record.
func TestJournal(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "j")
	j, _, _, err := openJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	words := []string{"one", "two", "", "four"}
	for _, w := range words {
		if err := j.append(true, []byte(w)); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	read := func(content []byte) (list []string, damaged bool, err error) {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		j, records, damaged, err := openJournal(path)
		if err != nil {
			return nil, damaged, err
		}
		defer j.close()
		for _, r := range records {
			list = append(list, string(r))
		}
		if err := j.append(false, []byte("more")); err != nil {
			t.Error(err)
		}
		_, again, _, err := openJournal(path)
		if err != nil || len(again) != len(records)+1 {
			t.Errorf("%d records after %d and one more: %v", len(again), len(records), err)
		}
		return list, damaged, nil
	}
	whole := strings.Join(words, ",")
	for n := range len(content) {
		got, damaged, err := read(content[:n])
		if err != nil || damaged || !strings.HasPrefix(whole, strings.Join(got, ",")) {
			t.Fatalf("the first %d bytes: %q, damaged %t, %v", n, got, damaged, err)
		}
	}
	for bit := range 8 * len(content) {
		flipped := append([]byte{}, content...)
		flipped[bit/8] ^= 1 << (bit % 8)
		got, _, err := read(flipped)
		if err == nil && !strings.HasPrefix(whole, strings.Join(got, ",")) {
			t.Fatalf("bit %d: %q", bit, got)
		}
	}
}

// TestRewrite: what is appended while a file is written anew is in it.
func TestRewrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	j, _, _, err := openJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if err := j.append(false, []byte("old")); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.rewrite(func() ([][]byte, error) {
		return [][]byte{[]byte("all")}, j.append(true, []byte("meanwhile"))
	}); err != nil {
		t.Fatal(err)
	}
	if err := j.append(true, []byte("after")); err != nil {
		t.Fatal(err)
	}
	if err := j.close(); err != nil {
		t.Fatal(err)
	}
	_, records, _, err := openJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range records {
		got = append(got, string(r))
	}
	if strings.Join(got, ",") != "all,meanwhile,after" {
		t.Errorf("%q", got)
	}
}

// TestOneProcess: a directory has one process at a time, and the other is told which has it.
func TestOneProcess(t *testing.T) {
	o := options(t.TempDir(), mustParse(t, yamlOf(mustHook(t, nil).URL, "1h", "", "")))
	n := mustOpen(t, o)
	o.Metrics = newRegistry()
	if _, err := Open(o); !errors.Is(err, disk.ErrInUse) ||
		!strings.Contains(err.Error(), "is used by process") {
		t.Errorf("a second one: %v", err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, o)
}

// TestCheckDamage names the file that is damaged, and no other.
func TestCheckDamage(t *testing.T) {
	o := options(t.TempDir(), mustParse(t, yamlOf(mustHook(t, nil).URL, "1h", "", "")))
	n := mustOpen(t, o)
	mustSilence(t, n, "alertname", "A", time.Hour)
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(o.Dir, directoryOf("shop"), silencesName)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)-1] ^= 1
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	var damaged []string
	if err := Check(o.Dir, func(path, _ string) { damaged = append(damaged, path) }); err != nil ||
		len(damaged) != 1 || damaged[0] != path {
		t.Errorf("damaged: %v, %v", damaged, err)
	}
}
