package notify

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"
)

// errRefused says that the receiver will never take what it was sent.
var errRefused = errors.New("refused")

// worker sends one receiver what is in its queue.
type worker struct {
	name  string // of the receiver, for the log
	queue *queue
	// send returns nil when the receiver has the whole batch, errRefused if it will never take it,
	// and else an error after which the same is sent again.
	send     func(context.Context, []delivery) error
	maxBatch int

	retryMin, retryMax time.Duration
	now                func() time.Time
	log                *slog.Logger
}

// run sends until ctx ends, or until stopping is closed and nothing waits any more.
func (w *worker) run(ctx context.Context, stopping <-chan struct{}) {
	backoff := time.Duration(0)
	singles := 0 // what a refusal is narrowed down in
	for ctx.Err() == nil {
		hurry := closed(stopping)
		n := w.maxBatch
		if singles > 0 {
			n = 1
		}
		batch, wait := w.queue.take(w.now(), n, hurry)
		if len(batch) == 0 {
			if hurry {
				return
			}
			w.wait(ctx, stopping, wait, w.queue.wake)
			continue
		}
		err := w.send(ctx, batch)
		if err == nil || len(batch) == 1 {
			singles = max(0, singles-len(batch))
		}
		switch {
		case err == nil:
			w.queue.finish(batch, "", w.now())
			if backoff > 0 {
				w.log.Info("a receiver of alerts is back", "receiver", w.name)
			}
			backoff = 0
		case errors.Is(err, errRefused) && len(batch) > 1:
			w.queue.retry(batch)
			singles = len(batch)
		case errors.Is(err, errRefused):
			w.queue.finish(batch, "refused", w.now())
			w.log.Error("a receiver refuses an alert for good; the alert is dropped",
				"receiver", w.name,
				"alert", batch[0].alert.Labels.String(), "error", err)
		default:
			w.queue.retry(batch)
			w.queue.ledger.failures.Inc()
			if backoff == 0 {
				w.log.Warn("a receiver does not take alerts; they wait", "receiver", w.name,
					"error", err)
			}
			backoff = min(max(2*backoff, w.retryMin), w.retryMax)
			// receivers of many processes come back at once
			pause := backoff/2 + rand.N(backoff/2+1)
			if hurry {
				w.wait(ctx, nil, w.retryMin, nil)
			} else {
				w.wait(ctx, stopping, pause, nil)
			}
		}
	}
}

// wait returns after d (0: never), or when one of the others says so.
func (w *worker) wait(
	ctx context.Context, stopping <-chan struct{}, d time.Duration, wake <-chan struct{},
) {
	var after <-chan time.Time
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		after = timer.C
	}
	select {
	case <-ctx.Done():
	case <-stopping:
	case <-after:
	case <-wake:
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
