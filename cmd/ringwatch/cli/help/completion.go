// Package help is for who types commands: completion in shells, and man pages. Both follow from the
// commands themselves.
package help

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/screen"
)

// Completion has two halves. A shell's script, which CompletionCmd prints, hands the words of the
// line to the hidden command __complete; that one answers with a candidate a line, and does all the
// thinking. So the scripts know no command, and an older script goes with a newer program. kong's
// own add-ons for completion would be a module more and ask no API.

//go:embed completion.bash
var bashScript string

//go:embed completion.zsh
var zshScript string

//go:embed completion.fish
var fishScript string

// CompletionCmd is ringwatch completion.
type CompletionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Help implements kong.HelpProvider.
func (*CompletionCmd) Help() string {
	return "Prints the script that completes ringwatch's commands in a shell: commands and " +
		"flags, and from the API " +
		"nodes, clusters, metrics, tables, rule files and names of the catalogue. The API and " +
		"the key are those " +
		"that the line or the environment names. Without an API there is silence, after a second " +
		"at most.\n\n" +
		"Example: source <(ringwatch completion bash)\n\n" +
		"Example: ringwatch completion zsh > ~/.zfunc/_ringwatch # with ~/.zfunc in fpath, " +
		"before compinit\n\n" +
		"Example: ringwatch completion fish > ~/.config/fish/completions/ringwatch.fish"
}

// Run implements the command.
func (c *CompletionCmd) Run() error {
	script := map[string]string{"bash": bashScript, "zsh": zshScript, "fish": fishScript}[c.Shell]
	_, err := io.WriteString(os.Stdout, script)
	return err
}

// CompleteCmd is what the scripts call. Its words are the shell's name and then, of zsh and fish,
// the words of the line up to the one that is being typed, which may be empty; of bash, its
// COMP_WORDBREAKS and the line up to the cursor.
//
// It prints a line for each candidate: for bash what takes the place of the word, for the others
// the word, a tab and what it is. The one line ":files" says that a file's name is wanted.
type CompleteCmd struct {
	Words []string `arg:"" optional:""`
}

// Run implements the command. It has no errors: nobody would see them.
func (c *CompleteCmd) Run(ctx context.Context, k *kong.Context) error {
	if len(c.Words) > 0 {
		fmt.Print(Completion(ctx, k.Model.Node, c.Words[0], c.Words[1:]))
	}
	return nil
}

// Completion returns what CompleteCmd prints.
func Completion(ctx context.Context, app *kong.Node, shell string, words []string) string {
	var typed bashLine
	if shell == "bash" {
		if len(words) != 2 {
			return ""
		}
		typed = splitBash(words[1], words[0])
		words = typed.words
	}
	if len(words) == 0 {
		return ""
	}
	line := readLine(app, words[:len(words)-1])
	found, files := line.candidates(ctx, words[len(words)-1])
	if files {
		return ":files\n"
	}
	var out strings.Builder
	for _, c := range found {
		switch {
		case screen.Plain(c.text) != c.text: // what a terminal would obey is nothing to type
		case shell == "bash":
			fmt.Fprintln(&out, typed.replacement(c.text))
		default:
			fmt.Fprintf(&out, "%s\t%s\n", c.text, screen.Plain(c.about))
		}
	}
	return out.String()
}
