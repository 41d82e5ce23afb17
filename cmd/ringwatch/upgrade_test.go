package main

import (
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/bench/chaos"
	"github.com/ringwatch/ringwatch/dev/engines"
)

// upgradeOrder reads the steps of docs/UPGRADE.md: what stands first in each.
func upgradeOrder(t *testing.T) (steps []string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/UPGRADE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n## Upgrade a line\n")
	section, _, _ = strings.Cut(section, "\n## ")
	first := regexp.MustCompile("(?m)^\\d+\\. [^`\n]*`([^`]+)`")
	for _, m := range first.FindAllStringSubmatch(section, -1) {
		steps = append(steps, m[1])
	}
	if !found || len(steps) == 0 {
		t.Fatal("docs/UPGRADE.md has no steps of an upgrade")
	}
	return steps
}

// TestUpgradeGuide: the guide has each role once, after the schema and before the agents.
func TestUpgradeGuide(t *testing.T) {
	steps := upgradeOrder(t)
	roles := []string{"api", "ingest", "recent", "rules", "store", "watch"}
	if !strings.HasSuffix(steps[0], "schema apply") || len(steps) != len(roles)+2 ||
		!strings.Contains(steps[len(steps)-1], "agent") {
		t.Fatalf("the steps are %q", steps)
	}
	if got := slices.Sorted(slices.Values(steps[1 : len(steps)-1])); !slices.Equal(got, roles) {
		t.Errorf("the roles are %q, want %q", got, roles)
	}
}

// TestUpgradeOfLine upgrades a line from the version before as docs/UPGRADE.md says, while nodes
// send and readers ask. Each question has an answer, no answer is wrong, and in the end each
// acknowledged value is there once.
func TestUpgradeOfLine(t *testing.T) {
	previous := engines.MustPrevious(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := chaos.Config{Dir: t.TempDir(), Binary: self, Env: []string{asRingwatch},
		Upgrade: &chaos.Upgrade{From: previous.MustProgram(t), Order: upgradeOrder(t)},
		Seed:    rand.Uint64(), Nodes: 20, Interval: 500 * time.Millisecond,
		Pause:    500 * time.Millisecond,
		Progress: func(text string) { t.Log(time.Now().Format(time.TimeOnly), text) }}
	r, err := chaos.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d frames, %d answers, %d of them partial; slowest %v", r.Acked, r.Answers, r.Partial,
		r.Slowest)
	if !r.Whole() || r.Failed > 0 {
		t.Errorf("lost %d, doubled %d, wrong %d, holes %d, ended %d, %d questions without "+
			"an answer: %q",
			r.Lost, r.Doubled, r.Wrong, r.Holes, r.Ended, r.Failed, r.Problems)
	}
	if r.Replaced != 10 || r.Acked < 200 || r.Answers < 50 || r.Hours == 0 {
		t.Errorf("too little happened: %+v", r)
	}
}
