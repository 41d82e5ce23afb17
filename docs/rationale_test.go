package docs_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestDecisionsAreComplete: each decision says its price and when to think again, and RATIONALE.md
// lists its page.
func TestDecisionsAreComplete(t *testing.T) {
	files, err := filepath.Glob("rationale/*.md")
	if err != nil {
		t.Fatal(err)
	}
	list := mustRead(t, "RATIONALE.md")
	found := 0
	for _, file := range files {
		if name := filepath.Base(file); !strings.Contains(list, "(rationale/"+name+")") {
			t.Errorf("RATIONALE.md does not list %s", name)
		}
		for _, section := range strings.Split(mustRead(t, file), "\n### ")[1:] {
			title, text, _ := strings.Cut(section, "\n")
			text, _, _ = strings.Cut(text, "\n## ")
			text = strings.Join(strings.Fields(text), " ")
			found++
			for _, part := range []string{"*Price:*", "*Reconsider when:*"} {
				if !strings.Contains(text, part) {
					t.Errorf("%s: the decision %q has no %s", file, title, part)
				}
			}
		}
	}
	if found < 70 {
		t.Errorf("the pages have only %d decisions", found)
	}
}
