package plan

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/common/model"

	"github.com/ringwatch/ringwatch/window/rollup"
)

// Span is a time range, in ms and inclusive, with the source that answers it.
type Span struct {
	From, To int64
	Level    rollup.Level // none: samples
	// finer is the source that was to answer and is not kept so long, if expired.
	finer   rollup.Level
	expired bool
}

// Raw reports whether samples answer the span, and no rollups.
func (p *Span) Raw() bool { return p.Level == SamplesLevel }

// SamplesLevel stands for samples among the levels of rollups.
var SamplesLevel = rollup.Level{}

// Spans says which source answers which part of what a selector needs, from from to to. since
// returns the first instant of which a level, or samples, are kept.
//
// The coarsest rollup answers that fits the windows; else samples do. What is older than the chosen
// source is answered from the next coarser one. A window is answered by one source alone, unless
// windows overlap: then those over the border have both.
//
// A period that is not over at to is answered from finer sources: what has come of it may be later
// than to, and nothing later may count.
func (w *Windows) Spans(from, to int64, since func(rollup.Level) int64) []Span {
	if from > to {
		return []Span{{From: from, To: to}}
	}
	level, fits := w.level()
	var sources []rollup.Level // from the one that is to answer to the coarsest
	if !fits {
		sources, level = append(sources, SamplesLevel), rollup.FiveMinutes
	}
	sources = append(sources, rollup.Levels[slices.Index(rollup.Levels, level):]...)
	var list []Span
	for i, l := range sources {
		p := Span{From: from, To: to, Level: l, finer: sources[0], expired: i > 0}
		if i+1 < len(sources) && since(l) > from {
			p.From = w.border(since(l), to, sources[i+1])
		}
		if p.From <= to {
			list = append(list, p)
			to = p.From - 1
		}
		if to < from {
			break
		}
	}
	slices.Reverse(list)
	last := len(list) - 1
	p := list[last]
	if p.Raw() {
		return list
	}
	if w.Ranged && p.From < p.To && p.Level.Start(p.To) == p.To {
		p.To-- // windows are periods; the next one has just begun
	}
	return append(list[:last], p.refined(since)...)
}

// border returns where a source takes over that is kept since an instant. What comes before it is
// of a coarser level, and goes on until to if the source answers no window whole.
func (w *Windows) border(since, to int64, coarser rollup.Level) int64 {
	switch {
	case w.Ranged && w.Step == 0:
		return to + 1
	case w.Ranged && w.apart(): // after the last window that began before
		return since + w.Width - 2 - Mod(since+w.Width-2-w.End, w.Step) + 1
	}
	return coarser.Start(since-1) + coarser.Millis
}

// refined splits off the end of a span of rollups that is no whole period. It is answered from
// finer rollups, down to samples, as far as these are kept.
func (p Span) refined(since func(rollup.Level) int64) (list []Span) {
	for !p.Raw() {
		finer, is := p.Level.Finer()
		if !is {
			finer = SamplesLevel
		}
		begin := p.Level.Start(p.To + 1)
		if begin > p.To || since(finer) > max(begin, p.From) {
			break
		}
		if begin > p.From {
			whole := p
			whole.To, p.From = begin-1, begin
			list = append(list, whole)
		}
		p.Level = finer
	}
	return append(list, p)
}

// Resolution says in words what a span of an answer was made of, and what to do for more; nothing
// of samples.
func (w *Windows) Resolution(p *Span) error {
	if p.Raw() {
		return nil
	}
	text := fmt.Sprintf("from %s to %s values are rollups of %s", formatSeconds(p.From),
		formatSeconds(p.To), formatDuration(p.Level.Millis))
	switch {
	case !p.expired && w.Step == 0:
		return fmt.Errorf("%s: use a range below %s for single samples", text,
			formatDuration(longInstant))
	case !p.expired:
		return fmt.Errorf("%s: use a step below %s for single samples", text,
			formatDuration(rollup.FiveMinutes.Millis))
	}
	finer := "samples"
	if p.finer != SamplesLevel {
		finer = "rollups of " + formatDuration(p.finer.Millis)
	}
	text += ", because " + finer + " of that time have expired"
	switch {
	case w.Ranged && w.precision == none && w.Function != "":
		return fmt.Errorf("%s: %s needs single samples, so what it says there is of one "+
			"value in %s",
			text, w.Function, formatDuration(p.Level.Millis))
	case w.Ranged && p.Level.Millis > w.Width:
		return fmt.Errorf("%s: a window of %s cannot be had there, so use one of %s or more", text,
			formatDuration(w.Width), formatDuration(p.Level.Millis))
	}
	return errors.New(text)
}

func formatSeconds(at int64) string { return time.UnixMilli(at).UTC().Format(time.RFC3339) }

func formatDuration(ms int64) string {
	return model.Duration(ms * int64(time.Millisecond)).String()
}

// RollupLookback is how long the last value of a rollup has to count, that answers a step, or that
// answers for an instant of which nothing finer is kept, in ms.
func RollupLookback(step time.Duration, oldest int64,
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
