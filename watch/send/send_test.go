package send

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/dev/eventually"
	"github.com/ringwatch/ringwatch/frame"
)

// ingest is one that answers as it is told, and keeps what it took.
type ingest struct {
	*httptest.Server
	mu     sync.Mutex
	status int
	of     map[byte]int // the status for a node, where it is another
	took   []frame.Header
}

func mustIngest(t *testing.T) *ingest {
	t.Helper()
	i := &ingest{status: http.StatusNoContent}
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return // the sender ended
		}
		i.mu.Lock()
		defer i.mu.Unlock()
		h, _, err := frame.Parse(b)
		if err != nil || r.Header.Get("Authorization") != "Bearer rw_watch" {
			t.Errorf("%v, %v", err, r.Header)
		}
		status := i.status
		if own := i.of[h.Node[0]]; own != 0 {
			status = own
		}
		if status == http.StatusNoContent {
			i.took = append(i.took, h)
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(i.Close)
	return i
}

func (i *ingest) say(status int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.status = status
}

// heard returns the frames that came. One that was sent again, since its answer was late, is there
// once.
func (i *ingest) heard() (list []frame.Header) {
	i.mu.Lock()
	defer i.mu.Unlock()
	type name struct {
		node uuid.UUID
		at   int64
	}
	seen := map[name]bool{}
	for _, h := range i.took {
		if one := (name{h.Node, h.At}); !seen[one] {
			seen[one] = true
			list = append(list, h)
		}
	}
	return list
}

type rig struct {
	*Sender
	registry *prometheus.Registry
	lost     int
	stop     func()
}

func mustSend(t *testing.T, i *ingest, files Spool) *rig {
	t.Helper()
	client, err := NewClient(Config{URL: i.URL, Key: "rw_watch"}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{registry: prometheus.NewRegistry()}
	r.Sender, err = New(client, files, Health{What: "frames", Section: "watch",
		Log: slog.New(slog.DiscardHandler)}, r.registry)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = r.Run(ctx)
	}()
	r.stop = sync.OnceFunc(func() {
		cancel()
		<-ended
	})
	t.Cleanup(r.stop)
	return r
}

