package recent

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/redis/rueidis"
)

// putScript writes one frame, keeps last, key and seen at the newest, counts it, and renews the
// time to live, all in one command: Redis cannot stop between them. ARGV: at, frame, at of its key
// frame, seconds to live, when the node was heard of by it: see seenAt; and a number for a window
// that begins.
var putScript = rueidis.NewLuaScript(`
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
if redis.call('HINCRBY', KEYS[1], 'writes', 1) == 1 then
  redis.call('HSET', KEYS[1], 'drawn', ARGV[6])
end
local newest = redis.call('HMGET', KEYS[1], 'seen', 'last')
newest = newest[1] or newest[2]
if not newest or tonumber(newest) <= tonumber(ARGV[5]) then
  redis.call('HSET', KEYS[1], 'last', ARGV[1], 'key', ARGV[3], 'seen', ARGV[5])
end
redis.call('EXPIRE', KEYS[1], ARGV[4])
return 1`)

func (l *redisBackend) put(ctx context.Context, list []entry, ttl time.Duration) []error {
	errs := make([]error, len(list))
	client, err := l.get(ctx)
	if err != nil {
		for i := range errs {
			errs[i] = err
		}
		return errs
	}
	batch := make([]rueidis.LuaExec, len(list))
	for i := range list {
		e := &list[i]
		batch[i] = rueidis.LuaExec{
			Keys: []string{windowKey(e.windowID)},
			Args: []string{decimal(e.at), rueidis.BinaryString(e.frame), decimal(e.keyAt),
				seconds(ttl), decimal(e.seen), decimal(rand.Int64())},
		}
	}
	for i, result := range putScript.ExecMulti(ctx, client, batch...) {
		errs[i] = l.judge(ctx, result.Error())
	}
	return errs
}

// newestScript returns the newest frame, its key frame and when the node was heard of by it, from
// the given windows, newest first, so that a node's state is one round trip. It goes on to older
// windows while what it has was not heard of since the window's beginning: then an older one may
// have what came later. ARGV: the windows' beginnings.
var newestScript = rueidis.NewLuaScriptReadOnly(`
local best, of, last, key = -1
for i = 1, #KEYS do
  local m = redis.call('HMGET', KEYS[i], 'last', 'key', 'seen')
  if m[1] and m[2] then
    local seen = tonumber(m[3] or m[1])
    if seen > best then
      best, of, last, key = seen, KEYS[i], m[1], m[2]
    end
  end
  if best >= tonumber(ARGV[i]) then
    break
  end
end
if best < 0 then
  return {}
end
local frames = redis.call('HMGET', of, last, key)
return {frames[1], frames[2], string.format('%.0f', best)}`)

func (l *redisBackend) newest(ctx context.Context, windows []windowID) (last,
	key []byte, seen int64, err error) {
	client, err := l.get(ctx)
	if err != nil {
		return nil, nil, 0, err
	}
	var keys, begins []string
	for _, w := range windows {
		keys, begins = append(keys, windowKey(w)), append(begins, decimal(w.window))
	}
	answer, err := newestScript.Exec(ctx, client, keys, begins).ToArray()
	if err != nil {
		return nil, nil, 0, l.judge(ctx, err)
	}
	if len(answer) < 3 || answer[0].IsNil() || answer[1].IsNil() {
		return nil, nil, 0, nil
	}
	if last, err = answer[0].AsBytes(); err == nil {
		key, err = answer[1].AsBytes()
	}
	if err == nil {
		seen, err = answer[2].AsInt64()
	}
	return last, key, seen, shaped(err)
}

// shaped names what Redis answers otherwise than it should.
func shaped(err error) error {
	if err != nil {
		return fmt.Errorf("an answer of an unknown shape: %w", err)
	}
	return nil
}

func (l *redisBackend) seenIn(ctx context.Context, windows []windowID) ([]int64, error) {
	client, err := l.get(ctx)
	if err != nil {
		return nil, err
	}
	commands := make(rueidis.Commands, len(windows))
	for i, w := range windows {
		commands[i] = client.B().Hmget().Key(windowKey(w)).Field("seen", "last").Build()
	}
	seen := make([]int64, len(windows))
	for i, result := range client.DoMulti(ctx, commands...) {
		if seen[i], err = eitherOf(result); err != nil {
			return nil, l.judge(ctx, err)
		}
	}
	return seen, nil
}

// eitherOf reads the answer for seen and last; a hash of an earlier version has no seen. 0: there
// is no frame.
func eitherOf(result rueidis.RedisResult) (int64, error) {
	fields, err := result.ToArray()
	if err != nil {
		return 0, err
	}
	for _, f := range fields {
		if !f.IsNil() {
			return f.AsInt64()
		}
	}
	return 0, nil
}

