package store

import (
	"errors"
	"time"

	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/ring/throttle"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/spans"
)

// task is the store at work for somebody: what the throttle is told of its calls, and whose memory
// they take.
type task struct {
	*Store
	work  rows.Work
	lease *memory.Lease
}

// spanTask is what of a task readers and writers of spans take.
func (s task) spanTask() spans.Task {
	return spans.Task{Engine: s.session, Work: s.work, Lease: s.lease}
}

func (s *Store) task(work rows.Work, lease *memory.Lease) task { return task{s, work, lease} }

// Bulk is work that nobody waits for.
func Bulk(client string) rows.Work { return rows.Work{Class: throttle.Bulk, Client: client} }

// Dashboard is work of an account that somebody looks at.
func Dashboard(account string) rows.Work {
	return rows.Work{Class: throttle.Dashboard, Client: account}
}

// rollingPatience is how long rolling up waits for the throttle. It uses what closes windows, which
// must not wait behind it; it is tried again.
const rollingPatience = time.Second

// rolling is what making hours and days is for: a load's is the load's.
func rolling(work rows.Work) rows.Work {
	if work.Class != "" {
		return work
	}
	return rows.Work{Class: throttle.Bulk, Client: "Ringwatch/rollups", Patience: rollingPatience}
}

// timed is the Writer's work; how long answers took is added to took.
func (w *Writer) timed(took *rows.Answers) rows.Work {
	work := w.work
	work.Answers = took
	return work
}

// throttled reports whether an error is the throttle's.
func throttled(err error) bool { return errors.Is(err, throttle.ErrThrottled) }
