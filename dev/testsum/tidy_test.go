package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestUntidy(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"good.go":    "package a\n",
		"good.md":    "# A\n\nb\n",
		"empty.yaml": "",
		"other.png":  "x ",
		"fits.go":    "package a\n\n// " + strings.Repeat("wörds ", 16) + "x\n",
		"drawing.go": "package a\n\n//  " + strings.Repeat("a ─► b ", 20) + "x\n",
		"wide.go": "package a\n\nfunc f() {\n\t// " + strings.Repeat("words ", 16) +
			"x\n}\n",
		"wide_code.go": "package a\n\nvar A = f(" + strings.Repeat("aaa, ", 19) + "a)\n",
		"quoted.go": "package a\n\nvar A = `" + strings.Repeat("words\n ", 3) +
			strings.Repeat("words ", 20) + "`\n",
		"word.go":   "package a\n\nvar A = \"" + strings.Repeat("words", 20) + "\"\n",
		"Fits.java": "/** " + strings.Repeat("wörds ", 15) + "wö */\n",
		"Word.java": "class A {\n    // " + strings.Repeat("words", 20) + " x\n}\n",
		"Wide.java": "class A {\n    int a = b(" + strings.Repeat("aaa, ", 19) +
			"a);\n}\n",
		"table.md":               "| a |\n|---|\n| " + strings.Repeat("words ", 20) + "|\n",
		"code.md":                "```\n" + strings.Repeat("words ", 20) + "x\n```\n",
		"link.md":                "- [a](https://" + strings.Repeat("words/", 20) + ")\n",
		"wide.md":                "```\na\n```\n> " + strings.Repeat("words ", 17) + "x\n",
		"wide.tsx":               "// " + strings.Repeat("words ", 17) + "x\n",
		"made.d.ts":              "// " + strings.Repeat("words ", 17) + "x \n",
		"wide.yaml":              "# " + strings.Repeat("words ", 17) + "x\n",
		"testdata/bad.md":        "x ",
		"node_modules/x/bad.go":  "package  a",
		"a/wide.go":              "package  a\n",
		"b/no.go":                "package a\n\nfunc\n",
		"c/blank.md":             "one\ntwo \n",
		"d/open.yaml":            "a: b",
		"e/Tab.java":             "class A {\n\tint b;\n}\n",
		"f/windows.md":           "one\r\n",
		".github/blank.md":       "one\t\n",
		".ringwatch/blank.md":    "one\t\n",
		"target/check/blank.md":  "one\t\n",
		"console/dist/blank.xml": "one\t\n",
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
	want := `.github/blank.md:1: blanks end the line
Wide.java:2: the line has 112 columns, and 100 are allowed
a/wide.go: gofmt -w changes it
b/no.go: 3:6: expected 'IDENT', found 'EOF'
c/blank.md:2: blanks end the line
d/open.yaml: the last line does not end
e/Tab.java:2: a tab; Java is indented with spaces here
f/windows.md:1: a carriage return ends the line
wide.go:4: the line has 104 columns, and 100 are allowed
wide.md:4: the line has 105 columns, and 100 are allowed
wide.tsx:1: the line has 106 columns, and 100 are allowed
wide_code.go:3: the line has 107 columns, and 100 are allowed`
	if got := untidy("."); got != want {
		t.Errorf("it says\n%s\nwant\n%s", got, want)
	}
}
