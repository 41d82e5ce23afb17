package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// TestDocumentedCommandsExist: each `ringwatch …` of a document names a command that there is, and
// flags that it has. What stands in a code block can be typed as it is.
func TestDocumentedCommandsExist(t *testing.T) {
	var files []string
	for _, pattern := range []string{"../../*.md", "../../docs/*.md", "../../docs/runbooks/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	typed := 0
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		blocks, prose := splitShell(string(b))
		for _, command := range typedCommands(blocks) {
			typed++
			if showsChoice(command) { // shows a choice, cannot be typed
				err = commandNamesExist(command)
			} else {
				err = canBeTyped(command)
			}
			if err != nil {
				t.Errorf("%s: ringwatch %s: %v", file, strings.Join(command, " "), err)
			}
		}
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(prose, -1) {
			text := strings.TrimPrefix(m[1], "bin/")
			if !strings.HasPrefix(text, "ringwatch ") {
				continue
			}
			for _, command := range typedCommands(strings.ReplaceAll(text, "\n", " ")) {
				if err := commandNamesExist(command); err != nil {
					t.Errorf("%s: `%s`: %v", file, m[1], err)
				}
			}
		}
	}
	if typed < 20 {
		t.Errorf("only %d commands were found in code blocks", typed)
	}
}

// splitShell returns a document's blocks of shell and the rest. Indented lines are blocks, too.
func splitShell(text string) (blocks, prose string) {
	in, shell, prompt := false, false, false
	for line := range strings.Lines(text) {
		if fence, ok := strings.CutPrefix(strings.TrimSpace(line), "```"); ok {
			in, shell = !in, fence == "" || fence == "sh" || fence == "bash" || fence == "console"
			prompt = false
			continue
		}
		// Behind a prompt's line come answers.
		asks := strings.HasPrefix(line, "$ ")
		prompt = in && (prompt || asks)
		switch {
		case prompt && !asks && !strings.HasSuffix(blocks, "\\\n"):
		case !in && strings.HasPrefix(line, "    "):
			blocks += line
		case !in:
			prose += line
		case shell:
			blocks += line
		}
	}
	return blocks, prose
}

var (
	lineContinues = regexp.MustCompile(`\\\n\s*`)
	// A command begins a line, or follows what a shell begins another one after.
	commandBegins = regexp.MustCompile(
		`(?m)(?:^|\$\(|[|;&]|\bsudo|\w+=\S*)[ \t]*(?:\$ )?(?:\./|bin/|[\w/]*/)?ringwatch (.*)$`)
)

// typedCommands returns the words of each call of ringwatch in a text of shell.
func typedCommands(text string) (list [][]string) {
	for _, m := range commandBegins.FindAllStringSubmatch(lineContinues.ReplaceAllString(text, " "),
		-1) {
		list = append(list, shellWords(m[1]))
	}
	return list
}

// shellWords splits a command as a shell does, up to where it ends.
func shellWords(text string) (list []string) {
	var word strings.Builder
	open, quote := false, rune(0)
	end := func() {
		if open {
			list = append(list, word.String())
		}
		word.Reset()
		open = false
	}
	for _, r := range text {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			} else {
				word.WriteRune(r)
			}
		case r == '\'' || r == '"':
			quote, open = r, true
		case r == ' ' || r == '\t':
			end()
		case strings.ContainsRune("|;&><)", r), r == '#' && !open:
			end()
			return list
		default:
			word.WriteRune(r)
			open = true
		}
	}
	end()
	return list
}

func showsChoice(command []string) bool {
	text := strings.Join(command, " ")
	return strings.Contains(text, "…") || strings.Contains(text, "[-") ||
		strings.Contains(text, "...")
}

func newKong() (*kong.Kong, error) {
	var c cli
	return kong.New(&c, kong.Name("ringwatch"), kong.Vars{"version": "test"},
		kong.Exit(func(int) {}), kong.Writers(io.Discard, io.Discard))
}

// canBeTyped says what is wrong with a command that can be typed.
func canBeTyped(command []string) error {
	if len(command) == 0 || strings.HasPrefix(command[len(command)-1], "--help") ||
		command[0] == "--version" {
		return commandNamesExist(command)
	}
	k, err := newKong()
	if err != nil {
		return err
	}
	_, err = k.Parse(command)
	return err
}

type noSuchName struct{ what, name string }

func (u noSuchName) Error() string { return "there is no " + u.what + " " + u.name }

// commandNamesExist looks up a command's name and its flags.
func commandNamesExist(command []string) error {
	k, err := newKong()
	if err != nil {
		return err
	}
	node := k.Model.Node
	for _, word := range command {
		if strings.HasPrefix(word, "--") {
			name, _, _ := strings.Cut(strings.TrimPrefix(word, "--"), "=")
			known := name == "help"
			for _, group := range node.AllFlags(false) {
				for _, f := range group {
					known = known || f.Name == name || f.Tag.Negatable != "" && "no-"+f.Name == name
				}
			}
			if !known {
				return noSuchName{"flag", word}
			}
			continue
		}
		var child *kong.Node
		for _, c := range node.Children {
			if c.Name == word {
				child = c
			}
		}
		if child != nil {
			node = child
		} else if node == k.Model.Node && regexp.MustCompile(`^[a-z]+$`).MatchString(word) {
			return noSuchName{"command", word}
		}
	}
	return nil
}
