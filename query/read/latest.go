package read

import (
	"cmp"
	"context"
	"fmt"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/query/share"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/building"
)

// State is a node's newest state; of nothing, if none is known.
type State struct {
	*window.Window          // of one instant, of which all could be read; nil: none is known
	Seen           int64    // when the node was heard of by it, in ms: not after its frame arrived
	Recent         bool     // the recent source held all of it
	Missing        []string // why there may be a newer one, in words
}

// readLatest asks the recent source for a node's newest state, and the store if that has none or an
// old one.
func (s *source) readLatest(
	ctx context.Context, accountName string, n *window.Node, want *frame.Wanted,
) (State, error) {
	var recent *window.Window
	var heard int64
	if s.sources.Recent != nil {
		s.sources.Recent.Touch(accountName, n.Cluster)
		frames, at, err := s.sources.Recent.Latest(ctx, accountName, n.ID)
		heard = at
		if err != nil {
			s.countFallback(err)
		} else if recent, err = latestWindow(ctx, accountName, n, frames,
			want); memory.Refused(err) ||
			ctx.Err() != nil {
			return State{}, cmp.Or(err, ctx.Err())
		} else if err != nil {
			s.metrics.fallbacks.WithLabelValues(fallUnreadable).Inc()
		} else if fresh(s.config.Clock().UnixMilli(), heard, recent.Node.Interval) {
			s.metrics.reads.WithLabelValues("latest", fromRecent).Inc()
			return State{Window: recent, Seen: heard, Recent: true}, nil
		} else {
			s.metrics.fallbacks.WithLabelValues(fallStale).Inc()
		}
	}
	frames, storedSeen, newer, err := s.sources.Store.LatestFrames(ctx, accountName, n.ID)
	if err != nil {
		if recent != nil {
			s.metrics.reads.WithLabelValues("latest", fromRecent).Inc()
			missing := fmt.Sprintf("everything newer than %s: the store does not answer now",
				formatMillis(heard))
			return State{Window: recent, Seen: heard, Missing: []string{missing}}, nil
		}
		s.metrics.failures.Inc()
		return State{}, err
	}
	missing := s.inFlight(ctx, accountName, n.Cluster, s.config.Clock().UnixMilli())
	if newer {
		missing = append(missing, "newer frames, whose key frame has not come yet: ask again later")
	}
	if len(frames) == 0 {
		return State{recent, heard, len(missing) == 0, missing}, nil
	}
	stored, err := latestWindow(ctx, accountName, n, frames, want)
	if recent != nil && (err != nil || heard >= storedSeen) {
		s.metrics.reads.WithLabelValues("latest", fromRecent).Inc()
		return State{recent, heard, len(missing) == 0, missing}, nil
	}
	if err != nil {
		s.metrics.failures.Inc()
		return State{}, err
	}
	s.metrics.reads.WithLabelValues("latest", fromStore).Inc()
	return State{stored, storedSeen, false, missing}, nil
}

// fresh reports whether a newest frame of the recent source is taken without asking the store for a
// newer one.
func fresh(now, heard, interval int64) bool { return now-heard <= 2*interval+staleSlack }

// latestWindow makes a window of one state, of which every frame must be readable. want names the
// metrics that it is to have; nil: all.
func latestWindow(
	ctx context.Context, accountName string, n *window.Node, frames [][]byte, want *frame.Wanted,
) (*window.Window, error) {
	lease := memory.Of(ctx)
	if err := takeAll(lease, frames); err != nil {
		return nil, err
	}
	var w *window.Window
	err := share.OnCPU(ctx, func() (err error) {
		w, err = readable(building.Wanted(memory.Until(ctx, lease),
			window.Node{Account: accountName, ID: n.ID}, frames, want))
		return err
	})
	return w, err
}

// StateVersion is what a caller has made of a State and kept.
type StateVersion struct {
	Seen     int64 // the State's
	Interval int64 // how often the node sends, ms
	Recent   bool  // the State's
}
