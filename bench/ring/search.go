package main

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// search looks for the rate up to which a side keeps p95 within a limit. Its rounds are those of
// other limits of the side, too.
type search struct {
	limit time.Duration
	rate  float64 // of the next round
	step  float64
	was   int // 1: the last round was within, -1: it was not
}

// The rate doubles, or halves, until the first turn: where the search began may have been wrong
// by far. Then it goes by turnStep, which each turn halves, down to leastStep.
const (
	firstStep = 1.0
	turnStep  = 0.3
	leastStep = 0.06
)

// learn sets the next rate by what a round at the last one showed.
func (s *search) learn(within bool) {
	is := -1
	if within {
		is = 1
	}
	if s.was != 0 && s.was != is {
		s.step = max(min(s.step/2, turnStep), leastStep)
	}
	s.was = is
	if within {
		s.rate *= 1 + s.step
	} else {
		s.rate /= 1 + s.step
	}
}

// capacity is the rate that separates rounds within the limit from those that are not with the
// fewest on the wrong side; of several, the middle. A moment in which the machine did something
// else is one round on the wrong side.
func capacity(rounds []*round, limit time.Duration) float64 {
	if len(rounds) == 0 {
		return 0
	}
	rounds = slices.Clone(rounds)
	slices.SortFunc(rounds, func(a, b *round) int { return cmp.Compare(a.rate, b.rate) })
	wrong := 0 // if none were expected within
	for _, r := range rounds {
		if r.within(limit) {
			wrong++
		}
	}
	least, sum, n := math.MaxInt, 0.0, 0
	for i := 0; i <= len(rounds); i++ { // the rounds before i are expected within
		var border float64 // logarithm of the rate between i-1 and i
		switch i {
		case 0:
			border = math.Log(rounds[0].rate)
		case len(rounds):
			border = math.Log(rounds[i-1].rate)
		default:
			border = (math.Log(rounds[i-1].rate) + math.Log(rounds[i].rate)) / 2
		}
		if i > 0 {
			if rounds[i-1].within(limit) {
				wrong--
			} else {
				wrong++
			}
		}
		if wrong < least {
			least, sum, n = wrong, 0, 0
		}
		if wrong == least {
			sum, n = sum+border, n+1
		}
	}
	return math.Exp(sum / float64(n))
}
