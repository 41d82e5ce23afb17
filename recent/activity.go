package recent

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/redis/rueidis"

	"github.com/ringwatch/ringwatch/frame"
)

// activeKey is the sorted set of the clusters that are read through the API: "ACCOUNT/CLUSTER" with the time of the latest read in ms. All of it is
// one small key (a few hundred clusters, whatever the number of nodes), so that writers take it whole.
const activeKey = "rw:active"

// touch notes reads of clusters, forgets those not read for long, and renews the time to live.
// ARGV: seconds to live, the oldest time to keep, now, then a cluster each.
var touch = rueidis.NewLuaScript(`
for i = 4, #ARGV do
  redis.call('ZADD', KEYS[1], 'GT', ARGV[3], ARGV[i])
end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', '(' .. ARGV[2])
redis.call('EXPIRE', KEYS[1], ARGV[1])
return 1`)

// clusterKey names a cluster in the active set and in marks. Account names have no slash.
func clusterKey(account, cluster string) string { return account + "/" + cluster }

// markKey says, by being there, that the last fifteen minutes of a cluster are in Redis as far as its writer knows.
func markKey(cluster string) string { return "rw:warm:{" + cluster + "}" }

// startsKey is a hash: of each node whose agent started within the last minutes the starts that the cluster's writer knows from the log. See runStart.
func startsKey(cluster string) string { return "rw:starts:{" + cluster + "}" }

// touches collects which clusters were read and tells Redis in the background, each cluster at most once in Refresh: reading costs a map lookup.
type touches struct {
	config *Config
	link   *link

	mu     sync.Mutex
	told   map[string]int64 // when each cluster was last told to Redis, in ms
	due    []string
	busy   bool // a goroutine is telling
	closed bool
	tells  sync.WaitGroup
}

// Touch says that a cluster's newest values are being read, which makes the writers keep it in Redis for Config.ActiveFor. It returns at once; while Redis is
// away it is forgotten, and the next read tells it again.
func (r *Reader) Touch(account, cluster string) { r.touches.touch(clusterKey(account, cluster)) }

func (t *touches) touch(cluster string) {
	if t.config.ActiveFor == 0 {
		return
	}
	now := t.config.millis()
	t.mu.Lock()
	defer t.mu.Unlock()
	if last, known := t.told[cluster]; t.closed || known && now-last < t.config.Refresh.Milliseconds() {
		return
	}
	t.told[cluster] = now
	t.due = append(t.due, cluster)
	if !t.busy {
		t.busy = true
		t.tells.Add(1)
		go t.tell()
	}
}

// tell hands on what is due until nothing is.
func (t *touches) tell() {
	defer t.tells.Done()
	for {
		t.mu.Lock()
		due, now := t.due, t.config.millis()
		t.due = nil
		if len(due) == 0 || t.closed {
			t.busy = false
			t.mu.Unlock()
			return
		}
		for cluster, at := range t.told { // bounded by what is read in an hour
			if now-at > t.config.ActiveFor.Milliseconds() {
				delete(t.told, cluster)
			}
		}
		t.mu.Unlock()
		if t.write(due, now) != nil {
			t.mu.Lock()
			for _, cluster := range due {
				delete(t.told, cluster) // the next read says it again
			}
			t.mu.Unlock()
		}
	}
}

func (t *touches) write(due []string, now int64) error {
	ctx, cancel := context.WithTimeout(context.Background(), t.config.ReadTimeout)
	defer cancel()
	client, err := t.link.get(ctx)
	if err != nil {
		return err
	}
	keep := t.config.ActiveFor
	args := append([]string{strconv.FormatInt(int64(keep/time.Second), 10), strconv.FormatInt(now-keep.Milliseconds(), 10), strconv.FormatInt(now, 10)}, due...)
	return t.link.judge(ctx, touch.Exec(ctx, client, []string{activeKey}, args).Error())
}

func (t *touches) close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.tells.Wait()
}

// active returns the clusters that were read within ActiveFor.
func (w *Writer) readActive(ctx context.Context) (map[string]bool, error) {
	client, err := w.link.get(ctx)
	if err != nil {
		return nil, err
	}
	oldest := strconv.FormatInt(w.config.millis()-w.config.ActiveFor.Milliseconds(), 10)
	list, err := client.Do(ctx, client.B().Zrange().Key(activeKey).Min(oldest).Max("+inf").Byscore().Build()).AsStrSlice()
	if err != nil {
		return nil, err
	}
	active := make(map[string]bool, len(list))
	for _, cluster := range list {
		active[cluster] = true
	}
	return active, nil
}

