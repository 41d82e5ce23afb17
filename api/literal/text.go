// Package literal writes the numbers, texts and times that answers are made of, and says how long a
// text becomes. Of our packages it imports frame and window.
//
// What it promises: a number that was measured keeps its exact decimal digits. A text is written as
// encoding/json writes it, and costs nothing where it needs no escapes.
package literal

import (
	"encoding/json"
	"time"

	"github.com/prometheus/prometheus/model/labels"
)

// plain reports whether encoding/json writes a text as it is: it also escapes what HTML would read.
func plain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' ||
			c == '&' {
			return false
		}
	}
	return true
}

// AppendString appends text as JSON, as encoding/json does.
func AppendString(dst []byte, text string) []byte {
	if plain(text) {
		return append(append(append(dst, '"'), text...), '"')
	}
	b, err := json.Marshal(text)
	if err != nil {
		panic(err) // no string fails
	}
	return append(dst, b...)
}

// StringBytes returns what a text takes in JSON without its quotes, where a control character
// becomes six bytes.
func StringBytes(text string) int64 {
	if plain(text) {
		return int64(len(text))
	}
	n := int64(0)
	for i := range len(text) {
		switch c := text[i]; {
		case c < ' ' || c == 0x7f || c == '<' || c == '>' || c == '&':
			n += 6
		case c >= 0x80:
			n += 2 // of three bytes U+2028 makes six
		case c == '"' || c == '\\':
			n += 2
		default:
			n++
		}
	}
	return n
}

// LabelsBytes returns what labels take in JSON, and nearly the same in exposition text.
func LabelsBytes(l labels.Labels) (n int64) {
	l.Range(func(l labels.Label) { n += int64(len(l.Name)) + StringBytes(l.Value) + 6 })
	return n
}

// TimeFormat is RFC 3339 with milliseconds, always in UTC.
const TimeFormat = "2006-01-02T15:04:05.000Z"

// Time is an instant, in ms since 1970, as text.
func Time(at int64) string { return time.UnixMilli(at).UTC().Format(TimeFormat) }

// TimeOrNone is an instant as text; empty if it is zero.
func TimeOrNone(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(TimeFormat)
}
