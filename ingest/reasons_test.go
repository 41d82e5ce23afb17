package ingest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestReasons finds the reasons in the package's source: all that are there, and no other.
func TestReasons(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	said := regexp.MustCompile(`(?:refuse|busy)\([^"]*"([a-z_]+)"`)
	var found []string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range said.FindAllStringSubmatch(string(text), -1) {
			found = append(found, m[1])
		}
	}
	slices.Sort(found)
	if found = slices.Compact(found); len(found) < 20 || !slices.Equal(found, reasons) {
		t.Errorf("reasons are %q, the source has %q", reasons, found)
	}
}
