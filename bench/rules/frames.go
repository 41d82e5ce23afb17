package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/fleet"
	"github.com/ringwatch/ringwatch/frame"
)

const tickMillis = 20_000

// taken is a frame and when it came.
type taken struct {
	at    int64 // ms
	bytes []byte
}

// makeFrames writes a fleet's frames into a file in the order of their coming, and returns the mean
// size of its delta frames and of its key frames.
func makeFrames(ctx context.Context, file string, o options,
	idle, busy *fleet.Shape) (mean [2]float64, err error) {
	bench.Progress("making the frames of %d nodes", o.nodes)
	end := fleetStart + int64(o.minutes)*60_000
	lists := make([][]taken, o.nodes)
	err = bench.AtOnce(ctx, o.nodes, runtime.GOMAXPROCS(0), func(ctx context.Context, i int) error {
		n := fleet.NewNode(fleet.OfNode(i, idle, busy), o.seed, i)
		for at := fleetStart + int64(n.Random.IntN(tickMillis-1000)); at < end; at += tickMillis {
			b, err := n.Frame(at)
			if err != nil || ctx.Err() != nil {
				return errors.Join(err, ctx.Err())
			}
			n.Step()
			lists[i] = append(lists[i], taken{at, slices.Clone(b)})
		}
		return nil
	})
	if err != nil {
		return mean, err
	}
	all := slices.Concat(lists...)
	slices.SortStableFunc(all, func(a, b taken) int { return int(a.at - b.at) })
	w, err := newWriter(file)
	if err != nil {
		return mean, err
	}
	var sum, count [2]float64
	for _, t := range all {
		w.write(t)
		h, _, err := frame.Parse(t.bytes)
		if err != nil {
			return mean, err
		}
		kind := 0
		if h.IsKey() {
			kind = 1
		}
		sum[kind] += float64(len(t.bytes))
		count[kind]++
	}
	bench.Progress("%d nodes of %d and %d series for %d minutes: %d frames", o.nodes, idle.Series,
		busy.Series, o.minutes, len(all))
	return [2]float64{sum[0] / max(1, count[0]), sum[1] / max(1, count[1])}, w.close()
}

// writer writes frames into a file: when each came, its length, itself.
type writer struct {
	file *os.File
	to   *bufio.Writer
}

func newWriter(name string) (*writer, error) {
	f, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	return &writer{f, bufio.NewWriter(f)}, nil
}

func (w *writer) write(t taken) { // an error is close's
	var head [12]byte
	binary.LittleEndian.PutUint64(head[:], uint64(t.at))
	binary.LittleEndian.PutUint32(head[8:], uint32(len(t.bytes)))
	_, _ = w.to.Write(head[:])
	_, _ = w.to.Write(t.bytes)
}

func (w *writer) close() error { return errors.Join(w.to.Flush(), w.file.Close()) }

// reader reads what a writer wrote.
type reader struct {
	file *os.File
	from *bufio.Reader
	peek *taken
}

func openFrames(name string) (*reader, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	return &reader{file: f, from: bufio.NewReaderSize(f, 1<<20)}, nil
}

// next returns the next frame, in memory of its own; io.EOF after the last.
func (r *reader) next() (taken, error) {
	if t := r.peek; t != nil {
		r.peek = nil
		return *t, nil
	}
	var head [12]byte
	if _, err := io.ReadFull(r.from, head[:]); err != nil {
		return taken{}, err
	}
	t := taken{int64(binary.LittleEndian.Uint64(head[:])),
		make([]byte, binary.LittleEndian.Uint32(head[8:]))}
	if _, err := io.ReadFull(r.from, t.bytes); err != nil {
		return taken{}, fmt.Errorf("%s is cut: %w", r.file.Name(), err)
	}
	return t, nil
}

// until returns the frames that came before an instant.
func (r *reader) until(at int64) (list []taken, err error) {
	for {
		t, err := r.next()
		if err == io.EOF {
			return list, nil
		}
		if err != nil {
			return nil, err
		}
		if t.at >= at {
			r.peek = &t
			return list, nil
		}
		list = append(list, t)
	}
}

func (r *reader) close() { _ = r.file.Close() }
