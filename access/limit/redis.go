package limit

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"
)

// gcra is the generic cell rate algorithm: a key holds the time, in µs of Redis's clock, at which
// all requests so far would have come if they had kept the pace. A request may go on while that
// is less than a burst ahead of now. If one key has no room, none is changed. A key expires when
// its time has passed.
//
//	KEYS[i], ARGV[2i-1] = µs a request, ARGV[2i] = burst, the last ARGV = how many requests → {0, 0} or {index of the fullest key, µs to wait}
var gcra = rueidis.NewLuaScript(`
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local due, worst, wait = {}, 0, 0
for i = 1, #KEYS do
  local interval = tonumber(ARGV[2 * i - 1])
  due[i] = math.max(tonumber(redis.call('GET', KEYS[i]) or 0), now) + interval * ARGV[#ARGV]
  local excess = due[i] - now - interval * ARGV[2 * i]
  if excess > wait then
    worst, wait = i, excess
  end
end
if wait > 0 then
  return {worst, wait}
end
for i = 1, #KEYS do
  redis.call('SET', KEYS[i], string.format('%.0f', due[i]), 'PX', math.ceil((due[i] - now) / 1000))
end
return {0, 0}`)

// errAway says that Redis is not asked just now.
var errAway = errors.New("limit: Redis is not asked")

// shared counts in Redis, for all processes that share it.
type shared struct {
	config    *Config
	do        func(context.Context, func(rueidis.Client) error) error
	prefix    string
	awayUntil atomic.Int64 // ns since the Unix epoch
}

func newShared(c *Config, do func(context.Context, func(rueidis.Client) error) error) *shared {
	s := &shared{config: c, do: do, prefix: "rw:limit:"}
	if c.Of != Requests {
		s.prefix += c.Of + ":"
	}
	return s
}

func (s *shared) name() string { return "redis" }

func (s *shared) take(ctx context.Context, account, node string, rates [2]pace,
	n int64) (time.Duration, string, error) {
	if time.Now().UnixNano() < s.awayUntil.Load() {
		return 0, "", errAway
	}
	// The braces put an account's keys onto one node of a Redis Cluster.
	keys := []string{s.prefix + "{" + account + "}"}
	if node != "" {
		keys = append(keys, keys[0]+":"+node)
	}
	var args []string
	for _, r := range rates[:len(keys)] {
		args = append(args, strconv.FormatInt(r.interval, 10), strconv.FormatInt(r.burst, 10))
	}
	args = append(args, strconv.FormatInt(n, 10))
	call, cancel := context.WithTimeout(ctx, s.config.Timeout)
	defer cancel()
	var answer []int64
	err := s.do(call, func(client rueidis.Client) (err error) {
		answer, err = gcra.Exec(call, client, keys, args).AsIntSlice()
		return err
	})
	if err == nil && len(answer) != 2 {
		err = fmt.Errorf("limit: Redis answers %d numbers", len(answer))
	}
	if err != nil {
		if ctx.Err() == nil { // else it is the caller who left
			s.awayUntil.Store(time.Now().Add(s.config.Backoff).UnixNano())
		}
		return 0, "", err
	}
	whose := Account
	if answer[0] == 2 {
		whose = Node
	}
	return time.Duration(answer[1]) * time.Microsecond, whose, nil
}
