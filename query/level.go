package query

import (
	"fmt"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/storage"

	"github.com/ringwatch/ringwatch/rollup"
)

// rawStep is the step from which on rollups answer although the samples are there.
const rawStep = 5 * 60_000

// longInstant is the range, in ms, from which on a function of one instant is answered from rollups.
const longInstant = 24 * 60 * 60_000

// needsSamples are the functions that only single samples can answer: between the samples of a
// rollup everything may have happened. They are given samples as far back as there are any.
var needsSamples = map[string]bool{
	"changes": true, "resets": true, "count_over_time": true, "quantile_over_time": true,
	"stddev_over_time": true, "stdvar_over_time": true, "mad_over_time": true,
	"irate": true, "idelta": true, "ts_of_max_over_time": true, "ts_of_min_over_time": true,
	"ts_of_last_over_time": true, "ts_of_first_over_time": true, "double_exponential_smoothing": true,
}

// piece is a time range, in ms and inclusive, with the source that answers it.
type piece struct {
	from, to int64
	level    rollup.Level // none: samples
}

func (p *piece) raw() bool { return p.level.Millis == 0 }

// pieces says which source answers which part of what a selector needs. rawFrom is the first instant
// of which samples are kept.
//
// Samples answer wherever they are kept, unless the step is five minutes or more. Then, and for what
// is older, it is the coarsest rollup that neither step nor range window is finer than. A range
// window is answered by one source alone, since functions weigh samples alike.
func pieces(h *storage.SelectHints, rawFrom int64, hasRollups bool) []piece {
	fine := []piece{{from: h.Start, to: h.End}}
	if !hasRollups || h.Start > h.End {
		return fine
	}
	samplesServe := h.Step < rawStep && (h.Step > 0 || h.Range < longInstant) || needsSamples[h.Func] && h.Range > 0
	if samplesServe && h.Start >= rawFrom {
		return fine
	}
	level := rollup.FiveMinutes
	widest := h.Step
	if h.Step == 0 {
		widest = h.Range / 100
	}
	if h.Range > 0 {
		widest = min(widest, h.Range)
	}
	for _, l := range rollup.Levels {
		if l.Millis <= widest {
			level = l
		}
	}
	if h.Range > 0 && !needsSamples[h.Func] {
		return []piece{{h.Start, h.End, level}}
	}
	if samplesServe {
		return both(h.Start, h.End, level, rawFrom)
	}
	// What is no whole period yet is answered more finely, down to the samples.
	var list []piece
	from := h.Start
	for l, ok := level, true; ok; l, ok = l.Finer() {
		if whole := l.Start(h.End+1) - 1; whole >= from {
			list = append(list, piece{from, whole, l})
			from = whole + 1
		}
	}
	if from <= h.End {
		list = append(list, piece{from: from, to: h.End})
	}
	return list
}

// both answers what is older than rawFrom from rollups and the rest from samples.
func both(from, to int64, level rollup.Level, rawFrom int64) []piece {
	until := min(level.Start(rawFrom)+level.Millis, to+1)
	list := []piece{{from, until - 1, level}}
	if until <= to {
		list = append(list, piece{from: until, to: to})
	}
	return list
}

// resolution says in words what a piece of an answer was made of; nothing of samples.
func (p *piece) resolution() error {
	if p.raw() {
		return nil
	}
	return fmt.Errorf("from %s to %s values are rollups of %s: use a step below 5m, and less time, for single samples",
		time.UnixMilli(p.from).UTC().Format(time.RFC3339), time.UnixMilli(p.to).UTC().Format(time.RFC3339), model.Duration(p.level.Millis*int64(time.Millisecond)))
}

// rollupLookback is how long the last value of a rollup that answers a step has to count.
func rollupLookback(step time.Duration) time.Duration {
	var longest time.Duration
	for _, l := range rollup.Levels {
		if d := time.Duration(l.Millis) * time.Millisecond; d <= step {
			longest = d
		}
	}
	return longest
}