// frames asks for windows in one pipeline, and then for those that are known and have changed.
func (l *redisBackend) frames(ctx context.Context, windows []windowID) (map[int64][]byte, error) {
	client, err := l.get(ctx)
	if err != nil {
		return nil, err
	}
	frames := map[int64][]byte{}
	var known []*cachedWindow
	var old, unknown []windowID
	for _, w := range windows {
		if k := l.cache.get(w); k != nil {
			known, old = append(known, k), append(old, w)
		} else {
			unknown = append(unknown, w)
		}
	}
	commands := make(rueidis.Commands, 0, len(windows))
	for _, w := range old {
		commands = append(commands, client.B().Hmget().Key(windowKey(w)).Field(drawnField,
			writesField).Build())
	}
	for _, w := range unknown {
		commands = append(commands, client.B().Hgetall().Key(windowKey(w)).Build())
	}
	answers := client.DoMulti(ctx, commands...)
	changed, err := l.cache.unchanged(old, answers, known, frames)
	if err != nil {
		return nil, l.judge(ctx, err)
	}
	if err := l.whole(ctx, unknown, answers[len(old):], frames); err != nil || len(changed) == 0 {
		return frames, err
	}
	commands = commands[:0]
	for _, w := range changed {
		commands = append(commands, client.B().Hgetall().Key(windowKey(w)).Build())
	}
	return frames, l.whole(ctx, changed, client.DoMulti(ctx, commands...), frames)
}

// whole takes the frames of windows that were asked for whole.
func (l *redisBackend) whole(ctx context.Context, windows []windowID, answers []rueidis.RedisResult,
	frames map[int64][]byte) error {
	for i, result := range answers {
		fields, err := result.AsMap()
		if err != nil {
			return l.judge(ctx, err)
		}
		of := make(map[int64][]byte, len(fields))
		for name, m := range fields {
			at, err := strconv.ParseInt(name, 10, 64)
			if err != nil {
				continue // last, key, seen, drawn, writes
			}
			if of[at], err = m.AsBytes(); err != nil {
				return shaped(err)
			}
			frames[at] = of[at]
		}
		drawn, hasDrawn := fields[drawnField]
		writes, hasWrites := fields[writesField]
		if hasDrawn && hasWrites {
			a, _ := drawn.ToString()
			b, _ := writes.ToString()
			l.cache.put(windows[i], a+"/"+b, of)
		}
	}
	return nil
}

// times asks for the names of all frames in one pipeline.
func (l *redisBackend) times(ctx context.Context, windows []windowID) ([][]int64, error) {
	client, err := l.get(ctx)
	if err != nil {
		return nil, err
	}
	commands := make(rueidis.Commands, len(windows))
	for i, w := range windows {
		commands[i] = client.B().Hkeys().Key(windowKey(w)).Build()
	}
	times := make([][]int64, len(windows))
	for i, result := range client.DoMulti(ctx, commands...) {
		names, err := result.AsStrSlice()
		if err != nil {
			return nil, l.judge(ctx, err)
		}
		for _, name := range names {
			// else last, key, seen, drawn, writes
			if at, err := strconv.ParseInt(name, 10, 64); err == nil {
				times[i] = append(times[i], at)
			}
		}
	}
	return times, nil
}

func (l *redisBackend) frameAt(ctx context.Context, list []frameID) ([][]byte, error) {
	client, err := l.get(ctx)
	if err != nil {
		return nil, err
	}
	commands := make(rueidis.Commands, len(list))
	for i, m := range list {
		commands[i] = client.B().Hget().Key(windowKey(m.windowID)).Field(decimal(m.at)).Build()
	}
	frames := make([][]byte, len(list))
	for i, result := range client.DoMulti(ctx, commands...) {
		b, err := result.AsBytes()
		if err != nil && !rueidis.IsRedisNil(err) {
			return nil, l.judge(ctx, err)
		}
		frames[i] = b
	}
	return frames, nil
}

// windowKey names the hash of one window of one node.
func windowKey(w windowID) string {
	b := make([]byte, 0, len(w.account)+64)
	b = append(b, "rw:{"...)
	b = append(b, w.account...)
	b = append(b, '/')
	b = append(b, w.node.String()...)
	b = append(b, "}:"...)
	return string(strconv.AppendInt(b, w.window, 10))
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// seconds is a time to live as Redis takes it.
func seconds(ttl time.Duration) string { return decimal(int64(ttl / time.Second)) }
