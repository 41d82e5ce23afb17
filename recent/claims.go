package recent

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// A node is claimed by several senders when one of them sends, then another, then the first again.
// A node that was restarted, or has a new key, changes once and does not change back. Senders are
// told apart by key and by the agent's start, not by address: nodes change addresses by turns.

const (
	// senderTTL is how long a node's senders are known: several times as long as ingest takes
	// to say so again.
	senderTTL = 5 * time.Minute
	// maxSenders bounds what is known of one node; who changes more often than that was found out
	// long before.
	maxSenders = 16
	// claimedFor is how long a node counts as claimed after it was last seen to be.
	claimedFor = 15 * time.Minute
)

func senderKey(account string, node uuid.UUID) string {
	return "rw:sender:{" + account + "/" + node.String() + "}"
}

func claimedKey(account string) string { return "rw:claimed:{" + account + "}" }

// Claim says that a node's frames come from a sender just now. It returns true if others have sent
// frames of the node since this sender said so before; then Claimed names the node for 15 minutes.
func (r *Reader) Claim(ctx context.Context, account string, node uuid.UUID,
	sender string) (several bool, err error) {
	now := r.config.millis()
	several, err = r.backend.addSender(ctx, senderKey(account, node), sender, now)
	if err != nil || !several {
		return false, err
	}
	return true, r.backend.addToSet(ctx, claimedKey(account), []string{node.String()}, now,
		claimedFor)
}

// Claimed returns the account's nodes that were claimed by several senders within the last 15
// minutes.
func (r *Reader) Claimed(ctx context.Context,
	account string) (nodes map[uuid.UUID]bool, err error) {
	defer r.observe("claimed", time.Now(), &err, nil)
	call, cancel := within(ctx, r.config.ReadTimeout)
	defer cancel()
	list, err := r.backend.setMembers(call, claimedKey(account),
		r.config.millis()-claimedFor.Milliseconds())
	if err != nil {
		return nil, r.failed(ctx, err)
	}
	nodes = make(map[uuid.UUID]bool, len(list))
	for _, text := range list {
		if id, err := uuid.Parse(text); err == nil {
			nodes[id] = true
		}
	}
	return nodes, nil
}
