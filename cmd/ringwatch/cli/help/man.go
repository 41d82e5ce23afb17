package help

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// ManCmd is ringwatch man.
type ManCmd struct {
	Dir string `arg:"" help:"The folder. It is made if it is not there." type:"dir"`
}

// Help implements kong.HelpProvider.
func (*ManCmd) Help() string {
	return "Writes a page for each command, of what --help says. They are plain man pages: a " +
		"package puts them into /usr/share/man/man1.\n\n" +
		"Example: ringwatch man /usr/local/share/man/man1\n\nExample: ringwatch man pages && man " +
		"-l pages/ringwatch-series.1"
}

// Run implements the command.
func (c *ManCmd) Run(k *kong.Context) error {
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return err
	}
	var errs []error
	pages := ManPages(k.Model)
	for name, text := range pages {
		errs = append(errs, os.WriteFile(filepath.Join(c.Dir, name), []byte(text), 0o644))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	_, err := fmt.Printf("%d pages: man -l %s\n", len(pages), filepath.Join(c.Dir, "ringwatch.1"))
	return err
}

// ManPages returns the pages by their files' names.
func ManPages(app *kong.Application) map[string]string {
	pages := map[string]string{}
	var visit func(*kong.Node)
	visit = func(n *kong.Node) {
		if n.Hidden {
			return
		}
		pages[manName(n)+".1"] = manPage(n)
		for _, child := range n.Children {
			visit(child)
		}
	}
	visit(app.Node)
	return pages
}

// manName is ringwatch-key-create for the command ringwatch key create.
func manName(n *kong.Node) string { return strings.ReplaceAll(n.FullPath(), " ", "-") }

// manPage is one command's page in roff with man(7)'s macros, which every man reads.
func manPage(n *kong.Node) string {
	var p roff
	p.macro("TH", strings.ToUpper(manName(n)), "1", "", "Ringwatch", "Ringwatch's commands")
	p.section("NAME")
	p.line(manName(n) + " - " + strings.TrimSuffix(n.Help, "."))
	p.section("SYNOPSIS")
	p.bold(n.FullPath())
	p.line(strings.TrimPrefix(n.Summary(), n.Path()))

	help := n.Detail
	if n.DefaultCmd != nil && help == "" {
		help = n.DefaultCmd.Detail
	}
	detail, examples := splitHelp(help)
	p.section("DESCRIPTION")
	p.text(cmp.Or(detail, n.Help))
	if n.Parent == nil {
		p.text("Roles run until they are told to end; questions ask the API of a role. Each " +
			"command has a page of its own.")
	}
	if len(n.Children) > 0 {
		p.section("COMMANDS")
		group := ""
		for _, child := range n.Children {
			if child.Hidden {
				continue
			}
			if g := child.ClosestGroup(); n.Parent == nil && g != nil && g.Title != group {
				group = g.Title
				p.macro("SS", group)
			}
			p.tag(manName(child)+"(1)", child.Help)
		}
	}
	if len(n.Positional) > 0 {
		p.section("ARGUMENTS")
		for _, a := range n.Positional {
			p.tag(a.Summary(), a.Help+choices(a))
		}
	}
	p.section("OPTIONS")
	environment := p.flags(slices.Concat(n.AllFlags(true)...))
	if n.DefaultCmd != nil {
		p.text("Without a command, those of " + n.DefaultCmd.FullPath() + ", too:")
		environment = append(environment, p.flags(n.DefaultCmd.Flags)...)
	}
	if len(environment) > 0 {
		p.section("ENVIRONMENT")
		for _, e := range environment {
			p.tag(e[0], e[1])
		}
	}
	if len(examples) > 0 {
		p.section("EXAMPLES")
		for _, e := range examples {
			p.example(e)
		}
	}
	p.section("EXIT STATUS")
	p.text("0: done. 1: it failed; the last line on standard error says why. 2: called or " +
		"configured wrongly.")
	if n.FullPath() == "ringwatch rules check" {
		p.text("3: with --lint-fatal, oddities and no errors.")
	}
	p.section("SEE ALSO")
	p.line(strings.Join(related(n), ", "))
	return p.String()
}

// flags writes the options of a command and returns the environment variables that they read.
func (p *roff) flags(flags []*kong.Flag) (environment [][2]string) {
	for _, f := range flags {
		if f.Hidden {
			continue
		}
		text := f.Help + choices(f.Value)
		if f.Required {
			text += " It is required."
		}
		if f.HasDefault && f.Default != "" && f.PlaceHolder == "" {
			text += " The default is " + f.Default + "."
		}
		p.tag(f.String(), text)
		for _, e := range f.Envs {
			environment = append(environment, [2]string{e, "The same as --" + f.Name + "."})
		}
	}
	return environment
}

// choices says what a value may be, where its help does not.
func choices(v *kong.Value) string {
	var missing bool
	var list []string
	for _, one := range v.EnumSlice() {
		if one != "" {
			list = append(list, one)
			missing = missing || !strings.Contains(v.Help, one)
		}
	}
	if !missing {
		return ""
	}
	return " One of " + strings.Join(list, ", ") + "."
}

// splitHelp parts the paragraphs of a command's help from its examples.
func splitHelp(detail string) (text string, examples []string) {
	var paragraphs []string
	for paragraph := range strings.SplitSeq(detail, "\n\n") {
		if example, is := strings.CutPrefix(paragraph, "Example: "); is {
			examples = append(examples, example)
		} else if paragraph != "" {
			paragraphs = append(paragraphs, paragraph)
		}
	}
	return strings.Join(paragraphs, "\n\n"), examples
}

// related names the pages above, beside and below, of a command of its own those of the program.
func related(n *kong.Node) (list []string) {
	for up := n.Parent; up != nil; up = up.Parent {
		list = append(list, manName(up)+"(1)")
		if up.Parent == nil {
			break
		}
	}
	of := n
	if len(n.Children) == 0 && n.Parent != nil && n.Parent.Parent != nil {
		of = n.Parent
	}
	for _, child := range of.Children {
		if child != n && !child.Hidden {
			list = append(list, manName(child)+"(1)")
		}
	}
	return list
}
