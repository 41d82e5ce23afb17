package recent

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/frame"
)

// activeKey is the sorted set of the clusters that are read through the API: "ACCOUNT/CLUSTER"
// with the time of the latest read in ms. All of it is one small key (a few hundred clusters,
// whatever the number of nodes), so that writers take it whole.
const activeKey = "rw:active"

// clusterKey names a cluster in the active set and in marks. Account names have no slash.
func clusterKey(account, cluster string) string { return account + "/" + cluster }

// markKey says, by being there, that the last fifteen minutes of a cluster are in Redis as far as
// its writer knows.
func markKey(cluster string) string { return "rw:warm:{" + cluster + "}" }

// startsKey is a hash: of each node whose agent started within the last minutes the starts that
// the cluster's writer knows from the log. See runStart.
func startsKey(cluster string) string { return "rw:starts:{" + cluster + "}" }

// activity collects which clusters were read and tells Redis in the background, each cluster at
// most once in Refresh: reading costs a map lookup.
type activity struct {
	config  *Config
	backend backend

	mu     sync.Mutex
	sent   map[string]int64 // when each cluster was last told to Redis, in ms
	due    []string
	busy   bool // a goroutine is telling
	closed bool
	sends  sync.WaitGroup
}

// Touch says that a cluster's newest values are being read, which makes the writers keep it in
// Redis for Config.ActiveFor. It returns at once; while Redis is away it is forgotten, and the
// next read tells it again.
func (r *Reader) Touch(account, cluster string) { r.activity.touch(clusterKey(account, cluster)) }

func (t *activity) touch(cluster string) {
	if t.config.ActiveFor == 0 {
		return
	}
	now := t.config.millis()
	t.mu.Lock()
	defer t.mu.Unlock()
	if last, known := t.sent[cluster]; t.closed ||
		known && now-last < t.config.Refresh.Milliseconds() {
		return
	}
	t.sent[cluster] = now
	t.due = append(t.due, cluster)
	if !t.busy {
		t.busy = true
		t.sends.Add(1)
		go t.send()
	}
}

// send hands on what is due until nothing is.
func (t *activity) send() {
	defer t.sends.Done()
	for {
		t.mu.Lock()
		due, now := t.due, t.config.millis()
		t.due = nil
		if len(due) == 0 || t.closed {
			t.busy = false
			t.mu.Unlock()
			return
		}
		for cluster, at := range t.sent { // bounded by what is read in an hour
			if now-at > t.config.ActiveFor.Milliseconds() {
				delete(t.sent, cluster)
			}
		}
		t.mu.Unlock()
		if t.write(due, now) != nil {
			t.mu.Lock()
			for _, cluster := range due {
				delete(t.sent, cluster) // the next read says it again
			}
			t.mu.Unlock()
		}
	}
}

func (t *activity) write(due []string, now int64) error {
	ctx, cancel := within(context.Background(), t.config.ReadTimeout)
	defer cancel()
	return t.backend.addToSet(ctx, activeKey, due, now, t.config.ActiveFor)
}

func (t *activity) close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.sends.Wait()
}

// readActive returns the clusters that were read within ActiveFor.
func (w *Writer) readActive(ctx context.Context) (map[string]bool, error) {
	list, err := w.backend.setMembers(ctx, activeKey,
		w.config.millis()-w.config.ActiveFor.Milliseconds())
	if err != nil {
		return nil, err
	}
	active := make(map[string]bool, len(list))
	for _, cluster := range list {
		active[cluster] = true
	}
	return active, nil
}

// markFor is how long a mark outlives its writer: another one that takes over within it goes on
// where Kafka's offsets stand.
func (c *Config) markFor() time.Duration { return max(2*time.Second, 6*c.Refresh) }

// renewMarks renews the marks of clusters and says which of them are there.
func (w *Writer) renewMarks(ctx context.Context, clusters []string) ([]bool, error) {
	if len(clusters) == 0 {
		return nil, nil
	}
	names := make([]string, len(clusters))
	for i, cluster := range clusters {
		names[i] = markKey(cluster)
	}
	return w.backend.renew(ctx, names, w.config.markFor())
}

// setMarks makes the marks of clusters that have just been brought up to date, or takes them away.
func (w *Writer) setMarks(ctx context.Context, clusters []string, warm bool) error {
	if len(clusters) == 0 {
		return nil
	}
	marks := make([]hash, len(clusters))
	for i, cluster := range clusters {
		marks[i].name = markKey(cluster)
		if warm {
			marks[i].fields = []string{"warm", "1"}
		}
	}
	return w.backend.setHashes(ctx, marks, w.config.markFor())
}

// tellStarts writes anew what the log says of agents that started, and forgets what is too old to
// be asked for. It is written as a whole each time: what Redis lost or brought back from an older
// copy is right again after Refresh, and gone when its writer is.
func (w *Writer) tellStarts(ctx context.Context, clusters []string) error {
	c, now := w.clusters, w.config.millis()
	// what is read may begin a little before Keep
	horizon := frame.WindowOf(now-w.config.Keep.Milliseconds()) - frame.WindowMillis
	var list []hash
	c.mu.Lock()
	c.seen = 0
	for _, cluster := range clusters {
		state := c.warm[cluster]
		if state == nil {
			continue
		}
		if state.view.since != never {
			state.view.forget(horizon)
		}
		c.seen += len(state.view.nodes)
		// Without starts, what we said, or a writer before us, is taken back once.
		if fields := state.view.fields(); len(fields) > 0 || !state.quiet {
			list = append(list, hash{startsKey(cluster), fields})
			state.quiet = len(fields) == 0
		}
	}
	c.mu.Unlock()
	if len(list) == 0 {
		return nil
	}
	return w.backend.setHashes(ctx, list, w.config.markFor())
}

// starts returns what the cluster's writer says of a node's starts; nothing if it says nothing.
func (r *Reader) starts(ctx context.Context, cluster string, node uuid.UUID) ([]runStart, error) {
	call, cancel := within(ctx, r.config.ReadTimeout)
	defer cancel()
	text, err := r.backend.hashField(call, startsKey(cluster), node.String())
	if err != nil {
		return nil, r.failed(ctx, err)
	}
	return parseStarts(text), nil
}
