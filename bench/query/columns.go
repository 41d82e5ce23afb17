package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/bench"
)

// The columns: how near an answer may be when a question is asked.
const (
	cold    = "cold"    // the answering process has just started; the words are new, too
	warm    = "warm"    // a question that nobody asked before, of data that was asked for
	refresh = "refresh" // what was asked a step ago, beside seven others
)

var columns = []string{cold, warm, refresh}

// bed is a set with who answers about it.
type bed struct {
	set       *set
	sides     []*side // Ringwatch is the first
	variables *variables
	native    func(metric string) bool // whether it is a histogram
	end       time.Time                // of what is written
	asked     int                      // the newest words, see fresh
}

// fresh is a number for anew that neither this run has had nor, as good as certainly, one before: a
// peer keeps its cache of results on disk.
func (b *bed) fresh() int {
	if b.asked == 0 {
		b.asked = rand.IntN(1 << 40)
	}
	b.asked++
	return b.asked
}

// at is the end that a question has, so many steps before its last one: where the set ends, or now
// where there is no set but the newest frames.
func (b *bed) at(q *question, before int) time.Time {
	if b.end.IsZero() {
		return time.Now()
	}
	step := q.step
	if q.span == 0 {
		step = time.Duration(b.set.Interval) * time.Millisecond
	}
	return b.end.Add(-time.Duration(before) * step)
}

// unit is what is timed as one: a question, or the panels of a page.
type unit struct {
	*question
	parts   []*question
	answers []*answer // of the sides
}

// measure compares the answers of all sides and then times the columns.
func (f *report) measure(ctx context.Context, b *bed, list []question) error {
	if !b.end.IsZero() {
		list = within(list, b.set.span(), f.rounds)
		pages, err := f.pages(b)
		if err != nil {
			return err
		}
		list = append(list, pages...)
	}
	list = slices.DeleteFunc(list, func(q question) bool { return !f.only.MatchString(q.title) })
	bench.Progress("%s: comparing %d questions", b.set.Account, len(list))
	var units []*unit
	for i := range list {
		u, err := f.compared(ctx, b, &list[i])
		if err != nil {
			return err
		}
		units = append(units, u)
	}
	for _, u := range units {
		if err := f.cold(ctx, b, u); err != nil {
			return err
		}
	}
	for _, u := range units {
		if err := f.warm(ctx, b, u); err != nil {
			return err
		}
	}
	if err := f.refresh(ctx, b, units); err != nil {
		return err
	}
	return f.note(b)
}

// compared compares a question's answers; a page is asked for those panels that all sides answer.
func (f *report) compared(ctx context.Context, b *bed, q *question) (*unit, error) {
	u := &unit{question: q, parts: []*question{q}}
	if len(q.panels) == 0 {
		u.answers = f.check(ctx, b, q)
		f.Answers = append(f.Answers, u.answers...)
		return u, ctx.Err()
	}
	u.parts = nil
	for _, s := range b.sides {
		u.answers = append(u.answers, &answer{Group: q.group, Question: q.title, Side: s.Name})
	}
	var differ []string
	for i := range q.panels {
		list := f.check(ctx, b, &q.panels[i])
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if list[0].failed() || slices.ContainsFunc(list[1:], func(a *answer) bool {
			return !a.counts()
		}) {
			differ = append(differ, q.panels[i].title)
			f.Answers = append(f.Answers, list...)
			continue
		}
		u.parts = append(u.parts, &q.panels[i])
	}
	for i, a := range u.answers {
		a.Panels = len(u.parts)
		if i > 0 {
			a.Verdict = "close"
		}
	}
	bench.Progress("%s: %d panels are asked; left out, as not all sides have the same: %s", q.title,
		len(u.parts), strings.Join(differ, "; "))
	f.Answers = append(f.Answers, u.answers...)
	return u, nil
}

// cold times the first answer of processes that have just started.
func (f *report) cold(ctx context.Context, b *bed, u *unit) error {
	for round := range f.coldRounds {
		g, starting := errgroup.WithContext(ctx)
		for _, s := range b.sides {
			g.Go(func() error { return s.restart(starting) })
		}
		if err := g.Wait(); err != nil {
			return err
		}
		how := asking{number: round, anew: b.fresh()}
		if err := f.each(ctx, b, u, cold, round, how); err != nil {
			return err
		}
	}
	u.say(cold)
	return nil
}

