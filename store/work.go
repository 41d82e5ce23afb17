package store

import (
	"context"
	"errors"
	"time"

	"github.com/ringwatch/ringwatch/ring/throttle"
	"github.com/ringwatch/ringwatch/store/rows"
)

type workKey struct{}

// as marks calls under ctx, unless they are marked already: who marks first knows best what it is
// all for.
func as(ctx context.Context, class, client string, patience time.Duration) context.Context {
	if _, marked := ctx.Value(workKey{}).(rows.Work); marked {
		return ctx
	}
	return context.WithValue(ctx, workKey{}, rows.Work{Class: class, Client: client, Patience: patience})
}

// workOf returns what calls under ctx are for.
func workOf(ctx context.Context) rows.Work {
	w, _ := ctx.Value(workKey{}).(rows.Work)
	w.Answers, _ = ctx.Value(answersKey{}).(*rows.Answers)
	return w
}

// Bulk marks calls under ctx as work that nobody waits for: Config.Admit is asked in that class,
// for reads and writes.
func Bulk(ctx context.Context, client string) context.Context {
	return as(ctx, throttle.Bulk, client, 0)
}

// dashboard marks calls under ctx as work that somebody looks at.
func dashboard(ctx context.Context, account string) context.Context {
	return as(ctx, throttle.Dashboard, account, 0)
}

// rollingPatience is how long rolling up waits for the throttle. It uses what closes windows, which
// must not wait behind it; it is tried again.
const rollingPatience = time.Second

// rolling marks calls under ctx as rolling up.
func rolling(ctx context.Context) context.Context {
	return as(ctx, throttle.Bulk, "Ringwatch/rollups", rollingPatience)
}

// throttled reports whether an error is the throttle's.
func throttled(err error) bool { return errors.Is(err, throttle.ErrThrottled) }
