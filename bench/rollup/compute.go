package main

import (
	"runtime"
	"time"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/rollup"
	"github.com/ringwatch/ringwatch/window"
)

// pure is the CPU of computing alone: per window, hour and day.
type pure struct{ build, columns, five, hour, day time.Duration }

func (p *pure) figures() []bench.Value {
	ms := func(d time.Duration) float64 { return d.Seconds() * 1e3 }
	return []bench.Value{{Key: "frames_to_window_ms", Value: ms(p.build)}, {Key: "window_to_columns_ms", Value: ms(p.columns)},
		{Key: "rollup_5m_ms", Value: ms(p.five)}, {Key: "rollup_1h_ms", Value: ms(p.hour)}, {Key: "rollup_1d_ms", Value: ms(p.day)}}
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
			w, _, err := window.Build(window.Node{}, frames)
			if err != nil {
				return nil, err
			}
			windows = append(windows, w)
		}
		lap(0, len(hour))
		for _, w := range windows {
			w.Columns(window.Report{})
		}
		lap(1, len(hour))
		var encoded []rollup.EncodedV1
		for _, w := range windows {
			five := rollup.FromWindow(w)
			fives = append(fives, five)
			encoded = append(encoded, five.Encode())
		}
		lap(2, len(hour))
		merged, enc, err := merge(rollup.Hour, rollup.Hour.Start(fives[0].Start), fives, encoded)
		if err != nil {
			return nil, err
		}
		lap(3, 1)
		var hours []*rollup.Rollup
		encoded = nil
		for i := range int64(24) {
			h := *merged
			h.Start = rollup.Day.Start(h.Start) + i*rollup.Hour.Millis
			h.Parts = nil
			hours, encoded = append(hours, &h), append(encoded, enc)
		}
		for i, h := range hours {
			encoded[i] = h.Encode()
		}
		began = time.Now()
		if _, _, err := merge(rollup.Day, rollup.Day.Start(merged.Start), hours, encoded); err != nil {
			return nil, err
		}
		lap(4, 1)
	}
	median := func(i int) time.Duration { return time.Duration(bench.Quantile(times[i], 0.5)) }
	return &pure{median(0), median(1), median(2), median(3), median(4)}, nil
}

// merge does what the store does: it decodes the parts, whose dictionary is usually in its cache, merges and encodes.
func merge(level rollup.Level, start int64, parts []*rollup.Rollup, encoded []rollup.EncodedV1) (*rollup.Rollup, rollup.EncodedV1, error) {
	known := map[window.Hash]*window.Dictionary{}
	for _, d := range encoded[0].Dictionaries {
		dict, err := window.DecodeDictionary(d.Blob)
		if err != nil {
			return nil, rollup.EncodedV1{}, err
		}
		known[d.Hash] = dict
	}
	find := func(_ string, h window.Hash) (*window.Dictionary, error) {
		if d := known[h]; d != nil {
			return d, nil
		}
		return nil, window.ErrDictionary
	}
	var list []*rollup.Rollup
	for i, p := range parts {
		meta, err := rollup.DecodeMeta(p.Level, p.Start, encoded[i].Meta)
		if err != nil {
			return nil, rollup.EncodedV1{}, err
		}
		var columns []window.StoredColumn
		for _, c := range encoded[i].Columns {
			columns = append(columns, window.StoredColumn{Key: c.Key, Blob: c.Blob})
		}
		r, damage := rollup.FromColumns(meta, find, columns)
		if len(damage) > 0 {
			return nil, rollup.EncodedV1{}, damage[0]
		}
		list = append(list, r)
	}
	m := rollup.Merge(level, start, list)
	return m, m.Encode(), nil
}
