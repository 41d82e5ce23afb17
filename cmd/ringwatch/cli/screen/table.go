package screen

import (
	"io"
	"strings"
	"unicode/utf8"
)

// Width is how many places a text takes on the screen, as text/tabwriter counts them.
func Width(text string) int { return utf8.RuneCountInString(text) }

// ScreenColumns is how wide a table is that nobody asked to be wider.
const ScreenColumns = 100

// Fit shortens the cells of the widest columns until lines have so many columns at most. The middle
// goes: names differ at their ends.
func Fit(heads []string, rows [][]string, columns int) {
	widths := make([]int, len(heads))
	sum := 2 * (len(heads) - 1)
	for i := range heads {
		widths[i] = Width(heads[i])
		for _, row := range rows {
			widths[i] = max(widths[i], Width(row[i]))
		}
		sum += widths[i]
	}
	for ; sum > columns; sum-- {
		widest := 0
		for i := range widths {
			if widths[i] > widths[widest] {
				widest = i
			}
		}
		widths[widest]--
	}
	for _, row := range rows {
		for i, cell := range row {
			if runes, most := []rune(cell), widths[i]; len(runes) > most {
				row[i] = string(runes[:most/2]) + "…" + string(runes[len(runes)-(most-1)/2:])
			}
		}
	}
}

// WriteTable aligns the first columns to the left and the others, which are numbers, to the right.
func WriteTable(out io.Writer, heads []string, left int, rows [][]string) error {
	widths := make([]int, len(heads))
	rows = append([][]string{heads}, rows...)
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], Width(cell))
		}
	}
	var sb strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			if i > 0 {
				line.WriteString("  ")
			}
			padding := strings.Repeat(" ", widths[i]-Width(cell))
			if i < left {
				line.WriteString(cell + padding)
			} else {
				line.WriteString(padding + cell)
			}
		}
		sb.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	_, err := io.WriteString(out, sb.String())
	return err
}
