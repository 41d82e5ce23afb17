package query

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/common/model"

	"github.com/ringwatch/ringwatch/window/rollup"
)

// span is a time range, in ms and inclusive, with the source that answers it.
type span struct {
	from, to int64
	level    rollup.Level // none: samples
	// finer is the source that was to answer and is not kept so long, if expired.
	finer   rollup.Level
	expired bool
}

func (p *span) raw() bool { return p.level == samplesLevel }

// samplesLevel stands for samples among the levels of rollups.
var samplesLevel = rollup.Level{}

// spans says which source answers which part of what a selector needs, from from to to. since
// returns the first instant of which a level, or samples, are kept.
//
// The coarsest rollup answers that fits the windows; else samples do. What is older than the chosen
// source is answered from the next coarser one. A window is answered by one source alone, unless
// windows overlap: then those over the border have both.
//
// A period that is not over at to is answered from finer sources: what has come of it may be later
// than to, and nothing later may count.
func (w *windows) spans(from, to int64, since func(rollup.Level) int64) []span {
	if from > to {
		return []span{{from: from, to: to}}
	}
	level, fits := w.level()
	var sources []rollup.Level // from the one that is to answer to the coarsest
	if !fits {
		sources, level = append(sources, samplesLevel), rollup.FiveMinutes
	}
	sources = append(sources, rollup.Levels[slices.Index(rollup.Levels, level):]...)
	var list []span
	for i, l := range sources {
		p := span{from: from, to: to, level: l, finer: sources[0], expired: i > 0}
		if i+1 < len(sources) && since(l) > from {
			p.from = w.border(since(l), to, sources[i+1])
		}
		if p.from <= to {
			list = append(list, p)
			to = p.from - 1
		}
		if to < from {
			break
		}
	}
	slices.Reverse(list)
	last := len(list) - 1
	p := list[last]
	if p.raw() {
		return list
	}
	if w.ranged && p.from < p.to && p.level.Start(p.to) == p.to {
		p.to-- // windows are periods; the next one has just begun
	}
	return append(list[:last], p.refined(since)...)
}

// border returns where a source takes over that is kept since an instant. What comes before it is
// of a coarser level, and goes on until to if the source answers no window whole.
func (w *windows) border(since, to int64, coarser rollup.Level) int64 {
	switch {
	case w.ranged && w.step == 0:
		return to + 1
	case w.ranged && w.apart(): // after the last window that began before
		return since + w.width - 2 - mod(since+w.width-2-w.end, w.step) + 1
	}
	return coarser.Start(since-1) + coarser.Millis
}

// refined splits off the end of a span of rollups that is no whole period. It is answered from
// finer rollups, down to samples, as far as these are kept.
func (p span) refined(since func(rollup.Level) int64) (list []span) {
	for !p.raw() {
		finer, is := p.level.Finer()
		if !is {
			finer = samplesLevel
		}
		begin := p.level.Start(p.to + 1)
		if begin > p.to || since(finer) > max(begin, p.from) {
			break
		}
		if begin > p.from {
			whole := p
			whole.to, p.from = begin-1, begin
			list = append(list, whole)
		}
		p.level = finer
	}
	return append(list, p)
}

// resolution says in words what a span of an answer was made of, and what to do for more; nothing
// of samples.
func (w *windows) resolution(p *span) error {
	if p.raw() {
		return nil
	}
	text := fmt.Sprintf("from %s to %s values are rollups of %s", formatSeconds(p.from),
		formatSeconds(p.to), formatDuration(p.level.Millis))
	switch {
	case !p.expired && w.step == 0:
		return fmt.Errorf("%s: use a range below %s for single samples", text,
			formatDuration(longInstant))
	case !p.expired:
		return fmt.Errorf("%s: use a step below %s for single samples", text,
			formatDuration(rollup.FiveMinutes.Millis))
	}
	finer := "samples"
	if p.finer != samplesLevel {
		finer = "rollups of " + formatDuration(p.finer.Millis)
	}
	text += ", because " + finer + " of that time have expired"
	switch {
	case w.ranged && w.precision == none && w.function != "":
		return fmt.Errorf("%s: %s needs single samples, so what it says there is of one "+
			"value in %s",
			text, w.function, formatDuration(p.level.Millis))
	case w.ranged && p.level.Millis > w.width:
		return fmt.Errorf("%s: a window of %s cannot be had there, so use one of %s or more", text,
			formatDuration(w.width), formatDuration(p.level.Millis))
	}
	return errors.New(text)
}

func formatSeconds(at int64) string { return time.UnixMilli(at).UTC().Format(time.RFC3339) }

func formatDuration(ms int64) string {
	return model.Duration(ms * int64(time.Millisecond)).String()
}

// rollupLookback is how long the last value of a rollup has to count, that answers a step, or that
// answers for an instant of which nothing finer is kept, in ms.
func rollupLookback(step time.Duration, oldest int64,
	since func(rollup.Level) int64) time.Duration {
	var longest time.Duration
	for _, l := range rollup.Levels {
		d := time.Duration(l.Millis) * time.Millisecond
		finer, is := l.Finer()
		if d <= step || is && since(finer) > oldest {
			longest = d
		}
	}
	return longest
}
