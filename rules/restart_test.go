package rules

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/query/querytest"
)

// uninterrupted plays a fleet's hour with one role.
func uninterrupted(t *testing.T, fleet *querytest.Fleet, file string) *line {
	l := newLine(t)
	run(l, l.role(file), fleet, nil)
	return l
}

// TestRestarts kills the role again and again, at any moment and with what it has not written down
// lost. Others go on with the state and the stream. They record the same, and say the same of
// alerts: nothing more, nothing less, no other times.
func TestRestarts(t *testing.T) {
	fleet := fleetOfSpan(7, false, time.Hour)
	file := write(t, differential)
	want := uninterrupted(t, fleet, file)
	l := newLine(t)
	r := rand.New(rand.NewPCG(1, 2))
	killed, away := 0, 0
	run(l, l.role(file), fleet, func(now int64, role *Rules) *Rules {
		if away > 0 {
			if away--; away == 0 {
				l.broken = nil
			}
		} else if r.IntN(60) == 0 { // Kafka takes nothing for a while
			away, l.broken = 1+r.IntN(20), errAway
		}
		if r.IntN(25) > 0 {
			return role
		}
		killed++
		next := l.role(file)
		l.again(role, next)
		return next
	})
	sameLine(t, l, want)
	t.Logf("killed %d times", killed)
}

var errAway = errors.New("Kafka is away")

// sameLine wants of two lines the same samples and the same words about alerts, however often.
func sameLine(t *testing.T, got, want *line) {
	t.Helper()
	a, b := got.recorded(), want.recorded()
	if !maps.EqualFunc(a, b, maps.Equal[map[int64]float64, map[int64]float64]) {
		for series, values := range b {
			for at, v := range values {
				if g, found := a[series][at]; !found || g != v {
					t.Errorf("%s at %d is %v (%v), not %v", series, at, g, found, v)
				}
			}
		}
		for series, values := range a {
			for at := range values {
				if _, found := b[series][at]; !found {
					t.Errorf("%s at %d should not be there", series, at)
				}
			}
		}
	}
	if d := difference(words(got), words(want)); len(d) > 0 {
		t.Errorf("alerts differ:\n%s", strings.Join(d, "\n"))
	}
}

func words(l *line) []string {
	list := make([]string, len(l.alerts))
	for i := range l.alerts {
		list[i] = said(&l.alerts[i])
	}
	slices.Sort(list)
	return slices.Compact(list)
}
