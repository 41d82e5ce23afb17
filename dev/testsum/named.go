package main

import (
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// mentions are the endings of the files whose words a comment may name: code, what configures it,
// and documents.
var mentions = []string{".java", ".ts", ".tsx", ".mjs", ".yaml", ".yml", ".json", ".md"}

// mostMentioned is the largest file, bytes, that is read for its words.
const mostMentioned = 2 << 20

var (
	anyWord = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)
	// camelCase is how a private name of Go looks, and no word of English.
	camelCase = regexp.MustCompile(`\b[a-z][a-z0-9]*[A-Z]+[a-z][A-Za-z0-9]*\b`)
)

// unnamed returns a line for each word in camel case that a comment in Go has and nothing else
// below root: it names what went or was never there.
func unnamed(root string) string {
	type mention struct{ where, word string }
	words := map[string]bool{}
	var mentioned []mention
	err := eachFile(root, func(path string, d fs.DirEntry) error {
		ending := filepath.Ext(path)
		if ending != ".go" && !slices.Contains(mentions, ending) {
			return nil
		}
		if info, err := d.Info(); err != nil || info.Size() > mostMentioned {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		code, comments := string(text), []string(nil)
		if ending == ".go" {
			code, comments = codeAndComments(text)
		}
		for _, word := range anyWord.FindAllString(code, -1) {
			words[word] = true
		}
		for _, comment := range comments {
			for _, word := range camelCase.FindAllString(comment, -1) {
				mentioned = append(mentioned, mention{path, word})
			}
		}
		return nil
	})
	if err != nil {
		return err.Error()
	}
	var said []string
	for _, m := range mentioned {
		if !words[m.word] {
			said = append(said, fmt.Sprintf("%s: a comment names %s, which nothing else does",
				m.where, m.word))
		}
	}
	return strings.Join(slices.Compact(said), "\n")
}

// codeAndComments takes a file of Go apart: its names and texts, and its comments.
func codeAndComments(text []byte) (code string, comments []string) {
	var names strings.Builder
	file := token.NewFileSet().AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, scanner.ScanComments)
	for {
		switch _, kind, literal := s.Scan(); kind {
		case token.EOF:
			return names.String(), comments
		case token.COMMENT:
			comments = append(comments, literal)
		case token.IDENT, token.STRING:
			names.WriteString(literal)
			names.WriteByte('\n')
		}
	}
}
