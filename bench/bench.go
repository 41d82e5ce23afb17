// Package bench is what the drivers below this folder share: how they start and say what goes on,
// their common flags, where a result is kept and what it says of where it was measured.
//
// A driver declares its flags and calls Main. Every driver ends with one line
// `RESULT key=value …` and keeps the same in results/NAME.json, with the command that gave it.
// Each comparison runs both sides in turn in one run; medians and ratios hold elsewhere, absolute
// times do not.
package bench

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/ringwatch/ringwatch/frame"
)

// Value is one figure of a result. Keys end in their unit: p99_ms, decode_ns_per_value.
type Value struct {
	Key   string
	Value any // a number or a text
}

// Result is what a driver found.
type Result struct {
	Name   string // results/NAME.json
	Values []Value
	Detail any    // more than a line can hold: kept, not printed; nil: nothing
	Notes  string // what was compared with what, one sentence or two
	Dir    string // a folder for what the run needs

	target, dir string
	kept        bool
}

// Command is what was run, without what is this machine's.
func (r *Result) Command() string { return command(r.target) }

// File is where the result is kept.
func (r *Result) File() string { return filepath.Join(r.dir, r.Name+".json") }

// Add appends a figure.
func (r *Result) Add(key string, value any) { r.Values = append(r.Values, Value{key, value}) }

// Keep writes the result below the folder of -results, if there is one, and prints the RESULT line.
// Main does it for a run that ends without an error.
func (r *Result) Keep() error {
	r.kept = true
	values := map[string]any{}
	line := "RESULT"
	for _, v := range r.Values {
		values[v.Key] = v.Value
		if f, ok := v.Value.(float64); ok {
			line += fmt.Sprintf(" %s=%.4g", v.Key, f)
		} else {
			line += fmt.Sprintf(" %s=%v", v.Key, v.Value)
		}
	}
	kept := map[string]any{
		"name": r.Name, "command": r.Command(), "date": time.Now().UTC().Format(time.RFC3339),
		"machine": Machine(), "values": values, "notes": r.Notes,
	}
	if r.Detail != nil {
		kept["detail"] = r.Detail
	}
	b, err := json.MarshalIndent(kept, "", "  ")
	if err != nil {
		return err
	}
	if r.dir != "" {
		if err := os.MkdirAll(r.dir, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(r.File(), append(b, '\n'), 0o644); err != nil {
			return err
		}
	}
	fmt.Println(line)
	return nil
}

// Machine says on what a figure was measured: processor, cores, memory, system, Go version.
func Machine() map[string]any {
	m := map[string]any{"cores": runtime.NumCPU(), "os": runtime.GOOS + "/" + runtime.GOARCH,
		"go": runtime.Version()}
	if s := field("/proc/cpuinfo", "model name"); s != "" {
		m["processor"] = s
	}
	if s := field("/proc/meminfo", "MemTotal"); s != "" {
		m["memory"] = s
	}
	return m
}

// Number is that behind a name and a colon in a file of /proc; 0: there is none.
func Number(file, name string) (n int64) {
	_, _ = fmt.Sscan(field(file, name), &n)
	return n
}

func field(file, name string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if k, v, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(k) == name {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// Quantile returns the q-quantile (0 … 1) of values by nearest rank.
func Quantile(values []float64, q float64) float64 {
	values = slices.Sorted(slices.Values(values))
	if len(values) == 0 {
		return 0
	}
	i := int(q*float64(len(values))+0.9999999) - 1
	return values[min(max(i, 0), len(values)-1)]
}

// Median is the middle one of values.
func Median(values []float64) float64 { return Quantile(values, 0.5) }

// Mean is the mean of values, 0 of none.
func Mean(values []float64) (mean float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	return mean
}

// MedianOf is the median of a figure of some.
func MedianOf[T any](list []T, of func(T) float64) float64 {
	values := make([]float64, len(list))
	for i, one := range list {
		values[i] = of(one)
	}
	return Median(values)
}

// RatioOf is the median of the ratios of pairs that were measured in turn.
func RatioOf[T any](a, b []T, of func(T) float64) float64 {
	ratios := make([]float64, min(len(a), len(b)))
	for i := range ratios {
		ratios[i] = of(a[i]) / of(b[i])
	}
	return Median(ratios)
}

// Recording reads a file of concatenated frames.
func Recording(file string) ([][]byte, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%w; `make bench-record` makes the recordings", err)
	}
	var frames [][]byte
	for len(b) > 0 {
		n, err := frame.Length(b)
		if err != nil || n > len(b) {
			return nil, fmt.Errorf("%s: frame %d is cut or damaged: %v", file, len(frames), err)
		}
		frames = append(frames, b[:n])
		b = b[n:]
	}
	return frames, nil
}
