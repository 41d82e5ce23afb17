package help

import (
	"context"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
)

// candidate is a word that may stand where somebody types, and what it is, in a few words.
type candidate struct{ text, about string }

// commandLine is what the words before the one being typed mean.
type commandLine struct {
	node  *kong.Node
	given map[string]string // flags by name, with their last value
	waits *kong.Flag        // that wants the next word
	args  int               // how many arguments the command has
	ended bool              // by --, after which there are no flags
}

// readLine follows the words through the commands.
func readLine(app *kong.Node, words []string) *commandLine {
	l := &commandLine{node: app, given: map[string]string{}}
	for _, word := range words {
		l.take(word)
	}
	return l
}

func (l *commandLine) take(word string) {
	switch {
	case l.waits != nil:
		l.given[l.waits.Name] = word
		l.waits = nil
	case !l.ended && word == "--":
		l.ended = true
	case !l.ended && strings.HasPrefix(word, "-") && len(word) > 1:
		l.takeFlag(word)
	default:
		if child := l.child(word); child != nil && l.args == 0 {
			l.node = child
		} else {
			l.args++
		}
	}
}

func (l *commandLine) takeFlag(word string) {
	name, value, has := strings.Cut(strings.TrimLeft(word, "-"), "=")
	for _, f := range l.flags() {
		switch short, size := utf8.DecodeRuneInString(word[1:]); {
		case strings.HasPrefix(word, "--"):
			if f.Name != name {
				continue
			}
		case f.Short != short:
			continue
		default:
			value, has = word[1+size:], len(word) > 1+size
		}
		l.given[f.Name] = value
		if !has && !f.IsBool() {
			l.waits = f
		}
		return
	}
}

func (l *commandLine) child(name string) *kong.Node {
	at := slices.IndexFunc(l.node.Children, func(n *kong.Node) bool {
		return n.Name == name && !n.Hidden
	})
	if at < 0 {
		return nil
	}
	return l.node.Children[at]
}

// flags are those that may stand here: the command's, those above it, and those of what it does
// without a subcommand.
func (l *commandLine) flags() []*kong.Flag {
	all := l.node.AllFlags(true)
	if l.node.DefaultCmd != nil {
		all = append(all, l.node.DefaultCmd.Flags)
	}
	return slices.Concat(all...)
}

// candidates returns what the word being typed may become, or that it is a file's name.
func (l *commandLine) candidates(ctx context.Context, word string) (found []candidate, files bool) {
	flagName, value, assigned := strings.Cut(word, "=")
	switch {
	case l.waits != nil:
		return l.values(ctx, l.waits.Value, "", word)
	case !l.ended && strings.HasPrefix(word, "--") && assigned:
		for _, f := range l.flags() {
			if "--"+f.Name == flagName {
				return l.values(ctx, f.Value, flagName+"=", value)
			}
		}
		return nil, false
	case !l.ended && strings.HasPrefix(word, "-"):
		return l.flagNames(word), false
	}
	if l.args == 0 {
		for _, child := range l.node.Children {
			if !child.Hidden && strings.HasPrefix(child.Name, word) {
				found = append(found, candidate{child.Name, firstSentence(child.Help)})
			}
		}
	}
	if args := l.node.Positional; len(args) > 0 {
		if last := len(args) - 1; l.args <= last || args[last].IsCumulative() {
			return l.values(ctx, args[min(l.args, last)], "", word)
		}
	}
	return found, false
}

// flagNames are the flags that begin so, without those that were given and can be given once.
func (l *commandLine) flagNames(word string) (found []candidate) {
	for _, f := range l.flags() {
		if _, given := l.given[f.Name]; given && !f.IsCumulative() {
			continue
		}
		if name := "--" + f.Name; strings.HasPrefix(name, word) {
			found = append(found, candidate{name, firstSentence(f.Help)})
		}
	}
	return found
}

// Values are what a flag or an argument may be. before is the part of the word that stays.
func (l *commandLine) values(
	ctx context.Context, v *kong.Value, before, word string,
) (found []candidate, files bool) {
	if v.IsSlice() && v.Flag != nil && v.Tag.Sep == ',' { // one after another
		if comma := strings.LastIndexByte(word, ','); comma >= 0 {
			before, word = before+word[:comma+1], word[comma+1:]
		}
	}
	switch subject, known := l.subject(v); {
	case v.Enum != "":
		for _, one := range v.EnumSlice() {
			if one != "" && strings.HasPrefix(one, word) {
				found = append(found, candidate{one, ""})
			}
		}
	case known:
		found = l.ask(ctx, subject, word)
	case namesFile(v):
		return nil, true
	}
	for i := range found {
		found[i].text = before + found[i].text
	}
	return found, false
}

// subject is what the API is asked for, by the name that a value has in every command.
func (l *commandLine) subject(v *kong.Value) (subject, bool) {
	if l.node.FullPath() == "ringwatch catalog" && v.Name == "name" {
		return catalogNames, true
	}
	if _, removes := l.given["remove"]; removes && v.Name == "file" {
		return ruleFiles, true
	}
	s, known := Subjects[v.Name]
	return s, known
}

// Ask asks the API that the line or the environment names. Whatever goes wrong, it is silent.
func (l *commandLine) ask(ctx context.Context, s subject, word string) []candidate {
	of := func(flag, env string) string {
		if text, given := l.given[flag]; given {
			return text
		}
		return os.Getenv(env)
	}
	flags := client.Flags{API: of("api", "RINGWATCH_API"), Key: of("key", "RINGWATCH_KEY"),
		TLSFlags: client.TLSFlags{
			CAFile:      of("ca-file", "RINGWATCH_CA_FILE"),
			CertFile:    of("cert-file", "RINGWATCH_CERT_FILE"),
			CertKeyFile: of("cert-key-file", "RINGWATCH_CERT_KEY_FILE"),
		}}
	api, err := flags.Client()
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, CompletionPatience)
	defer cancel()
	found, err := s(ctx, api, word)
	if err != nil {
		return nil
	}
	slices.SortFunc(found, func(a, b candidate) int { return strings.Compare(a.text, b.text) })
	return slices.CompactFunc(found, func(a, b candidate) bool { return a.text == b.text })
}

// namesFile says whether a value is the name of a file or a folder.
func namesFile(v *kong.Value) bool {
	return v.Tag.Type == "path" || v.Tag.Type == "dir" || v.Name == "file" || v.Name == "dir" ||
		strings.HasSuffix(v.Name, "-file") ||
		v.Flag != nil && v.Flag.PlaceHolder == "FILE"
}

// firstSentence is what a list of candidates has room for.
func firstSentence(help string) string {
	if end := strings.Index(help, ". "); end >= 0 {
		return help[:end]
	}
	return strings.TrimSuffix(help, ".")
}
