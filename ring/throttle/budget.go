package throttle

import "time"

// budget is what a class may do in this process: tokens for operations and slots for those under
// way. It has no clock and no lock of its own.
//
// It is in one of three states:
//   - leased: it spends what Redis gave, until the lease ends;
//   - alone, because Redis did not answer: it spends the last lease's share until that lease ends,
//     and then a fixed fraction;
//   - neither: nothing may begin, and Redis is about to be asked.
type budget struct {
	limits   Class
	fraction float64 // of the limits, when alone and without a lease
	factor   float64 // by health

	until  time.Time // the lease's end
	tokens float64   // given and not spent
	share  float64   // operations a second that the lease stands for
	cap    float64   // slots leased; Redis counts at least these as ours
	target float64   // slots to come down to
	used   float64   // slots taken

	alone bool
	level float64 // tokens of our own
	at    time.Time
	taken float64 // spent of our own and not told Redis
	solo  bool    // there is no Redis to tell
}

func (b *budget) localRate() float64 { return b.limits.OperationsPerSecond * b.fraction * b.factor }
func (b *budget) localBurst() float64 {
	return max(1, float64(b.limits.Burst)*b.fraction*b.factor)
}
func (b *budget) localSlots() float64 {
	return max(1, float64(int(float64(b.limits.Concurrency)*b.fraction*b.factor)))
}

// leased reports whether the lease holds.
func (b *budget) leased(now time.Time) bool { return now.Before(b.until) }

// goAlone begins or goes on without Redis.
func (b *budget) goAlone(now time.Time) {
	if b.alone {
		return
	}
	b.tick(now)
	b.alone, b.level, b.tokens, b.at = true, b.tokens, 0, now
	if !b.leased(now) {
		b.level = min(b.localBurst(), b.localRate()/10)
	}
	if b.solo {
		b.level = b.localBurst()
	}
}

// tick brings the budget to now.
func (b *budget) tick(now time.Time) {
	if !b.leased(now) && !b.alone {
		b.tokens, b.cap = 0, 0
	}
	if !b.alone || !now.After(b.at) {
		return
	}
	var gained float64
	if b.until.After(b.at) {
		end := now
		if b.until.Before(now) {
			end = b.until
		}
		gained = b.share * end.Sub(b.at).Seconds()
		b.at = end
	}
	gained += b.localRate() * now.Sub(b.at).Seconds()
	more := min(b.level+gained, b.localBurst())
	if b.leased(now) {
		more = max(b.level, more) // what the lease has given is not taken away
	}
	b.level, b.at = more, now
}

// slots returns how many operations may be under way.
func (b *budget) slots(now time.Time) float64 {
	if b.alone && !b.leased(now) {
		return b.localSlots()
	}
	return b.cap
}

// take takes n tokens and n slots if they are there. When alone, one request may go on that is
// larger than all there is: its part of the limits may be less than one request, and must not be
// nothing.
func (b *budget) take(n float64, now time.Time) bool {
	b.tick(now)
	if b.used+n > b.slots(now) && !(b.alone && b.used == 0) {
		return false
	}
	switch {
	case b.alone && b.level < min(n, b.localBurst()), !b.alone && b.tokens < n:
		return false
	case b.alone:
		b.level -= n
		if !b.solo {
			b.taken += n
		}
	default:
		b.tokens -= n
	}
	b.used += n
	return true
}

// wait returns how long it takes, when alone, until there are tokens for n; 0 if something else is
// missing.
func (b *budget) wait(n float64) time.Duration {
	lacks := min(n, b.localBurst()) - b.level
	if !b.alone || lacks <= 0 {
		return 0
	}
	rate := b.localRate()
	if b.until.After(b.at) {
		rate = max(rate, b.share)
	}
	return max(time.Millisecond, time.Duration(lacks/rate*float64(time.Second)))
}

// give returns n slots.
func (b *budget) give(n float64) {
	b.used -= n
	b.settle()
}

// settle comes down towards the target.
func (b *budget) settle() {
	if !b.alone {
		b.cap = max(min(b.cap, b.target), b.used)
	}
}

// grant takes an answer of Redis: a lease until a time. told is how much of taken the question
// told Redis.
func (b *budget) grant(now, until time.Time, told, granted, share, cap, target float64) {
	b.tick(now)
	b.taken = max(0, b.taken-told)
	b.alone, b.level = false, 0
	b.until, b.share, b.cap, b.target = until, share, cap, target
	b.tokens += granted
	b.settle()
}

// leave gives everything back that is not in use.
func (b *budget) leave() {
	b.tokens, b.share, b.cap, b.target, b.level, b.alone, b.until = 0, 0, 0, 0, 0, false,
		time.Time{}
	b.taken = 0
}
