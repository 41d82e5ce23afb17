package main

import (
	"runtime"
	"time"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
	"github.com/ringwatch/ringwatch/window/building"
	"github.com/ringwatch/ringwatch/window/rollup"
)

// pure is the CPU of computing alone: per window, hour and day.
type pure struct{ build, columns, five, hour, day time.Duration }

func (p *pure) figures() []bench.Value {
	ms := func(d time.Duration) float64 { return d.Seconds() * 1e3 }
	return []bench.Value{{Key: "frames_to_window_ms", Value: ms(p.build)},
		{Key: "window_to_columns_ms", Value: ms(p.columns)},
		{Key: "rollup_5m_ms", Value: ms(p.five)}, {Key: "rollup_1h_ms", Value: ms(p.hour)},
		{Key: "rollup_1d_ms", Value: ms(p.day)}}
}

// compute measures medians over rounds, with one goroutine.
func compute(hour [][][]byte) (*pure, error) {
	var times [5][]float64
	for range 9 {
		runtime.GC()
		var fives []*rollup.Rollup
		began := time.Now()
		lap := func(i, of int) {
			times[i] = append(times[i], float64(time.Since(began))/float64(of))
			began = time.Now()
		}
		var windows []*window.Window
		for _, frames := range hour {
			w, _, err := building.Window(window.Node{}, frames)
			if err != nil {
				return nil, err
			}
			windows = append(windows, w)
		}
		lap(0, len(hour))
		for _, w := range windows {
			blobs.Encode(w, window.Report{})
		}
		lap(1, len(hour))
		for _, w := range windows {
			fives = append(fives, rollup.FromWindow(w))
		}
		start := rollup.Hour.Start(fives[0].Start)
		encoded := rollup.EncodeRun(start, rollup.Hour.Millis, fives)
		lap(2, len(hour))
		merged, err := merge(rollup.Hour, start, rollup.FiveMinutes, encoded)
		if err != nil {
			return nil, err
		}
		lap(3, 1)
		day := rollup.Day.Start(start)
		var hours []*rollup.Rollup
		for i := range int64(24) {
			h := *merged
			h.Start = day + i*rollup.Hour.Millis
			h.Parts = nil
			hours = append(hours, &h)
		}
		encoded = rollup.EncodeRun(day, rollup.Day.Millis, hours)
		began = time.Now()
		if _, err := merge(rollup.Day, day, rollup.Hour, encoded); err != nil {
			return nil, err
		}
		lap(4, 1)
	}
	median := func(i int) time.Duration { return time.Duration(bench.Median(times[i])) }
	return &pure{median(0), median(1), median(2), median(3), median(4)}, nil
}

// merge does what the store does: it decodes a run of the finer level, whose dictionaries are
// usually in its cache, merges and encodes.
func merge(level rollup.Level, start int64, finer rollup.Level,
	run rollup.Encoded) (*rollup.Rollup, error) {
	known := map[window.Hash]*window.Dictionary{}
	for _, d := range run.Dictionaries {
		dict, err := blobs.DecodeDictionary(d.Blob)
		if err != nil {
			return nil, err
		}
		known[d.Hash] = dict
	}
	find := func(_ string, h window.Hash) (*window.Dictionary, error) {
		if d := known[h]; d != nil {
			return d, nil
		}
		return nil, blobs.ErrDictionary
	}
	head, err := rollup.DecodeRunHead(finer, start, run.Head)
	if err != nil {
		return nil, err
	}
	var parts []blobs.StoredPart
	for _, p := range run.Parts {
		parts = append(parts, blobs.StoredPart{PartID: p.PartID, Blob: p.Blob})
	}
	list, damage := rollup.FromRun(head, nil, find, parts)
	if len(damage) > 0 {
		return nil, damage[0]
	}
	m := rollup.Merge(level, start, list)
	rollup.EncodeRun(start, level.Millis, []*rollup.Rollup{m})
	return m, nil
}
