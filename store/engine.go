package store

import (
	"context"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/window"
)

// What is here takes what a call is for from its context.

func (s *Store) freshFrames(ctx context.Context, account string, node uuid.UUID, window int64) ([][]byte, error) {
	return s.fresh.frames(ctx, workOf(ctx), memory.Of(ctx), account, node, window)
}

func (s *Store) havingFrames(ctx context.Context, account string, node uuid.UUID, windows []int64) ([]int64, error) {
	return s.fresh.having(ctx, workOf(ctx), account, node, windows)
}

func (s *Store) lateMarks(ctx context.Context, account string, node uuid.UUID, from, to int64) (map[int64]int64, error) {
	return s.late.marks(ctx, workOf(ctx), account, node, from, to)
}

func (s *Store) writeDictionaries(ctx context.Context, n window.Node, start int64, list []window.EncodedDictionary) error {
	return s.series.write(ctx, workOf(ctx), n, start, list)
}

func (s *Store) fill(ctx context.Context, h shelf, list []window.EncodedDictionary, tell func([]window.EncodedDictionary) error) error {
	return s.series.fill(ctx, workOf(ctx), h, list, tell)
}

// The waits between tries.
const (
	firstWait   = rows.FirstWait
	longestWait = rows.LongestWait
)

type backoff struct{ *rows.Backoff }

func newBackoff() backoff { return backoff{rows.NewBackoff()} }

func (b backoff) sleep(ctx context.Context) error { return b.Sleep(ctx) }
