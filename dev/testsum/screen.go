package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"
)

// screen prints for a person, and every half minute names what has been running for long.
type screen struct {
	mu    sync.Mutex
	out   io.Writer
	began time.Time
	// only packages that fail or take long, and nothing of tests left out
	brief  bool
	active map[string]time.Time // running tests
	failed []string             // what failed and why, in a few lines each
	again  []string             // commands that run what failed once more
	took   []timed              // tests that have ended, without subtests
}

// timed is a test that took so many seconds.
type timed struct {
	name    string
	seconds float64
}

// complaint is a line of t.Error and its kin: the file, the line, the words. What an engine
// logged has none.
var complaint = regexp.MustCompile(`^\s*\w+\.go:\d+: |^panic: `)

// Of one failure the sum repeats that much.
const (
	maxComplaints = 8
	maxComplaint  = 400 // bytes
)

// quiet is how long a test runs before it is named.
const quiet = 30 * time.Second

func newScreen(out io.Writer) *screen {
	return &screen{out: out, began: time.Now(), active: map[string]time.Time{}}
}

// watch names long-running tests until ctx ends.
func (s *screen) watch(ctx context.Context) {
	tick := time.NewTicker(quiet)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.nameLongRunning()
		}
	}
}

func (s *screen) say(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.out, "%7.1f s  %s\n", time.Since(s.began).Seconds(), line)
}

// block prints the output of what failed.
func (s *screen) block(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintln(s.out, strings.TrimRight(text, "\n"))
}

// fail prints the output of what failed, and keeps its complaints, and the command that runs it
// again, for repeat.
func (s *screen) fail(name, text, again string) {
	s.block(text)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = append(s.failed, name)
	if !slices.Contains(s.again, again) {
		s.again = append(s.again, again)
	}
	found := 0
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); found < maxComplaints && complaint.MatchString(line) {
			s.failed = append(s.failed, "    "+line[:min(len(line), maxComplaint)])
			found++
		}
	}
}

// repeat says at the end what failed and why, since engines' logs may have parted the two above,
// and what to type to run it again.
func (s *screen) repeat() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range s.failed {
		fmt.Fprintln(s.out, line)
	}
	for _, command := range s.again {
		fmt.Fprintln(s.out, "again: "+command)
	}
}

// slowest is how many tests are named that took longest.
const slowest = 12

// nameSlowest names the tests that took longest, so that whoever adds one sees what it costs.
func (s *screen) nameSlowest() {
	s.mu.Lock()
	slices.SortStableFunc(s.took, func(a, b timed) int { return cmp.Compare(b.seconds, a.seconds) })
	var list []string
	for _, t := range s.took[:min(slowest, len(s.took))] {
		list = append(list, fmt.Sprintf("%s (%.0f s)", t.name, t.seconds))
	}
	s.mu.Unlock()
	if len(list) > 0 {
		s.say("slowest: " + strings.Join(list, ", "))
	}
}

func (s *screen) running(pkg, test string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active[short(pkg)+" "+test] = time.Now()
}

func (s *screen) ended(pkg, test string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.active, short(pkg)+" "+test)
}

// measured notes how long a test took.
func (s *screen) measured(pkg, test string, seconds float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.took = append(s.took, timed{short(pkg) + " " + test, seconds})
}

func (s *screen) nameLongRunning() {
	s.mu.Lock()
	var long []string
	for name, since := range s.active {
		if running := time.Since(since); running > quiet {
			long = append(long, fmt.Sprintf("%s (%.0f s)", name, running.Seconds()))
		}
	}
	s.mu.Unlock()
	sort.Strings(long)
	if len(long) > 0 {
		s.say("running: " + strings.Join(long, ", "))
	}
}
