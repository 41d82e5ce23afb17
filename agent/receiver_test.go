package agent_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/dev/eventually"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/ingest"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/building"
	"github.com/ringwatch/ringwatch/window/selecting"
)

// patience bounds every wait.
const patience = eventually.Patience

// receiver is ingest as far as the agent can tell: it takes every frame and keeps the newest with
// its key frame.
type receiver struct {
	url string

	mu      sync.Mutex
	changed chan struct{} // closed at the next frame
	key     []byte
	keyed   *frame.Frame // key, decoded
	newest  []byte
	at      int64
	frames  int
	bytes   int
	broken  error
	events  []frame.Event // of all frames, in their order
}

func mustReceiver(t *testing.T) *receiver {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &receiver{url: "http://" + listener.Addr().String(), changed: make(chan struct{})}
	server := &http.Server{Handler: r}
	go server.Serve(listener) //nolint:errcheck // it ends with the test
	t.Cleanup(func() { server.Close() })
	return r
}

// behind is by how much the receiver's clock is behind the machine's.
const behind = 100 * time.Second

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	b, err := io.ReadAll(request.Body)
	if err == nil {
		err = r.take(b)
	}
	clock := time.Now().Add(-behind).UnixMilli()
	w.Header().Set(ingest.ClockHeader, strconv.FormatInt(clock, 10))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

// take holds every frame to FORMAT.md: it is decoded whole, against its key frame.
func (r *receiver) take(b []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	header, _, err := frame.Parse(b)
	if err == nil && header.At <= r.at {
		err = errors.New("a frame that is not newer than the last")
	}
	var decoded *frame.Frame
	if err == nil {
		decoded, err = frame.Decode(b, r.keyed)
	}
	if err != nil {
		r.broken = errors.Join(r.broken, fmt.Errorf("frame %d: %w", r.frames, err))
	} else {
		if header.IsKey() {
			r.key, r.keyed = b, decoded
		}
		r.newest, r.at = b, header.At
		r.events = append(r.events, decoded.Events...)
		r.frames++
		r.bytes += len(b)
	}
	close(r.changed)
	r.changed = make(chan struct{})
	return err
}

// after returns what the first frame of an instant after at said.
func (r *receiver) after(ctx context.Context, at int64) (*state, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		r.mu.Lock()
		key, newest, now, broken, changed := r.key, r.newest, r.at, r.broken, r.changed
		r.mu.Unlock()
		if broken != nil {
			return nil, broken
		}
		if now > at {
			return stateOf(key, newest)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("no frame after that of %d: %w", now, ctx.Err())
		case <-changed:
		}
	}
}

// event returns the first event that ok accepts, of those that came and those that come.
func (r *receiver) event(ctx context.Context, ok func(*frame.Event) bool) (*frame.Event, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	seen := 0
	for {
		r.mu.Lock()
		events, broken, changed := r.events, r.broken, r.changed
		r.mu.Unlock()
		for ; seen < len(events); seen++ {
			if ok(&events[seen]) {
				return &events[seen], nil
			}
		}
		if broken != nil {
			return nil, broken
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("no such event among %v: %w", events, ctx.Err())
		case <-changed:
		}
	}
}

func (r *receiver) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.frames
}

// state is all that a node said at one instant, by series.
type state struct {
	at     int64
	node   window.Node
	series map[string]*window.Series
}

func stateOf(key, newest []byte) (*state, error) {
	w, report, err := building.Window(window.Node{}, [][]byte{key, newest})
	if err != nil {
		return nil, err
	}
	if report.Corrupt+report.MissingKey > 0 {
		return nil, fmt.Errorf("a window of one frame and its key: %+v", report)
	}
	latest := selecting.Latest(w)
	s := &state{at: w.Times[len(w.Times)-1], node: w.Node, series: make(map[string]*window.Series,
		len(latest))}
	for i := range latest {
		s.series[keyOf(&latest[i])] = &latest[i]
	}
	return s, nil
}

// keyOf is a series' name and the values of its own labels, by ascending label name.
func keyOf(s *window.Series) string {
	var key strings.Builder
	key.WriteString(s.Labels.Get("__name__"))
	s.Labels.Range(func(l labels.Label) {
		switch l.Name {
		case "__name__", "cluster", "datacenter", "rack", "node":
		default:
			key.WriteString("|" + l.Value)
		}
	})
	return key.String()
}

// text is a series' value as Java prints JMX's: a number, or bucket counts. Empty if there is none.
func (s *state) text(key string) string {
	name, sum := strings.CutSuffix(key, " sum") // of a histogram
	series := s.series[name]
	switch {
	case sum && series != nil:
		return fmt.Sprint(series.Histograms[0].Sum)
	case series == nil:
		return ""
	case series.Histograms != nil:
		return counts(series.Histograms[0].Dense(nil))
	case series.Doubles != nil:
		return strconv.FormatFloat(series.Doubles[0], 'g', -1, 64)
	case series.Strings != nil:
		return series.Strings[0]
	}
	return fmt.Sprint(series.Ints[0])
}

func counts(buckets []int64) string {
	var b strings.Builder
	for i, n := range buckets {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, n)
	}
	return "[" + b.String() + "]"
}

func scaled(v int64, exponent int) float64 { return frame.Scale(v, exponent) }
