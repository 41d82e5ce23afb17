package main

import (
	"math/rand/v2"
	"testing"
	"time"
)

// A search finds a known capacity, though some rounds lie.
func TestSearch(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const limit = 100 * time.Millisecond
	for range 200 {
		real := 50 * (1 + 30*r.Float64())
		s := &search{limit: limit, rate: real * (0.2 + 2*r.Float64()), step: firstStep}
		var rounds []*round
		for i := range 12 {
			within := s.rate < real*(0.97+0.06*r.Float64())
			if i == 5 {
				within = false
			}
			one := &round{rate: s.rate, millis: []float64{10}}
			if !within {
				one.millis[0] = 1000
			}
			rounds = append(rounds, one)
			s.learn(within)
		}
		if found := capacity(rounds, limit); found < real*0.85 || found > real*1.15 {
			t.Fatalf("found %.1f for %.1f", found, real)
		}
	}
}
