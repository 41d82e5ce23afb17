package docs_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestDiagrams: DIAGRAMS.md shows each diagram as its file has it.
func TestDiagrams(t *testing.T) {
	page := mustRead(t, "DIAGRAMS.md")
	files, err := filepath.Glob("diagrams/*.mmd")
	if err != nil || len(files) == 0 {
		t.Fatalf("no diagrams: %v", err)
	}
	for _, file := range files {
		if !strings.Contains(page, "```mermaid\n"+mustRead(t, file)+"```\n") {
			t.Errorf("DIAGRAMS.md does not have what %s has", file)
		}
	}
	if shown := strings.Count(page, "```mermaid"); shown != len(files) {
		t.Errorf("DIAGRAMS.md shows %d diagrams, there are %d files", shown, len(files))
	}
}
