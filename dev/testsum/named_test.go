package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestUnnamed(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.go": "package a\n\n// keptOnce is known, keptTwice is in a text, keptNever nowhere.\n" +
			"// Neither English nor \\uXXXX are names.\nvar keptOnce = \"keptTwice\"\n",
		"b.go":               "package a\n\n// readLatency is Java's, innerText the browser's.\n",
		"c.java":             "class C { long readLatency; }\n",
		"d.mjs":              "export const text = (e) => e.innerText;\n",
		"node_modules/x.mjs": "keptNever();\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	want := "a.go: a comment names keptNever, which nothing else does"
	if got := unnamed("."); got != want {
		t.Errorf("it says\n%s\nwant\n%s", got, want)
	}
}
