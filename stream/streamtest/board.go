package streamtest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/ringwatch/ringwatch/stream"
)

// Board is what all consumers of a test have done. It notes when a partition is with two of them,
// or a record comes out of order.
type Board struct {
	mu    sync.Mutex
	seen  map[string]int // records by "partition/offset"
	owner map[int32]*Worker
	err   error
}

// NewBoard returns an empty one.
func NewBoard() *Board { return &Board{seen: map[string]int{}, owner: map[int32]*Worker{}} }

// Count returns how many different records were handled.
func (b *Board) Count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.seen)
}

// Err returns what was wrong.
func (b *Board) Err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// Worker is a handler that needs the last few records of a partition: its window begins at every
// tenth offset.
type Worker struct {
	Board *Board

	mu    sync.Mutex
	fail  func() error // nil: never
	next  map[int32]int64
	kept  []stream.Record
	ticks int
}

// NewWorker returns one that has done nothing.
func NewWorker(b *Board) *Worker { return &Worker{Board: b, next: map[int32]int64{}} }

// Fail makes Handle return what f returns, if that is an error.
func (w *Worker) Fail(f func() error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fail = f
}

// Handle implements stream.Handler.
func (w *Worker) Handle(ctx context.Context, records []stream.Record) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Board.mu.Lock()
	defer w.Board.mu.Unlock()
	for _, r := range records {
		if o := w.Board.owner[r.Partition]; o != nil && o != w {
			w.Board.err = fmt.Errorf("partition %d is with two consumers", r.Partition)
		}
		w.Board.owner[r.Partition] = w
	}
	if w.fail != nil {
		if err := w.fail(); err != nil {
			return err
		}
	}
	for _, r := range records {
		if next, ok := w.next[r.Partition]; ok && r.Offset != next {
			w.Board.err = fmt.Errorf("partition %d: offset %d where %d is next", r.Partition,
				r.Offset, next)
		}
		w.next[r.Partition] = r.Offset + 1
		w.Board.seen[fmt.Sprintf("%d/%d", r.Partition, r.Offset)]++
		w.kept = append(w.kept, r)
	}
	return nil
}

// Tick implements stream.Handler.
func (w *Worker) Tick(context.Context, time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ticks++
	return nil
}

// LowWater implements stream.Handler.
func (w *Worker) LowWater(p int32) (int64, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	next, ok := w.next[p]
	return next / 10 * 10, ok
}

// Revoke implements stream.Handler.
func (w *Worker) Revoke(p int32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Board.mu.Lock()
	defer w.Board.mu.Unlock()
	delete(w.next, p)
	if w.Board.owner[p] == w {
		delete(w.Board.owner, p)
	}
}

// Handled returns how many records were handled.
func (w *Worker) Handled() int { return len(w.Kept()) }

// Kept returns the records that were handled.
func (w *Worker) Kept() []stream.Record {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.kept[:len(w.kept):len(w.kept)]
}

// Ticks returns how often Tick was called.
func (w *Worker) Ticks() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ticks
}

// Partitions returns of how many partitions the worker has records.
func (w *Worker) Partitions() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.next)
}

// Reached tells whether the partitions from 0 on are here and the given offsets are next.
func (w *Worker) Reached(next ...int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for p, offset := range next {
		if w.next[int32(p)] != offset {
			return false
		}
	}
	return true
}
