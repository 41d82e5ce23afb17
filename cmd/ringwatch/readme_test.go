package main

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// testReadme runs the commands whose answers README.md shows. Figures differ; the columns, the
// rows' names and how many fields they have do not.
func (w *whole) testReadme(t *testing.T) {
	nodes, err := w.Nodes(t.Context())
	if err != nil || len(nodes) != 1 {
		t.Fatalf("%d nodes, %v", len(nodes), err)
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile(`(?m)^\$ bin/ringwatch (.+)\n((?:[^$`+"`"+`\n].*\n)+)`).
		FindAllStringSubmatch(string(readme), -1)
	if len(shown) < 2 {
		t.Fatalf("README.md shows %d answers", len(shown))
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range shown {
		cmd := exec.CommandContext(t.Context(), self,
			strings.Fields(strings.ReplaceAll(one[1], "'", ""))...)
		cmd.Env = append(os.Environ(), asRingwatch, "RINGWATCH_API="+w.API, "RINGWATCH_KEY="+w.Key)
		out, err := cmd.Output()
		if err != nil {
			t.Errorf("%s: %v", one[1], err)
			continue
		}
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		for i, line := range strings.Split(strings.TrimSpace(one[2]), "\n") {
			want := strings.Fields(line)
			if want[0] == "ringwatch" { // the cluster's name after make up
				want[0] = nodes[0].Cluster
			}
			if !slices.ContainsFunc(lines, func(line string) bool {
				got := strings.Fields(line)
				return len(got) == len(want) && got[0] == want[0] &&
					(i > 0 || slices.Equal(got, want))
			}) {
				t.Errorf("%s shows no line like %q:\n%s", one[1], line, out)
			}
		}
	}
}
