// Package bench is what the drivers below this folder share: where a result is kept and what it
// says of where it was measured.
//
// Every driver ends with one line `RESULT key=value …` and keeps the same in results/NAME.json.
// Each comparison runs both sides in turn in one run; medians and ratios hold elsewhere, absolute
// times do not.
package bench

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sort"
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
	Name    string // results/NAME.json, make bench-NAME
	Command string // what was run
	Values  []Value
	Detail  any    // more than a line can hold: kept, not printed; nil: nothing
	Notes   string // what was compared with what, one sentence or two
}

// Add appends a figure.
func (r *Result) Add(key string, value any) { r.Values = append(r.Values, Value{key, value}) }

// Keep writes the result below dir (bench/results; empty: nowhere) and prints the RESULT line to w.
func (r *Result) Keep(w io.Writer, dir string) error {
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
		"name": r.Name, "command": r.Command, "date": time.Now().UTC().Format(time.RFC3339),
		"machine": Machine(), "values": values, "notes": r.Notes,
	}
	if r.Detail != nil {
		kept["detail"] = r.Detail
	}
	b, err := json.MarshalIndent(kept, "", "  ")
	if err != nil {
		return err
	}
	if dir != "" {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, r.Name+".json"), append(b, '\n'),
			0o644); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintln(w, line)
	return err
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

// Quantile returns the q-quantile (0 … 1) of values by nearest rank; it sorts them.
func Quantile(values []float64, q float64) float64 {
	sort.Float64s(values)
	if len(values) == 0 {
		return 0
	}
	i := int(q*float64(len(values))+0.9999999) - 1
	return values[min(max(i, 0), len(values)-1)]
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
