package files

import (
	"context"
	"errors"
	"time"

	"github.com/ringwatch/ringwatch/store/rows"
)

// calls are what is asked of the engine: they begin when the throttle lets them, and their rows are
// counted.
type calls struct {
	admit func(context.Context, rows.Work, string, int) (func(time.Duration, error), error)
	count func(table string, read, written int)
}

// counted counts rows of a table.
func (c *calls) counted(table string, read, written int) {
	if c.count != nil {
		c.count(table, read, written)
	}
}

// begin asks the throttle for one call, and returns what is to be called when it has ended.
func (c *calls) begin(
	ctx context.Context, w rows.Work, table string, n int,
) (func(time.Duration, error), error) {
	if w.Class == "" || c.admit == nil {
		return func(time.Duration, error) {}, nil
	}
	if w.Patience > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, w.Patience)
		defer cancel()
	}
	done, err := c.admit(ctx, w, table, n)
	if err != nil && !errors.Is(err, context.Canceled) {
		return nil, &rows.Error{Err: err, Retryable: true}
	}
	return done, err
}

// do does what a call is for, when the throttle lets it.
func (c *calls) do(
	ctx context.Context, w rows.Work, table string, n int, work func() error,
) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	done, err := c.begin(ctx, w, table, n)
	if err != nil {
		return err
	}
	begun := time.Now()
	err = work()
	took := time.Since(begun)
	w.Answers.Add(took)
	done(took, err)
	return err
}
