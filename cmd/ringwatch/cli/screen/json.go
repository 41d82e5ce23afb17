package screen

import (
	"encoding/json"
	"io"
)

// PrintJSON prints a value as indented JSON.
func PrintJSON(out io.Writer, v any) error {
	e := json.NewEncoder(Writer{out})
	e.SetIndent("", "  ")
	return e.Encode(v)
}
