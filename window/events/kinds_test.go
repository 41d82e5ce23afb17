package events_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ringwatch/ringwatch/window/events"
)

// TestKinds: these are the kinds that the agent sends.
func TestKinds(t *testing.T) {
	text, err := os.ReadFile(
		"../../agent/src/main/java/dev/ringwatch/agent/events/EventKind.java")
	if err != nil {
		t.Fatal(err)
	}
	var sent []string
	for _, m := range regexp.MustCompile(`(?m)^    ([A-Z_]+)\(.*[,;]$`).FindAllSubmatch(text, -1) {
		sent = append(sent, strings.ToLower(string(m[1])))
	}
	slices.Sort(sent)
	if known := slices.Sorted(slices.Values(events.Kinds)); !slices.Equal(sent, known) {
		t.Errorf("the agent sends %q, and the API knows %q", sent, known)
	}
}
