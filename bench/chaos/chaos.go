// Package chaos does to all of Ringwatch what may happen to it, while nodes send and readers ask.
//
//	nodes of two accounts ─► ingest ×2 ─► Kafka ─┬─► store ×2 ──► Cassandra ─┐
//	 every value is an id                        ├─► recent ×2 ─► Redis ─────┼─► api ×2 ◄── readers
//	                                             └─► rules ×2
//	one lane of faults: a role after the other      another: an engine after the other
//
// Config.Embedded puts one ringwatch all with a directory in the place of everything. With
// Config.Upgrade the roles are replaced by those of another version, one after the other, and
// nothing else happens.
//
// Both accounts have nodes of the same ids and clusters, so an answer that mixes accounts up has
// ids of the other one. Most nodes send the present. Some send the hour before, as after an outage,
// so that it is made while they send.
//
// What is checked meanwhile, in each answer: nothing that was not sent, no instant twice, nothing
// of the other account, and in what calls itself complete everything that was acknowledged some
// time ago. In the end each acknowledged id is there once: by the API, in what the store reads,
// and, when all but hours and rollups is taken away, in those.
package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Config says what to run. Dir and Binary are needed.
type Config struct {
	Dir      string   // data, logs and configuration
	Binary   string   // bin/ringwatch
	Env      []string // more environment of its processes
	Embedded bool     // one process with a directory, and no engine
	Upgrade  *Upgrade // of the line, instead of faults; nil: faults

	Seed     uint64        // of the order of faults, and of how long each lasts
	Length   time.Duration // faults come for so long,
	Kills    int           // and until there were so many kills
	Nodes    int           // of both accounts together; a multiple of 10
	Interval time.Duration // a node's
	Pause    time.Duration // between two faults, on average
	Away     time.Duration // how long Kafka is away, once in five rounds of faults

	Progress func(string)
}

// Report is what a run found.
type Report struct {
	Seed     uint64
	Seconds  float64        // how long faults came
	Kills    int            // kill -9
	Replaced int            // processes, by the other version's
	Faults   map[string]int // by name
	Sent     int            // frames that were made
	Acked    int            // those answered 2xx
	Again    int            // times that a frame was sent again
	Lost     int            // acknowledged, and not there in the end
	Doubled  int            // values that an answer or a rollup has twice
	Wrong    int            // values that nobody sent, or that are another account's
	// answers that call themselves complete and lack what was acknowledged
	Holes int
	Ended int // times that a role ended by itself
	// times that one found no engine at its start, and was started again
	GaveUp   int
	Answers  int                // that were checked meanwhile
	Partial  int                // of those: said that they lack something
	Failed   int                // questions without an answer
	Hours    int                // nodes found in hours and rollups alone in the end; of the line
	Recovery []float64          // s, from a fault's end to a frame that is taken and a right answer
	Slowest  map[string]float64 // the longest of them, by the fault's name
	Problems []string           // the first of them, in words
}

// Whole tells whether nothing was wrong.
func (r *Report) Whole() bool { return r.Lost+r.Doubled+r.Wrong+r.Holes+r.Ended == 0 }

// mostProblems is how many are kept in words.
const mostProblems = 30

// tally is a Report that many fill.
type tally struct {
	mu sync.Mutex
	Report
	tell func(string)
}

// problem counts one at a field of the Report and says it.
func (t *tally) problem(count *int, format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	*count++
	if len(t.Problems) < mostProblems {
		text := time.Now().Format("15:04:05.000 ") + fmt.Sprintf(format, args...)
		t.Problems = append(t.Problems, text)
		t.tell("PROBLEM " + text)
	}
}

// add changes a field of the Report.
func (t *tally) add(count *int, by int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	*count += by
}

// drainTimeout bounds the wait for the last frames to be taken, and for everything to be in its
// place in the end. A machine may be ten times slower.
const drainTimeout = 15 * time.Minute

// Run starts everything, lets faults come and looks at what is there in the end. The error is that
// of a run that could not be finished; what was wrong is in the Report.
func Run(ctx context.Context, c Config) (*Report, error) {
	if c.Nodes < 10 || c.Nodes%10 != 0 || c.Interval < 50*time.Millisecond {
		return nil, errors.New("chaos: nodes must be a multiple of 10 and the interval " +
			"at least 50ms")
	}
	t := &tally{tell: c.Progress}
	t.Seed, t.Faults, t.Slowest = c.Seed, map[string]int{}, map[string]float64{}
	s := &system{Config: c, tally: t}
	defer s.stop()
	if err := s.start(ctx); err != nil {
		return nil, err
	}
	f := newFleet(s)
	c.Progress(fmt.Sprintf("%d nodes send every %s; seed %d", c.Nodes, c.Interval, c.Seed))
	making, end := context.WithCancel(ctx)
	defer end()
	asking, quiet := context.WithCancel(ctx)
	defer quiet()
	senders, senderCtx := errgroup.WithContext(ctx)
	for _, n := range f.nodes {
		senders.Go(func() error { return f.send(senderCtx, making, n) })
	}
	var readers sync.WaitGroup
	for i := range 3 {
		readers.Go(func() { f.read(asking, i) })
	}
	told := make(chan struct{})
	go func() {
		defer close(told)
		f.tell(asking)
	}()
	began := time.Now()
	happens := s.chaos
	if c.Upgrade != nil {
		happens = s.upgrade
	}
	err := happens(senderCtx, f)
	t.Seconds = time.Since(began).Seconds()
	if err == nil {
		err = f.recovered(senderCtx)
	}
	end()
	if err == nil {
		f.Progress("the last frames are on their way")
		err = f.drain(ctx, senders)
	}
	quiet()
	readers.Wait()
	<-told
	if err != nil {
		return nil, err
	}
	if err := f.whole(ctx); err != nil {
		return nil, err
	}
	slices.Sort(t.Recovery)
	return &t.Report, nil
}
