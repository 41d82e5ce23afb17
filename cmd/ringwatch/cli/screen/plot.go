package screen

import (
	"io"
	"math"
	"os"
	"regexp"
	"strconv"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/guptarohit/asciigraph"
)

const (
	PlotWidth  = 72
	plotHeight = 10
)

// PlotColors are those of a plot's lines, again from the first if there are more.
var PlotColors = []asciigraph.AnsiColor{
	asciigraph.Blue, asciigraph.Red, asciigraph.Green,
	asciigraph.Yellow, asciigraph.Magenta, asciigraph.Cyan,
}

// Track is values over time.
type Track struct {
	At      []time.Time // ascending
	Samples []float64   // by at; NaN where there is none
}

// Place is the time between two of a plot's places.
func Place(first, last time.Time) time.Duration { return last.Sub(first) / (PlotWidth - 1) }

// Sample returns the track at PlotWidth places between two times: at each the newest value that is
// not older than patience; NaN where there is none.
func (t *Track) Sample(first, last time.Time, patience time.Duration) []float64 {
	line := make([]float64, PlotWidth)
	next := 0
	for i := range line {
		at := first.Add(time.Duration(i) * Place(first, last))
		if i == PlotWidth-1 {
			at = last // place is rounded down
		}
		for next < len(t.At) && !t.At[next].After(at) {
			next++
		}
		line[i] = math.NaN()
		for j := next - 1; j >= 0 && at.Sub(t.At[j]) <= patience; j-- {
			if !math.IsNaN(t.Samples[j]) {
				line[i] = t.Samples[j]
				break
			}
		}
	}
	return line
}

// Draw returns a picture of what sample returned, with the axes of value and time. It is empty if
// there is no number to draw or no time between first and last.
// It has colours if they may be on.
func Draw(
	lines [][]float64, first, last time.Time, label func(float64) string, colours bool,
	options ...asciigraph.Option,
) string {
	low, high := bounds(lines)
	height := high - low
	if math.IsInf(height, 0) || !last.After(first) { // no number: -Inf
		return ""
	}
	// The library is given numbers from 0 to 1, since it turns them into whole ones on its way:
	// infinite and huge ones would be no places in its picture.
	scaled := make([][]float64, len(lines))
	for i, line := range lines {
		for _, v := range line {
			switch {
			case math.IsInf(v, 0):
				v = math.NaN()
			case height == 0:
				v -= low // NaN stays
			default:
				v = (v - low) / height
			}
			scaled[i] = append(scaled[i], v)
		}
	}
	options = append(options,
		asciigraph.Height(plotHeight),
		asciigraph.YAxisValueFormatter(func(v float64) string { return label(low + v*height) }),
		asciigraph.XAxisRange(0, last.Sub(first).Seconds()),
		asciigraph.XAxisValueFormatter(func(seconds float64) string {
			at := first.Add(time.Duration(seconds * float64(time.Second)))
			return at.Local().Format(tickFormat(last.Sub(first)))
		}))
	if len(lines) > 1 {
		var used []asciigraph.AnsiColor
		for i := range lines {
			used = append(used, PlotColors[i%len(PlotColors)])
		}
		options = append(options, asciigraph.SeriesColors(used...))
	}
	picture := asciigraph.PlotMany(scaled, options...)
	if !colours {
		picture = colourCodes.ReplaceAllString(picture, "") // the library writes them unasked
	}
	return picture
}

// colourCodes is what a terminal takes for a colour.
var colourCodes = regexp.MustCompile(`\x1b\[[\d;]*m`)

// Colourful decides for all commands that print whether there may be colours in it: on a terminal
// that has them, unless the person wants none (no-color.org).
func Colourful(out io.Writer) bool {
	file, is := out.(*os.File)
	return is && ColourTerminal(term.IsTerminal(file.Fd()), os.Getenv)
}

// ColourTerminal reports whether a terminal takes colours.
func ColourTerminal(terminal bool, getenv func(string) string) bool {
	name := getenv("TERM")
	return terminal && getenv("NO_COLOR") == "" && name != "" && name != "dumb"
}

// bounds returns the least and the largest finite number; without any +Inf and -Inf.
func bounds(lines [][]float64) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, line := range lines {
		for _, v := range line {
			if !math.IsNaN(v) && !math.IsInf(v, 0) {
				low, high = min(low, v), max(high, v)
			}
		}
	}
	return low, high
}

// tickFormat is how the times below a plot are written: with what tells them apart.
func tickFormat(span time.Duration) string {
	switch {
	case span < 10*time.Minute:
		return time.TimeOnly
	case span < 24*time.Hour:
		return "15:04"
	case span < 10*24*time.Hour:
		return "01-02 15:04"
	}
	return time.DateOnly
}

// PlainAxis returns how an axis of numbers without a unit is written: in few digits, unless these
// do not tell its places apart.
func PlainAxis(lines [][]float64) func(float64) string {
	low, high := bounds(lines)
	if low != high && high-low < 0.05*max(math.Abs(low), math.Abs(high)) {
		return func(v float64) string { return strconv.FormatFloat(v, 'g', 9, 64) }
	}
	return Short
}