// markSeconds is how long a mark outlives its writer: another one that takes over within it goes on where Kafka's offsets stand.
func (c *Config) markSeconds() int64 { return max(2, int64(6*c.Refresh/time.Second)) }

// renewMarks renews the marks of clusters and says which of them are there.
func (w *Writer) renewMarks(ctx context.Context, clusters []string) ([]bool, error) {
	if len(clusters) == 0 {
		return nil, nil
	}
	client, err := w.link.get(ctx)
	if err != nil {
		return nil, err
	}
	commands := make(rueidis.Commands, len(clusters))
	for i, cluster := range clusters {
		commands[i] = client.B().Expire().Key(markKey(cluster)).Seconds(w.config.markSeconds()).Build()
	}
	there := make([]bool, len(clusters))
	for i, result := range client.DoMulti(ctx, commands...) {
		n, err := result.AsInt64()
		if err != nil {
			return nil, err
		}
		there[i] = n == 1
	}
	return there, nil
}

// setMarks makes the marks of clusters that have just been brought up to date, or takes them away.
func (w *Writer) setMarks(ctx context.Context, clusters []string, warm bool) error {
	if len(clusters) == 0 {
		return nil
	}
	client, err := w.link.get(ctx)
	if err != nil {
		return err
	}
	commands := make(rueidis.Commands, len(clusters))
	for i, cluster := range clusters {
		if warm {
			commands[i] = client.B().Set().Key(markKey(cluster)).Value("1").ExSeconds(w.config.markSeconds()).Build()
		} else {
			commands[i] = client.B().Del().Key(markKey(cluster)).Build()
		}
	}
	for _, result := range client.DoMulti(ctx, commands...) {
		if err := result.Error(); err != nil {
			return err
		}
	}
	return nil
}

// tellStarts writes anew what the log says of agents that started, and forgets what is too old to be asked for. It is written as a whole each time: what Redis lost or brought back from
// an older copy is right again after Refresh, and gone when its writer is.
func (w *Writer) tellStarts(ctx context.Context, clusters []string) error {
	c, now := w.clusters, w.config.millis()
	horizon := frame.WindowOf(now-w.config.Keep.Milliseconds()) - frame.WindowMillis // what is read may begin a little before Keep
	fields := map[string][]string{}
	var gone []string
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
		if f := state.view.fields(); len(f) > 0 {
			fields[cluster] = f
			state.quiet = false
		} else if !state.quiet { // what we said, or a writer before us, holds no longer
			gone = append(gone, cluster)
			state.quiet = true
		}
	}
	c.mu.Unlock()
	if len(fields)+len(gone) == 0 {
		return nil
	}
	client, err := w.link.get(ctx)
	if err != nil {
		return err
	}
	var failed error
	for _, cluster := range gone {
		failed = errors.Join(failed, client.Do(ctx, client.B().Del().Key(startsKey(cluster)).Build()).Error())
	}
	var batch []rueidis.LuaExec
	for cluster, f := range fields {
		batch = append(batch, rueidis.LuaExec{Keys: []string{startsKey(cluster)}, Args: append([]string{strconv.FormatInt(w.config.markSeconds(), 10)}, f...)})
	}
	for _, result := range replace.ExecMulti(ctx, client, batch...) {
		failed = errors.Join(failed, result.Error())
	}
	return failed
}

// replace writes a hash anew. ARGV: seconds to live, then fields and values. They are written in pieces, because unpack takes some thousand at most.
var replace = rueidis.NewLuaScript(`
redis.call('DEL', KEYS[1])
for i = 2, #ARGV, 1000 do
  redis.call('HSET', KEYS[1], unpack(ARGV, i, math.min(i + 999, #ARGV)))
end
redis.call('EXPIRE', KEYS[1], ARGV[1])
return 1`)

// starts returns what the cluster's writer says of a node's starts; nothing if it says nothing.
func (r *Reader) starts(ctx context.Context, cluster string, node uuid.UUID) ([]runStart, error) {
	call, cancel := context.WithTimeout(ctx, r.config.ReadTimeout)
	defer cancel()
	client, err := r.link.get(call)
	if err != nil {
		return nil, err
	}
	text, err := client.Do(call, client.B().Hget().Key(startsKey(cluster)).Field(node.String()).Build()).ToString()
	if rueidis.IsRedisNil(err) {
		return nil, nil
	}
	if err != nil {
		return nil, r.judge(ctx, err)
	}
	return parseStarts(text), nil
}
