package main

import (
	"bytes"
	"fmt"
	"go/format"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// tidied are the endings of the files that untidy reads.
var tidied = append([]string{".yaml", ".yml", ".sh", ".xml", ".mod", ".cql"}, narrow...)

// narrow are the endings of the files whose lines have 100 columns at most. Prettier has a stricter
// view of the console's, but breaks neither comments nor long strings.
var narrow = []string{".go", ".java", ".md", ".ts", ".tsx", ".mjs", ".css"}

// untidy returns a line for each file below root that is not as gofmt and .editorconfig want it:
// Go as gofmt writes it; code and prose no wider than 100 columns; in Java no tabs; everywhere no
// blanks at a line's end, no carriage returns and a newline at the end. What openapi-typescript
// writes stays as it is.
func untidy(root string) string {
	var said []string
	err := eachFile(root, func(path string, _ fs.DirEntry) error {
		if !slices.Contains(tidied, filepath.Ext(path)) || strings.HasSuffix(path, ".d.ts") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if what := untidiness(filepath.Ext(path), text); what != "" {
			said = append(said, path+what)
		}
		return nil
	})
	if err != nil {
		said = append(said, err.Error())
	}
	return strings.Join(said, "\n")
}

// eachFile calls do with each regular file below root that somebody wrote.
func eachFile(root string, do func(path string, d fs.DirEntry) error) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && made(path):
			return filepath.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		return do(path, d)
	})
}

// made reports whether a folder holds what a program made, or data of tests.
func made(folder string) bool {
	switch name := filepath.Base(folder); name {
	case "node_modules", "target", "testdata", ".git", ".ringwatch":
		return true
	case "dist":
		return filepath.Base(filepath.Dir(folder)) == "console"
	}
	return false
}

// columns is how wide a line may be, with tabs of four.
const columns = 100

// unbroken is how long a word is that is no fault of its line: an address, a name of an MBean.
const unbroken = 60

// wideLine says where a line is too wide, or nothing. What cannot be broken may be: the lines of
// these numbers, drawings and examples in comments, which are indented, and a long word.
func wideLine(text []byte, unbreakable map[int]bool) string {
	for i, line := range strings.Split(string(text), "\n") {
		width := utf8.RuneCountInString(line) + 3*strings.Count(line, "\t")
		prose, comment := strings.CutPrefix(strings.TrimLeft(line, "\t"), "//")
		example := comment && (strings.HasPrefix(prose, "  ") || strings.HasPrefix(prose, "\t"))
		long := slices.ContainsFunc(strings.Fields(line), func(word string) bool {
			return len(word) > unbroken
		})
		if width > columns && !unbreakable[i+1] && !example && !long {
			return fmt.Sprintf(":%d: the line has %d columns, and %d are allowed", i+1,
				width, columns)
		}
	}
	return ""
}

// unbreakable returns the numbers of the lines that nobody can break: in Go those of text in
// backquotes and of the tags of fields, in Markdown tables and blocks of code.
func unbreakable(ending string, text []byte) map[int]bool {
	switch ending {
	case ".go":
		return backquoted(text)
	case ".md":
		return tablesAndCode(text)
	}
	return nil
}

// tablesAndCode returns the numbers of the lines of tables and of blocks of code between fences.
func tablesAndCode(text []byte) map[int]bool {
	lines := map[int]bool{}
	code := false
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimLeft(line, " >")
		fence := strings.HasPrefix(line, "```")
		code = code != fence
		lines[i+1] = code || fence || strings.HasPrefix(line, "|")
	}
	return lines
}

// backquoted returns the numbers of the lines that text in backquotes has a part of.
func backquoted(text []byte) map[int]bool {
	lines := map[int]bool{}
	file := token.NewFileSet().AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, 0)
	for {
		switch at, kind, literal := s.Scan(); {
		case kind == token.EOF:
			return lines
		case kind == token.STRING && literal[0] == '`':
			first := file.Line(at)
			for n := range strings.Count(literal, "\n") + 1 {
				lines[first+n] = true
			}
		}
	}
}

// untidiness says where a file is not tidy and why, or nothing.
func untidiness(ending string, text []byte) string {
	if ending == ".go" {
		formatted, err := format.Source(text)
		switch {
		case err != nil:
			return ": " + err.Error()
		case !bytes.Equal(formatted, text):
			return ": gofmt -w changes it"
		}
		return wideLine(text, unbreakable(ending, text))
	}
	for i, line := range bytes.Split(text, []byte("\n")) {
		switch {
		case bytes.HasSuffix(line, []byte("\r")):
			return fmt.Sprintf(":%d: a carriage return ends the line", i+1)
		case bytes.HasSuffix(line, []byte(" ")), bytes.HasSuffix(line, []byte("\t")):
			return fmt.Sprintf(":%d: blanks end the line", i+1)
		case ending == ".java" && bytes.Contains(line, []byte("\t")):
			return fmt.Sprintf(":%d: a tab; Java is indented with spaces here", i+1)
		}
	}
	if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
		return ": the last line does not end"
	}
	if slices.Contains(narrow, ending) {
		return wideLine(text, unbreakable(ending, text))
	}
	return ""
}
