package recent

import (
	"context"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/redis/rueidis"
)

// A node is claimed by several senders when one of them sends, then another, then the first again.
// A node that was restarted, or has a new key, changes once and does not change back.

const (
	// senderSeconds is how long a node's senders are known: several times as long as ingest takes
	// to say so again.
	senderSeconds = 300
	// maxSenders bounds what is known of one node; who changes more often than that was found out
	// long before.
	maxSenders = 16
	// claimSeconds is how long a node counts as claimed after it was last seen to be.
	claimSeconds = 900
)

// sent notes a node's sender and returns 1 if another has sent since it did so before.
// ARGV: the sender, now in ms, seconds to live, the most senders.
var sent = rueidis.NewLuaScript(`
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

func senderKey(account string, node uuid.UUID) string {
	return "rw:sender:{" + account + "/" + node.String() + "}"
}

func claimedKey(account string) string { return "rw:claimed:{" + account + "}" }

// Claim says that a node's frames come from a sender just now. It returns true if others have sent
// frames of the node since this sender said so before; then Claimed names the node for 15 minutes.
func (r *Reader) Claim(ctx context.Context, account string, node uuid.UUID, sender string) (several bool, err error) {
	now := strconv.FormatInt(r.config.millis(), 10)
	err = r.Do(ctx, func(client rueidis.Client) error {
		n, err := sent.Exec(ctx, client, []string{senderKey(account, node)}, []string{sender, now, strconv.Itoa(senderSeconds), strconv.Itoa(maxSenders)}).AsInt64()
		if several = err == nil && n == 1; !several {
			return err
		}
		oldest := strconv.FormatInt(r.config.millis()-claimSeconds*1000, 10)
		for _, result := range client.DoMulti(ctx,
			client.B().Zadd().Key(claimedKey(account)).ScoreMember().ScoreMember(float64(r.config.millis()), node.String()).Build(),
			client.B().Zremrangebyscore().Key(claimedKey(account)).Min("-inf").Max("("+oldest).Build(),
			client.B().Expire().Key(claimedKey(account)).Seconds(claimSeconds).Build()) {
			if err := result.Error(); err != nil {
				return err
			}
		}
		return nil
	})
	return several, err
}

// Claimed returns the account's nodes that were claimed by several senders within the last 15
// minutes.
func (r *Reader) Claimed(ctx context.Context, account string) (nodes map[uuid.UUID]bool, err error) {
	defer r.observe("claimed", time.Now(), &err, nil)
	call, cancel := context.WithTimeout(ctx, r.config.ReadTimeout)
	defer cancel()
	client, err := r.link.get(call)
	if err != nil {
		return nil, err
	}
	oldest := strconv.FormatInt(r.config.millis()-claimSeconds*1000, 10)
	list, err := client.Do(call, client.B().Zrange().Key(claimedKey(account)).Min(oldest).Max("+inf").Byscore().Build()).AsStrSlice()
	if err != nil {
		return nil, r.judge(ctx, err)
	}
	nodes = make(map[uuid.UUID]bool, len(list))
	for _, text := range list {
		if id, err := uuid.Parse(text); err == nil {
			nodes[id] = true
		}
	}
	return nodes, nil
}
