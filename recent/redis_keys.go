package recent

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/redis/rueidis"
)

// addToSetScript puts members into a set, removes those not put for long, and renews the time to
// live. ARGV: seconds to live, the oldest time to keep, now, then the members.
var addToSetScript = rueidis.NewLuaScript(`
for i = 4, #ARGV do
  redis.call('ZADD', KEYS[1], 'GT', ARGV[3], ARGV[i])
end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', '(' .. ARGV[2])
redis.call('EXPIRE', KEYS[1], ARGV[1])
return 1`)

func (l *redisBackend) addToSet(ctx context.Context, set string, members []string, now int64,
	keep time.Duration) error {
	client, err := l.get(ctx)
	if err != nil {
		return err
	}
	args := append([]string{seconds(keep), decimal(now - keep.Milliseconds()), decimal(now)},
		members...)
	return l.judge(ctx, addToSetScript.Exec(ctx, client, []string{set}, args).Error())
}

func (l *redisBackend) setMembers(ctx context.Context, set string, since int64) ([]string, error) {
	client, err := l.get(ctx)
	if err != nil {
		return nil, err
	}
	list, err := client.Do(ctx,
		client.B().Zrange().Key(set).Min(decimal(since)).Max("+inf").Byscore().Build()).AsStrSlice()
	return list, l.judge(ctx, err)
}

// setHashScript writes a hash anew, or takes it away. ARGV: seconds to live, then fields and
// values. They are written in pieces, because unpack takes some thousand at most.
var setHashScript = rueidis.NewLuaScript(`
redis.call('DEL', KEYS[1])
for i = 2, #ARGV, 1000 do
  redis.call('HSET', KEYS[1], unpack(ARGV, i, math.min(i + 999, #ARGV)))
end
redis.call('EXPIRE', KEYS[1], ARGV[1])
return 1`)

func (l *redisBackend) setHashes(ctx context.Context, list []hash, ttl time.Duration) error {
	client, err := l.get(ctx)
	if err != nil {
		return err
	}
	batch := make([]rueidis.LuaExec, len(list))
	for i, s := range list {
		batch[i] = rueidis.LuaExec{Keys: []string{s.name},
			Args: append([]string{seconds(ttl)}, s.fields...)}
	}
	var failed error
	for _, result := range setHashScript.ExecMulti(ctx, client, batch...) {
		failed = errors.Join(failed, l.judge(ctx, result.Error()))
	}
	return failed
}

func (l *redisBackend) hashField(ctx context.Context, name, field string) (string, error) {
	client, err := l.get(ctx)
	if err != nil {
		return "", err
	}
	text, err := client.Do(ctx, client.B().Hget().Key(name).Field(field).Build()).ToString()
	if rueidis.IsRedisNil(err) {
		return "", nil
	}
	return text, l.judge(ctx, err)
}

func (l *redisBackend) renew(ctx context.Context, names []string,
	ttl time.Duration) ([]bool, error) {
	client, err := l.get(ctx)
	if err != nil {
		return nil, err
	}
	commands := make(rueidis.Commands, len(names))
	for i, name := range names {
		commands[i] = client.B().Expire().Key(name).Seconds(int64(ttl / time.Second)).Build()
	}
	there := make([]bool, len(names))
	for i, result := range client.DoMulti(ctx, commands...) {
		n, err := result.AsInt64()
		if err != nil {
			return nil, l.judge(ctx, err)
		}
		there[i] = n == 1
	}
	return there, nil
}

// addSenderScript notes a sender and returns 1 if another has sent since it did so before. ARGV:
// the sender, now in ms, seconds to live, the most senders.
var addSenderScript = rueidis.NewLuaScript(`
local known = redis.call('HGETALL', KEYS[1])
local before, others = -1, -1
for i = 1, #known, 2 do
  local at = tonumber(known[i + 1])
  if known[i] == ARGV[1] then
    before = at
  elseif at > others then
    others = at
  end
end
if #known >= 2 * tonumber(ARGV[4]) and before < 0 then
  redis.call('DEL', KEYS[1])
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('EXPIRE', KEYS[1], ARGV[3])
if before >= 0 and others > before then
  return 1
end
return 0`)

func (l *redisBackend) addSender(ctx context.Context, name, sender string,
	now int64) (bool, error) {
	client, err := l.get(ctx)
	if err != nil {
		return false, err
	}
	n, err := addSenderScript.Exec(ctx, client, []string{name},
		[]string{sender, decimal(now), seconds(senderTTL), strconv.Itoa(maxSenders)}).AsInt64()
	return n == 1, l.judge(ctx, err)
}