// warm times a question in new words. The data was asked for before: by the comparison, and once
// more here, as the processes were started again.
func (f *report) warm(ctx context.Context, b *bed, u *unit) error {
	for number := range compared {
		for n, s := range b.sides {
			if u.asks(n) {
				if _, err := s.at(ctx, b, u.parts, asking{number: number}); err != nil {
					u.answers[n].fail(warm, err)
				}
			}
		}
	}
	for round := range f.rounds {
		how := asking{number: round % compared, anew: b.fresh()}
		if err := f.each(ctx, b, u, warm, round, how); err != nil {
			return err
		}
	}
	u.say(warm)
	return nil
}

// refresh times dashboards of eight panels, whose range moves by a step, and the pages.
func (f *report) refresh(ctx context.Context, b *bed, units []*unit) error {
	var alone []*unit
	var ranges []*unit
	for _, u := range units {
		if len(u.panels) > 0 {
			alone = append(alone, u)
		} else {
			ranges = append(ranges, u)
		}
	}
	boards := slices.Collect(slices.Chunk(ranges, panelsAtOnce))
	for _, u := range alone {
		boards = append(boards, []*unit{u})
	}
	words := b.fresh() // the same in all rounds, and not those of an earlier run
	for _, board := range boards {
		for before := f.rounds; before >= 0; before-- {
			for n := range b.sides {
				n = (n + before) % len(b.sides)
				if err := f.board(ctx, b, board, n, asking{before: before, anew: words}); err !=
					nil {
					return err
				}
			}
		}
		for _, u := range board {
			u.say(refresh)
		}
	}
	return nil
}

// board asks one side all panels of a dashboard at once; the first time is not counted.
func (f *report) board(ctx context.Context, b *bed, board []*unit, n int, how asking) error {
	var g errgroup.Group
	took := make([]once, len(board))
	for i, u := range board {
		if !u.asks(n) {
			continue
		}
		g.Go(func() error {
			var err error
			took[i], err = b.sides[n].at(ctx, b, u.parts, how)
			if err != nil && ctx.Err() == nil {
				bench.Progress("  %s: %s, %s: %v", b.sides[n].Name, u.title, refresh, err)
				u.answers[n].fail(refresh, err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for i, u := range board {
		if how.before < f.rounds && u.asks(n) {
			u.answers[n].took(refresh, took[i])
		}
	}
	return ctx.Err()
}

// each asks all sides, each round beginning with another one.
func (f *report) each(ctx context.Context, b *bed, u *unit, column string, round int,
	how asking) error {
	for n := range b.sides {
		n = (n + round) % len(b.sides)
		if !u.asks(n) {
			continue
		}
		o, err := b.sides[n].at(ctx, b, u.parts, how)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			bench.Progress("  %s: %s, %s: %v", b.sides[n].Name, u.title, column, err)
			u.answers[n].fail(column, err)
			continue
		}
		u.answers[n].took(column, o)
	}
	return nil
}

// asks reports whether a side is asked at all.
func (u *unit) asks(n int) bool {
	a := u.answers[n]
	return len(u.parts) > 0 && !a.failed() && len(a.Failures) == 0 && (n == 0 || !u.alone)
}

// say tells of a column.
func (u *unit) say(column string) {
	text := ""
	for _, a := range u.answers {
		if t := a.Columns[column]; t != nil {
			text += fmt.Sprintf("; %s %.1f ms, CPU %.1f", a.Side, t.P50, t.CPU)
		}
	}
	bench.Progress("%s, %s%s", u.title, column, text)
}

// timed are the times of a column.
type timed struct {
	Requests  int
	P50, Most float64 // ms
	CPU       float64 // ms a request; of refreshes, which overlap, that of all of a dashboard's
	list, cpu []float64
}

func (a *answer) took(column string, o once) {
	if a.Columns == nil {
		a.Columns = map[string]*timed{}
	}
	t := a.Columns[column]
	if t == nil {
		t = &timed{}
		a.Columns[column] = t
	}
	t.list, t.cpu = append(t.list, o.whole), append(t.cpu, o.cpu)
	t.Requests = len(t.list)
	t.P50, t.Most, t.CPU = bench.Quantile(slices.Clone(t.list), 0.5), slices.Max(t.list),
		bench.Quantile(slices.Clone(t.cpu), 0.5)
}

func (a *answer) fail(column string, err error) {
	a.Failures = append(a.Failures, column+": "+err.Error())
	a.Columns = nil
}
