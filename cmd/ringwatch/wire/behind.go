package wire

import (
	"context"
	"time"

	"github.com/ringwatch/ringwatch/store"
	"github.com/ringwatch/ringwatch/stream"
)

// How readers learn of frames that are acknowledged and not in Cassandra yet. Each store process
// says every tellEvery how far it is (stream.Progress); the API looks at most once a second.
const (
	tellEvery = time.Second
	// behindAfter is how old the news of a partition must be before answers say so. It covers
	// tellEvery, the reader's second, the frames' way itself, and a machine that is slow for a
	// moment.
	behindAfter = 10 * time.Second
)

// tellProgress says how far the consumer's effect reaches, until ctx ends. What cannot be told
// now is told the next time; meanwhile readers see that nobody has said anything.
func tellProgress(p *Process, consumer *stream.Consumer, db *store.Store) Part {
	return func(ctx context.Context) error {
		tick := time.NewTicker(tellEvery)
		defer tick.Stop()
		for {
			if reached, err := consumer.Progress(ctx); err != nil {
				p.Log.Debug("cannot find out how far the stream is", "error", err)
			} else if err := db.WriteProgress(ctx, reached); err != nil {
				p.Log.Debug("cannot write down how far the stream is", "error", err)
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return nil
			}
		}
	}
}

// behind is read.Sources.Behind: whether frames of a cluster, or of any if that is empty, are on
// their way to the store for longer than usual, and since when (ms). The machine's clock counts,
// because that is what store processes tell. Of a partition that nobody has told of yet frames
// may be on their way for any time (0), if store processes told of others, or if one is part of
// this process: streams. If none ever told anything, what there is was loaded, and nothing is on
// its way.
func behind(
	progress func(context.Context) (stream.Progress, error), streams bool,
) func(ctx context.Context, account, cluster string) (since int64, is bool) {
	return func(ctx context.Context, account, cluster string) (int64, bool) {
		// An error leaves what was known, which gets older.
		known, _ := progress(ctx)
		if known.Partitions == 0 {
			return 0, streams
		}
		if cluster != "" {
			return behindAt(known, stream.PartitionOf(account, cluster, known.Partitions))
		}
		is, least := false, int64(0)
		for partition := range int32(known.Partitions) {
			if since, behind := behindAt(known, partition); behind && (!is || since < least) {
				is, least = true, since
			}
		}
		return least, is
	}
}

// behindAt is behind of one partition.
func behindAt(known stream.Progress, partition int32) (since int64, is bool) {
	through, told := known.Through[partition]
	if !told {
		return 0, true
	}
	return through.UnixMilli(), time.Since(through) > behindAfter
}
