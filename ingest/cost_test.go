package ingest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/dev/eventually"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/memory"
)

// TestLargeFramesAreRefused before they take what they would unpack to.
func TestLargeFramesAreRefused(t *testing.T) {
	budget, err := memory.NewBudget("frames", 128<<20, nil)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().UnixMilli()
	id := uuid.New()
	packed := func(c *Config, d *Deps) { d.Memory = budget }
	// so that what lies behind is seen
	loose := func(c *Config, d *Deps) { d.Memory, c.MaxRatio = budget, 1e6 }
	for _, input := range []struct {
		name   string
		b      []byte
		change func(*Config, *Deps)
		reason string
		most   int64 // bytes that refusing may allocate
	}{
		{"4 million histograms with values", frametest.HistogramFrame(id, "prod-1", now, 1000, 4000,
			1, true), packed, "ratio", 1 << 20},
		{"4 million, by memory", frametest.HistogramFrame(id, "prod-1", now, 1000, 4000, 1, true),
			loose, "frame_memory", 128 << 20},
		{"16 million histograms", frametest.HistogramFrame(id, "prod-1", now, 4000, 4000, 1, false),
			packed, "too_many_series", 32 << 20},
		{"200,000 series of 1,024 bounds", frametest.HistogramFrame(id, "prod-1", now, 200_000, 1,
			1024, false), packed, "too_many_buckets", 64 << 20},
		{"32 MiB of zeros", frametest.ZeroFrame(id, "prod-1", now, 32<<20), packed, "ratio",
			1 << 20},
	} {
		t.Run(input.name, func(t *testing.T) {
			s := mustServe(t, nil, input.change)
			if len(input.b) > 100<<10 {
				t.Errorf("the attack has %d bytes", len(input.b))
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			wantRefusal(t, post(t, s.url, bytes.NewReader(input.b)),
				http.StatusRequestEntityTooLarge, input.reason)
			runtime.ReadMemStats(&after)
			took := int64(after.TotalAlloc - before.TotalAlloc)
			t.Logf("%d bytes of frame, %d allocated", len(input.b), took)
			if took > input.most {
				t.Errorf("refusing it allocated %d bytes, %d are allowed", took, input.most)
			}
			eventually.True(t, "its memory is given back", func() bool {
				return budget.Used() == 0
			})
		})
	}
}

// TestTheLargestFrameOfAnAgentIsTaken: an agent sends profiles in frames of up to 3,000,000 series
// and 16 MiB before compression (FrameRoom.java), which the defaults allow.
func TestTheLargestFrameOfAnAgentIsTaken(t *testing.T) {
	const entities, metrics = 750, 4000
	budget, err := memory.NewBudget("frames", 512<<20, nil)
	if err != nil {
		t.Fatal(err)
	}
	f := &frame.Frame{Header: frame.Header{Compression: frame.Zstd, Node: uuid.New(),
		Cluster: "prod-1", Started: 1, Sequence: 1, At: time.Now().UnixMilli(), Interval: 5000},
		Templates: []frame.Template{{Type: "sent", Labels: []string{"number"}}},
		Added:     []frame.Entities{{}}, Values: []frame.Group{{}}}
	var values []int64
	for e := range entities {
		f.Added[0].Rows = append(f.Added[0].Rows, []string{strconv.Itoa(e)})
		values = append(values, 1<<33+int64(e)) // five bytes each
	}
	for m := range metrics {
		f.Templates[0].Metrics = append(f.Templates[0].Metrics,
			frame.Metric{Name: fmt.Sprintf("m%04d", m), Kind: frame.Gauge})
		f.Values[0].Columns = append(f.Values[0].Columns,
			frame.Column{Metric: m, All: true, Ints: values})
	}
	b, err := f.Append(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	h, _, err := frame.Parse(b)
	if err != nil || h.RawLength < 14<<20 || h.RawLength > 16<<20 {
		t.Fatalf("%d bytes, %v", h.RawLength, err)
	}
	s := mustServe(t, taken, func(c *Config, d *Deps) {
		d.Memory, c.MaxRatio = budget, 1e6 // real values differ more
	})
	if answer := post(t, s.url, bytes.NewReader(b)); answer.StatusCode != http.StatusNoContent {
		t.Error(answer.Status)
	}
}

// TestFramesWaitForTheirAccountsMemory: what one account sends is told to come again while its
// share is in use, and another's is taken.
func TestFramesWaitForTheirAccountsMemory(t *testing.T) {
	budget, err := memory.NewBudget("frames", 64<<20, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := mustServe(t, taken, func(c *Config, d *Deps) { d.Memory = budget })
	held, err := budget.Try("acme", budget.Share())
	if err != nil {
		t.Fatal(err)
	}
	key, other := node{}.mustKey(t), node{cluster: "zeta-1"}.mustKey(t)
	wantRefusal(t, post(t, s.url, bytes.NewReader(key)), http.StatusTooManyRequests,
		"account_memory")
	if answer := post(t, s.url, bytes.NewReader(other), withKey(zetas)); answer.StatusCode !=
		http.StatusNoContent {
		t.Errorf("another account's frame: %s", answer.Status)
	}
	held.Release()
	if answer := post(t, s.url, bytes.NewReader(key)); answer.StatusCode != http.StatusNoContent {
		t.Errorf("when there is memory: %s", answer.Status)
	}
	s.ledger(t)
}

// TestUnpackingHasARate: an account has so much unpacked and no more, and another one's frames do
// not wait for that.
func TestUnpackingHasARate(t *testing.T) {
	s := mustServe(t, taken, func(c *Config, d *Deps) {
		c.MaxRatio, c.RawBytesPerSecond = 1e6, int64(c.MaxRawBytes)
	})
	bomb := frametest.ZeroFrame(uuid.New(), "prod-1", time.Now().UnixMilli(), 31<<20)
	var mu sync.Mutex
	reasons := map[string]int{}
	var wg sync.WaitGroup
	for range 40 {
		wg.Go(func() {
			answer := post(t, s.url, bytes.NewReader(bomb))
			var body struct{ Error struct{ Reason string } }
			_ = json.NewDecoder(answer.Body).Decode(&body) // an accepted one has no body
			mu.Lock()
			defer mu.Unlock()
			reasons[body.Error.Reason]++
			if retry := answer.Header.Get("Retry-After"); body.Error.Reason == "unpack_rate" &&
				retry == "" {
				t.Error("it does not say when")
			}
		})
	}
	wg.Wait()
	if reasons["unpack_rate"] == 0 {
		t.Errorf("forty frames of 31 MiB at once: %v", reasons)
	}
	if answer := post(t, s.url, bytes.NewReader(node{cluster: "zeta-1"}.mustKey(t)),
		withKey(zetas)); answer.StatusCode != http.StatusNoContent {
		t.Errorf("another account's frame: %s", answer.Status)
	}
}

// TestNearTheLimit: a process that is near its memory limit takes no frames, and says when to come
// again.
func TestNearTheLimit(t *testing.T) {
	near := true
	s := mustServe(t, taken, func(_ *Config, d *Deps) { d.Near = func() bool { return near } })
	wantRefusal(t, post(t, s.url, bytes.NewReader(node{}.mustKey(t))),
		http.StatusServiceUnavailable, "low_memory")
	near = false
	if answer := post(t, s.url,
		bytes.NewReader(node{compression: frame.Zstd}.mustKey(t))); answer.StatusCode !=
		http.StatusNoContent {
		t.Error(answer.Status)
	}
}
