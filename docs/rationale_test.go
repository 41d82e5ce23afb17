package docs_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestDecisionsAreComplete: each decision says its price and when to think again, and RATIONALE.md
// lists it below its page.
func TestDecisionsAreComplete(t *testing.T) {
	files, err := filepath.Glob("rationale/*.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]string{}
	page := ""
	for line := range strings.Lines(mustRead(t, "RATIONALE.md")) {
		line = strings.TrimSpace(line)
		if title, ok := strings.CutPrefix(line, "- "); ok {
			listed[title] = page
		} else if m := link.FindStringSubmatch(line); m != nil {
			page = m[1]
		}
	}
	found := 0
	for _, file := range files {
		for _, section := range strings.Split(mustRead(t, file), "\n### ")[1:] {
			title, text, _ := strings.Cut(section, "\n")
			text, _, _ = strings.Cut(text, "\n## ")
			text = strings.Join(strings.Fields(text), " ")
			if found++; listed[title] != file {
				t.Errorf("RATIONALE.md does not list %q below %s", title, file)
			}
			for _, part := range []string{"*Price:*", "*Reconsider when:*"} {
				if !strings.Contains(text, part) {
					t.Errorf("%s: the decision %q has no %s", file, title, part)
				}
			}
		}
	}
	if found < 70 || found != len(listed) {
		t.Errorf("the pages have %d decisions, and RATIONALE.md lists %d", found, len(listed))
	}
}
