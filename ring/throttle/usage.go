package throttle

import (
	"math"
	"sync"
	"time"
)

// other is who and what is not counted by itself.
const other = "other"

// usage counts who asks for what, in intervals. It holds at most Config.UsageKeys tallies and one
// more for each class: when they are full, what has done nothing lately makes room, else what is
// new counts as other.
type usage struct {
	config *Config

	mu       sync.Mutex
	tallies  map[Work]*tally
	began    time.Time // of the interval
	finished interval
	full     bool // nothing can make room in this interval
}

// interval is what was counted in one.
type interval struct {
	ended   time.Time
	seconds float64
	rows    []row
}

// tally counts one Work. Its fields are guarded by usage.mu.
type tally struct {
	u       *usage
	work    Work
	asked   time.Time // the beginning of the interval in which it was asked for last
	now     counts
	queued  float64 // operations that wait
	running float64
	totals  struct{ operations, refused float64 } // since it is counted
}

// counts is what is counted in an interval.
type counts struct {
	operations, refused float64
	requests            float64 // ended
	seconds             float64 // that they took
	times               [buckets]uint32
}

// Bucket i counts times up to 2^(i/2) µs: a quantile is right to some 20 %.
const buckets = 56 // up to 190 s

func bucketOf(took time.Duration) int {
	us := float64(took) / float64(time.Microsecond)
	if us <= 1 {
		return 0
	}
	return min(buckets-1, int(math.Ceil(2*math.Log2(us))))
}

func (u *usage) init(c *Config) {
	u.config, u.tallies, u.began = c, map[Work]*tally{}, c.Clock()
}

// of returns where w is counted.
func (u *usage) of(w Work) *tally {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.rotate(u.config.Clock())
	if y := u.tallies[w]; y != nil {
		y.asked = u.began
		return y
	}
	if len(u.tallies) >= u.config.UsageKeys && !u.full && w.Client != other {
		u.full = !u.makeRoom()
	}
	if len(u.tallies) >= u.config.UsageKeys && u.full {
		w = Work{Class: w.Class, Client: other, Keyspace: other, Table: other, Datacenter: other}
		if y := u.tallies[w]; y != nil {
			return y
		}
	}
	return u.add(w)
}

func (u *usage) add(w Work) *tally {
	y := &tally{u: u, work: w, asked: u.began}
	u.tallies[w] = y
	return y
}

// makeRoom forgets tallies that nobody has asked for in this interval; what they have counted
// goes to other.
func (u *usage) makeRoom() bool {
	found := false
	for w, y := range u.tallies {
		if w.Client == other || y.queued > 0 || y.running > 0 || y.asked.Equal(u.began) {
			continue
		}
		delete(u.tallies, w)
		found = true
		o := Work{Class: w.Class, Client: other, Keyspace: other, Table: other, Datacenter: other}
		rest := u.tallies[o]
		if rest == nil {
			rest = u.add(o)
		}
		rest.totals.operations += y.totals.operations
		rest.totals.refused += y.totals.refused
	}
	return found && len(u.tallies) < u.config.UsageKeys
}

// rotate ends the interval when its time has come. The caller holds u.mu.
func (u *usage) rotate(now time.Time) {
	elapsed := now.Sub(u.began)
	if elapsed < u.config.UsageInterval {
		return
	}
	u.finished = interval{ended: now, seconds: elapsed.Seconds(), rows: u.rows()}
	u.began, u.full = now, false
	for _, y := range u.tallies {
		y.now = counts{}
	}
}

// rows returns what the interval has counted so far. The caller holds u.mu.
func (u *usage) rows() []row {
	var rows []row
	for _, y := range u.tallies {
		if y.now == (counts{}) && y.queued == 0 && y.running == 0 {
			continue
		}
		r := row{Work: y.work, Operations: y.now.operations, Refused: y.now.refused,
			Requests: y.now.requests, Seconds: y.now.seconds, Waiting: y.queued, Running: y.running}
		for i, n := range y.now.times {
			if n > 0 {
				r.Times = append(r.Times, [2]float64{float64(i), float64(n)})
			}
		}
		rows = append(rows, r)
	}
	return rows
}

// last returns the last whole interval, nothing if it is long over.
func (u *usage) last(now time.Time) interval {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.rotate(now)
	return u.finished
}

type total struct {
	Work
	operations, refused float64
}

// totals returns what was counted ever.
func (u *usage) totals() []total {
	u.mu.Lock()
	defer u.mu.Unlock()
	var list []total
	for w, y := range u.tallies {
		list = append(list, total{w, y.totals.operations, y.totals.refused})
	}
	return list
}

// begins counts n operations that begin, and that waited if they did.
func (y *tally) begins(n float64, waited bool) {
	y.u.mu.Lock()
	defer y.u.mu.Unlock()
	if waited {
		y.queued -= n
	}
	y.running += n
	y.now.operations += n
	y.totals.operations += n
}

func (y *tally) waits(n float64) {
	y.u.mu.Lock()
	defer y.u.mu.Unlock()
	y.queued += n
}

func (y *tally) gaveUp(n float64) { y.waits(-n) }

func (y *tally) refused(n float64) {
	y.u.mu.Lock()
	defer y.u.mu.Unlock()
	y.now.refused += n
	y.totals.refused += n
}

func (y *tally) ended(n float64, took time.Duration) {
	y.u.mu.Lock()
	defer y.u.mu.Unlock()
	y.running -= n
	y.now.requests++
	y.now.seconds += took.Seconds()
	y.now.times[bucketOf(took)]++
}
