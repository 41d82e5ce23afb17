package docs_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestDiagrams: each diagram of docs/diagrams stands in one page, as its file has it, and the pages
// show no others.
func TestDiagrams(t *testing.T) {
	files, err := filepath.Glob("diagrams/*.mmd")
	if err != nil || len(files) == 0 {
		t.Fatalf("no diagrams: %v", err)
	}
	found, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, page := range found {
		all.WriteString(mustRead(t, page))
	}
	for _, file := range files {
		if strings.Count(all.String(), "```mermaid\n"+mustRead(t, file)+"```\n") != 1 {
			t.Errorf("no page, or more than one, has what %s has", file)
		}
	}
	if shown := strings.Count(all.String(), "```mermaid"); shown != len(files) {
		t.Errorf("pages show %d diagrams, there are %d files", shown, len(files))
	}
}
