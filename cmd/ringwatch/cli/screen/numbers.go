package screen

import (
	"math"
	"strconv"
)

// Dash is text, or a dash where there is none.
func Dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// Number reads a number of an answer; what is not there or no number is NaN.
func Number(text string) float64 {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return math.NaN()
	}
	return v
}

// Human writes a number in few characters, with its unit where that has a short form.
func Human(v float64, unit string) string {
	switch {
	case math.IsNaN(v):
		return "-"
	case unit == "seconds" && v != 0 && math.Abs(v) < 1e-3:
		return Short(v*1e6) + "µs"
	case unit == "seconds" && v != 0 && math.Abs(v) < 1:
		return Short(v*1e3) + "ms"
	case unit == "seconds":
		return Short(v) + "s"
	case unit == "bytes":
		for _, u := range []string{"B", "KiB", "MiB", "GiB", "TiB"} {
			if math.Abs(v) < 1024 || u == "TiB" {
				return Short(v) + u
			}
			v /= 1024
		}
	}
	return Short(v)
}

// SixDigits writes a number of an answer for people: whole as it is, else with six digits that
// matter. What is no number stays as it is.
func SixDigits(text string) string {
	v, err := strconv.ParseFloat(text, 64)
	a := math.Abs(v)
	switch {
	case err != nil || math.IsInf(v, 0) || math.IsNaN(v):
		return Plain(text)
	case a >= 1e15:
		return strconv.FormatFloat(v, 'g', 6, 64)
	case a >= 1e5:
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}

// Short writes a number with about four digits.
func Short(v float64) string {
	a := math.Abs(v)
	switch {
	case a >= 1e15:
		return strconv.FormatFloat(v, 'e', 2, 64)
	case a >= 1000 || v == math.Trunc(v):
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 100:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case a >= 10:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}