// put sends frames of a node, numbered, each with so many bytes that do not shrink.
func (r *rig) put(t *testing.T, node byte, from, to, size int) {
	t.Helper()
	for n := from; n < to; n++ {
		f := &frame.Frame{Header: frame.Header{Node: uuid.UUID{node + 1}, Cluster: "c", Started: 1,
			Sequence: uint64(n), At: 1_790_000_000_000 + int64(n), Interval: 1000}}
		f.Identity.Facts = []frame.Fact{{Name: "x", Value: strings.Repeat("x", size)}}
		b, err := f.Append(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Put(f.Node, b, func() { r.lost++ })
	}
}

// value is the sum of a metric's series.
func (r *rig) value(t *testing.T, name string) (sum float64) {
	t.Helper()
	families, err := r.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "ringwatch_watch_"+name {
			for _, m := range f.Metric {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return sum
}

// ledger checks that each frame is somewhere.
func (r *rig) ledger(t *testing.T) {
	t.Helper()
	made := r.value(t, "frames_total")
	found := r.value(t, "sent_total") + r.value(t, "dropped_total") + r.value(t, "queued") +
		r.value(t, "spooled")
	if made != found || made == 0 {
		t.Errorf("%v frames were made, %v are accounted for", made, found)
	}
}

// inOrder checks that frames of each node came in order, each once, and returns how many.
func inOrder(t *testing.T, list []frame.Header) int {
	t.Helper()
	last := map[uuid.UUID]int64{}
	for _, h := range list {
		if h.At <= last[h.Node] {
			t.Errorf("node %s: %d after %d", h.Node, h.At, last[h.Node])
		}
		last[h.Node] = h.At
	}
	return len(list)
}

// TestSend: frames arrive, those of a node in order, and again after ingest was away.
func TestSend(t *testing.T) {
	i := mustIngest(t)
	r := mustSend(t, i, Spool{})
	for node := range byte(20) {
		r.put(t, node, 0, 5, 10)
	}
	eventually.True(t, "100 frames arrive", func() bool { return len(i.heard()) == 100 })
	i.say(http.StatusServiceUnavailable)
	for node := range byte(20) {
		r.put(t, node, 5, 10, 10)
	}
	i.say(http.StatusNoContent)
	eventually.True(t, "200 frames arrive", func() bool { return len(i.heard()) == 200 })
	inOrder(t, i.heard())
	r.ledger(t)
}

// TestOneNodeIsForbidden: a node whose frames ingest does not take holds up no other, neither in
// memory nor in the spool, and its frames arrive in order once it may send.
func TestOneNodeIsForbidden(t *testing.T) {
	i := mustIngest(t)
	i.of = map[byte]int{1: http.StatusForbidden, 2: http.StatusTooManyRequests}
	files := Spool{Directory: t.TempDir(), MaxBytes: 64 << 20}
	r := mustSend(t, i, files)
	const nodes = 40 // several in each queue
	send := func(from, to int) {
		for node := range byte(nodes) {
			r.put(t, node, from, to, 10)
		}
	}
	send(0, 3)
	eventually.True(t, "the others' frames arrive", func() bool {
		return len(i.heard()) == 3*(nodes-2)
	})
	inOrder(t, i.heard())
	// A frame waits until its answer is there, which is after it was heard.
	eventually.True(t, "six frames wait", func() bool { return r.value(t, "queued") == 6 })
	r.stop()
	r.ledger(t)
	if n := r.value(t, "spooled"); n != 6 {
		t.Errorf("%v frames are on disk", n)
	}
	r = mustSend(t, i, files)
	send(3, 4)
	eventually.True(t, "the others' frames arrive again",
		func() bool { return len(i.heard()) == 4*(nodes-2) })
	i.mu.Lock()
	i.of = nil
	i.mu.Unlock()
	eventually.True(t, "all arrive", func() bool { return len(i.heard()) == 4*nodes })
	eventually.True(t, "nothing waits", func() bool {
		return r.value(t, "queued")+r.value(t, "spooled") == 0
	})
	r.ledger(t)
}

// TestRefused: a frame that is wrong is dropped, counted and said.
func TestRefused(t *testing.T) {
	i := mustIngest(t)
	i.say(http.StatusUnprocessableEntity)
	r := mustSend(t, i, Spool{})
	r.put(t, 1, 0, 3, 10)
	eventually.True(t, "three frames are dropped",
		func() bool { return r.value(t, "dropped_total") == 3 })
	r.ledger(t)
	r.stop()
	if r.lost != 3 {
		t.Errorf("lost was called %d times", r.lost)
	}
}

// TestSpool: while ingest is away, what memory has no room for waits on disk, also over a restart,
// and arrives.
func TestSpool(t *testing.T) {
	i := mustIngest(t)
	i.say(http.StatusServiceUnavailable)
	files := Spool{Directory: filepath.Join(t.TempDir(), "spool"), MaxBytes: 64 << 20}
	r := mustSend(t, i, files)
	const frames, size = 400, 60_000
	r.put(t, 1, 0, frames, size) // 24 MB; the queue of one node
	if r.value(t, "spooled") == 0 || r.value(t, "queued")*size > memoryBytes {
		t.Errorf("%v frames are on disk, %v in memory", r.value(t, "spooled"), r.value(t, "queued"))
	}
	r.ledger(t)
	r.stop()
	if n := r.value(t, "spooled"); n != frames || r.lost > 0 {
		t.Errorf("%v frames are on disk after the end, %d are lost", n, r.lost)
	}
	r.ledger(t)
	// A crash within the last frame.
	list, err := filepath.Glob(filepath.Join(files.Directory, "*"))
	if err != nil || len(list) < 2 {
		t.Fatal(list, err)
	}
	last := list[len(list)-1]
	info, err := os.Stat(last)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(last, info.Size()-7); err != nil {
		t.Fatal(err)
	}
	i.say(http.StatusNoContent)
	r = mustSend(t, i, files)
	r.put(t, 2, 0, 5, 10)
	eventually.True(t, "the spool is empty", func() bool {
		left, err := os.ReadDir(files.Directory)
		return err == nil && len(left) == 0 && len(i.heard()) >= frames-1+5
	})
	if n := inOrder(t, i.heard()); n != frames-1+5 {
		t.Errorf("%d frames arrived", n)
	}
	eventually.True(t, "nothing waits", func() bool {
		return r.value(t, "queued")+r.value(t, "spooled") == 0
	})
	r.ledger(t)
}

// TestFull: disk and memory are bounded, the oldest goes, and it is counted.
func TestFull(t *testing.T) {
	i := mustIngest(t)
	i.say(http.StatusForbidden)
	for _, files := range []Spool{{},
		{Directory: t.TempDir(), MaxBytes: 2 * segmentBytes}} {
		r := mustSend(t, i, files)
		r.put(t, 1, 0, 600, 60_000) // 36 MB
		dropped := r.value(t, "dropped_total")
		if dropped < 100 || dropped > 590 {
			t.Errorf("%+v: %v frames were dropped", files, dropped)
		}
		r.ledger(t)
		total := int64(0)
		if files.Directory != "" {
			list, err := filepath.Glob(filepath.Join(files.Directory, "*"))
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range list {
				info, err := os.Stat(path)
				if err != nil {
					t.Fatal(err)
				}
				total += info.Size()
			}
		}
		if total > files.MaxBytes {
			t.Errorf("%d bytes are on disk", total)
		}
		r.stop()
		r.ledger(t)
	}
}

// TestConfig: what is wrong is said, and a key goes nowhere but to ingest.
func TestConfig(t *testing.T) {
	bad := Config{URL: "x", Key: "a", KeyFile: "b"}
	if err := bad.Validate(); err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Error(err)
	}
	if err := (&Spool{}).Validate(); err == nil {
		t.Error("a spool without room is no error")
	}
	var went int
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		went++
	}))
	defer other.Close()
	redirects := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer redirects.Close()
	c, err := NewClient(Config{URL: redirects.URL, Key: "rw_watch"}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Post(t.Context(), []byte("x")); err == nil || went > 0 || !Again(err) {
		t.Errorf("%v, and %d requests went elsewhere", err, went)
	}
	if Again(&Answer{Status: 400}) || !Again(&Answer{Status: 403}) || !Again(fmt.Errorf("away")) {
		t.Error("what is sent again is wrong")
	}
}
