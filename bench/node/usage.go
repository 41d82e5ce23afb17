package node

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// ticksPerSecond is what /proc counts in: 100 on every Linux that Cassandra runs on.
const ticksPerSecond = 100

// Usage is what a process has used since its start.
type Usage struct {
	At      time.Time
	CPU     time.Duration // user and system
	Threads time.Duration // of the threads asked for, from schedstat, in ns
}

// UsageOf reads /proc/PID/stat, and schedstat of the live threads whose names begin with thread
// ("": none).
func UsageOf(pid int, thread string) (Usage, error) {
	u := Usage{At: time.Now()}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return u, err
	}
	fields := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	if len(fields) < 13 {
		return u, fmt.Errorf("/proc/%d/stat is cut", pid)
	}
	for _, f := range fields[11:13] { // utime and stime: proc(5) 14 and 15
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return u, err
		}
		u.CPU += time.Duration(n) * time.Second / ticksPerSecond
	}
	if thread == "" {
		return u, nil
	}
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	for _, task := range tasks {
		comm, err := os.ReadFile(filepath.Join(task, "comm"))
		if err != nil || !strings.HasPrefix(string(comm), thread) {
			continue // ended meanwhile, or another's
		}
		b, err := os.ReadFile(filepath.Join(task, "schedstat"))
		if err != nil {
			continue
		}
		ns, _, _ := strings.Cut(string(b), " ")
		n, err := strconv.ParseInt(ns, 10, 64)
		if err != nil {
			return u, err
		}
		u.Threads += time.Duration(n)
	}
	return u, err
}

// GC is what a -Xlog:gc file says of a span of time.
type GC struct {
	Pauses    int
	Pause     time.Duration // all of them together
	Allocated float64       // bytes: what the heap grew by between collections
}

// Collections sums up the pauses that end after the given number of lines, and returns how many
// lines there are now. The allocation before the first pause is not known, so compare only spans
// with several.
func Collections(file string, after int) (g GC, lines int, err error) {
	f, err := os.Open(file)
	if err != nil {
		return g, 0, err
	}
	defer f.Close()
	last := -1.0
	for in := bufio.NewScanner(f); in.Scan(); {
		lines++
		// [12.345s] GC(3) Pause Young (Normal) (G1 Evacuation Pause) 120M->30M(2048M) 5.678ms
		_, rest, ok := strings.Cut(in.Text(), " Pause ")
		if !ok {
			continue
		}
		words := strings.Fields(rest)
		before, heap, ok := strings.Cut(words[max(0, len(words)-2)], "M->")
		used, _, ok2 := strings.Cut(heap, "M(")
		if !ok || !ok2 {
			continue
		}
		ms, err := strconv.ParseFloat(strings.TrimSuffix(words[len(words)-1], "ms"), 64)
		if err != nil {
			continue
		}
		from, _ := strconv.ParseFloat(before, 64)
		to, _ := strconv.ParseFloat(used, 64)
		if lines > after {
			g.Pauses++
			g.Pause += time.Duration(ms * float64(time.Millisecond))
			if last >= 0 {
				g.Allocated += (from - last) * (1 << 20)
			}
		}
		last = to
	}
	return g, lines, nil
}

// CPU is what processes have used since their starts.
func CPU(pids ...int) (sum time.Duration, err error) {
	for _, pid := range pids {
		u, err := UsageOf(pid, "")
		if err != nil {
			return 0, err
		}
		sum += u.CPU
	}
	return sum, nil
}

// Meter tells what processes take between two looks.
type Meter struct{ before map[string]Usage }

// Look returns the cores that each process has used since the last look, none at the first one, and
// the MB of memory that it has.
func (m *Meter) Look(pids map[string]int) (cores, mb map[string]float64, err error) {
	cores, mb = map[string]float64{}, map[string]float64{}
	now := map[string]Usage{}
	for name, pid := range pids {
		if now[name], err = UsageOf(pid, ""); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
		if before, is := m.before[name]; is {
			cores[name] = now[name].CoresSince(before)
		}
		bytes, err := Resident(pid)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
		mb[name] = float64(bytes) / 1e6
	}
	m.before = now
	return cores, mb, nil
}

// CoresSince is how many cores the process has used since before.
func (u Usage) CoresSince(before Usage) float64 {
	return (u.CPU - before.CPU).Seconds() / u.At.Sub(before.At).Seconds()
}

// Resident returns the bytes of memory that a process has.
func Resident(pid int) (int64, error) {
	var pages, resident int64
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err == nil {
		_, err = fmt.Sscan(string(b), &pages, &resident)
	}
	return resident * int64(os.Getpagesize()), err
}
