package report

import (
	"encoding/json"
	"io"
	"strings"
	"unicode/utf8"
)

// textWidth is what a line of text has at most.
const textWidth = 100

// WriteText writes the report for a terminal or a mail, in lines of 100 characters at most.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	what, when := r.title()
	b.WriteString(what + ", " + when + "\n\n")
	line := ""
	for _, t := range r.Summary() {
		part := t.Label + ": " + t.Value
		if line != "" && width(line)+3+width(part) > textWidth {
			b.WriteString(line + "\n")
			line = ""
		}
		if line != "" {
			line += "   "
		}
		line += part
	}
	b.WriteString(line + "\n")
	for _, s := range r.sections() {
		b.WriteString("\n" + strings.ToUpper(s.Title) + "\n")
		s.write(&b)
	}
	if text := r.lacks(); text != "" {
		b.WriteString("\n")
		wrap(&b, text)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteJSON writes all figures.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

func width(s string) int { return utf8.RuneCountInString(s) }

// leastColumn is what a column keeps when a table is too wide.
const leastColumn = 8

// write writes a section's table. Where it is too wide the widest columns are cut.
func (s *section) write(b *strings.Builder) {
	if len(s.Rows) > 0 {
		widths := make([]int, len(s.Columns))
		for i, c := range s.Columns {
			widths[i] = width(c.Name)
			for _, row := range s.Rows {
				widths[i] = max(widths[i], width(row[i].Text))
			}
		}
		for {
			sum, widest := 2*(len(widths)-1)+2, 0
			for i, n := range widths {
				sum += n
				if n > widths[widest] {
					widest = i
				}
			}
			if sum <= textWidth || widths[widest] <= leastColumn {
				break
			}
			widths[widest]--
		}
		head := make([]cell, len(s.Columns))
		for i, c := range s.Columns {
			head[i].Text = c.Name
		}
		for _, row := range append([][]cell{head}, s.Rows...) {
			line := " "
			for i, c := range row {
				line += " "
				if i > 0 {
					line += " "
				}
				line += pad(c.Text, widths[i], s.Columns[i].Right)
			}
			b.WriteString(strings.TrimRight(line, " ") + "\n")
		}
	}
	if s.Note != "" {
		wrap(b, s.Note)
	}
	for _, words := range s.Words {
		wrap(b, words)
	}
}

// pad makes a text as wide as its column.
func pad(text string, n int, right bool) string {
	if width(text) > n {
		return string([]rune(text)[:n-1]) + "…"
	}
	space := strings.Repeat(" ", n-width(text))
	if right {
		return space + text
	}
	return text + space
}

// wrap writes a sentence in lines.
func wrap(b *strings.Builder, text string) {
	line := " "
	for _, word := range strings.Fields(text) {
		if width(line)+1+width(word) > textWidth && line != " " {
			b.WriteString(line + "\n")
			line = " "
		}
		line += " " + pad(word, min(width(word), textWidth-2), false)
	}
	b.WriteString(line + "\n")
}
