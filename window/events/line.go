package events

import (
	"encoding/json"
	"strings"
	"unicode"
)

// Stream are the labels under which a Loki has an event, apart from others; Line is the rest of it.
type Stream struct{ Cluster, Node, Kind, Severity string }

// Stream returns the event's.
func (e *Event) Stream() Stream {
	return Stream{e.Cluster, e.Node.String(), e.Kind, e.Severity.String()}
}

// Line returns the event's text with its labels behind it as logfmt.
func (e *Event) Line() string {
	var b strings.Builder
	b.WriteString(e.Text)
	for _, l := range e.Labels {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(l.Name)
		b.WriteByte('=')
		b.WriteString(logfmt(l.Value))
	}
	return b.String()
}

// logfmt returns a value as logfmt has it: in quotes where it would end or confuse a reader.
func logfmt(value string) string {
	odd := func(r rune) bool {
		return r == '"' || r == '=' || r == '\\' || unicode.IsSpace(r) || !unicode.IsPrint(r)
	}
	if value != "" && !strings.ContainsFunc(value, odd) {
		return value
	}
	quoted, _ := json.Marshal(value) // strings always can be
	return string(quoted)
}
