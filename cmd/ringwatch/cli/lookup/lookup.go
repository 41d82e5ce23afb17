// Package lookup has the command lookup, which reads rows of a table by key.
package lookup

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/screen"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
)

// LookupCmd is ringwatch lookup.
type LookupCmd struct {
	client.Flags
	Table    string   `arg:"" help:"The table, as keyspace.table: one that the API's configuration lists under lookup."`
	Keys     []string `arg:"" name:"key" optional:"" help:"Partition keys. Write a key of several columns as a JSON list or object: '[\"acme\", \"2026-11-20\"]'."`
	KeysFrom string   `help:"A file with more keys, one per line; - is standard input." placeholder:"FILE"`
	Columns  []string `help:"Only these columns." placeholder:"COLUMN"`
	Rows     int      `help:"At most so many rows of each key." placeholder:"N"`
	Class    string   `help:"The workload class: bulk yields to all others." placeholder:"CLASS"`
	JSON     bool     `name:"json" help:"Print the API's JSON: a document for each 1000 keys."`
}

// Help implements kong.HelpProvider.
func (*LookupCmd) Help() string {
	return "Shows rows of a table by their partition keys. They are read straight from the nodes " +
		"that own them. The exit code is 1 if a key could not be read. A key without rows is not " +
		"a failure.\n\n" +
		"Example: ringwatch lookup shop.items 17 18 --columns name,price\n\n" +
		"Example: ringwatch lookup shop.orders --keys-from keys.txt --class bulk"
}

// keysAtOnce is how many keys one request has: what the API allows if its configuration says
// nothing else.
const keysAtOnce = 1000

// lookupRequest is the body of POST /v1/lookup.
type lookupRequest struct {
	Keys    []json.RawMessage `json:"keys"`
	Columns []string          `json:"columns,omitempty"`
	Rows    int               `json:"rows,omitempty"`
	Class   string            `json:"class,omitempty"`
}

// lookupResult is what it answers of a key.
type lookupResult struct {
	Key   json.RawMessage
	Found bool
	Rows  []json.RawMessage
	More  bool
	Error *struct{ Message string }
}

// Run implements the command.
func (c *LookupCmd) Run(ctx context.Context) error { return c.RunTo(ctx, os.Stdin, os.Stdout) }

// RunTo is Run for another output than the process has.
func (c *LookupCmd) RunTo(ctx context.Context, in io.Reader, out io.Writer) error {
	keyspace, table, ok := strings.Cut(c.Table, ".")
	if !ok {
		return exit.Usage(fmt.Errorf("%q is not a table: write keyspace.table", c.Table))
	}
	keys, err := c.keys(in)
	if err != nil {
		return err
	}
	api, err := c.Client()
	if err != nil {
		return err
	}
	path := "/v1/lookup/" + url.PathEscape(keyspace) + "/" + url.PathEscape(table)
	var results []lookupResult
	failed := 0
	for some := range slices.Chunk(keys, keysAtOnce) {
		body, err := api.Post(ctx, path, lookupRequest{some, c.Columns, c.Rows, c.Class})
		if err != nil {
			return err
		}
		var answer struct {
			Failed  int
			Results []lookupResult
		}
		if err := json.Unmarshal(body, &answer); err != nil {
			return fmt.Errorf("the API's answer cannot be read (%w): use a program of the API's "+
				"version", err)
		}
		failed += answer.Failed
		if !c.JSON {
			results = append(results, answer.Results...)
		} else if _, err := out.Write(screen.PlainJSON(body)); err != nil {
			return err
		}
	}
	if !c.JSON {
		if err := printRows(out, results); err != nil {
			return err
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d keys could not be read", failed, len(keys))
	}
	return nil
}

// keys returns those of the command line and of the file.
func (c *LookupCmd) keys(in io.Reader) ([]json.RawMessage, error) {
	var keys []json.RawMessage
	for _, text := range c.Keys {
		keys = append(keys, KeyJSON(text))
	}
	if c.KeysFrom != "" {
		if c.KeysFrom != "-" {
			f, err := os.Open(c.KeysFrom)
			if err != nil {
				return nil, exit.Usage(fmt.Errorf("--keys-from: %w", err))
			}
			defer f.Close()
			in = f
		}
		lines := bufio.NewScanner(in)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			if text := strings.TrimSpace(lines.Text()); text != "" {
				keys = append(keys, KeyJSON(text))
			}
		}
		if err := lines.Err(); err != nil {
			return nil, fmt.Errorf("--keys-from: %w", err)
		}
	}
	if len(keys) == 0 {
		return nil, exit.Usage(errors.New("the command has no keys: name some, or use --keys-from"))
	}
	return keys, nil
}

// KeyJSON is a key as a person types it: JSON if it is a list, an object or a string in quotes,
// else its text, which the API takes for every type.
func KeyJSON(text string) json.RawMessage {
	if strings.ContainsAny(text[:min(1, len(text))], `[{"`) && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	b, err := json.Marshal(text)
	if err != nil {
		panic(err) // no string fails
	}
	return b
}

// printRows prints a table: a line for each row, and one for a key without any.
func printRows(out io.Writer, results []lookupResult) error {
	var columns []string
	for _, r := range results {
		if len(r.Rows) > 0 { // all have the same
			var err error
			if columns, _, err = members(r.Rows[0]); err != nil {
				return err
			}
			break
		}
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, strings.Join(append([]string{"KEY"}, columns...), "\t"))
	for _, r := range results {
		key := Cell(r.Key)
		switch {
		case r.Error != nil:
			fmt.Fprintf(t, "%s\tfailed: %s\n", key, screen.Plain(r.Error.Message))
		case !r.Found:
			fmt.Fprintf(t, "%s\tnot found\n", key)
		}
		for _, row := range r.Rows {
			_, values, err := members(row)
			if err != nil {
				return err
			}
			fmt.Fprintln(t, strings.Join(append([]string{key}, values...), "\t"))
		}
		if r.More {
			fmt.Fprintf(t, "%s\t… and more rows\n", key)
		}
	}
	return t.Flush()
}

// members returns the names and values of a JSON object in their order.
func members(object json.RawMessage) (names, values []string, err error) {
	d := json.NewDecoder(bytes.NewReader(object))
	if _, err = d.Token(); err != nil {
		return nil, nil, err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, nil, err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, nil, err
		}
		names, values = append(names, screen.Plain(fmt.Sprint(name))), append(values, Cell(value))
	}
	return names, values, nil
}

// Cell is a JSON value for a table: strings as they are, all else as JSON.
func Cell(value json.RawMessage) string {
	var text string
	if len(value) > 0 && value[0] == '"' && json.Unmarshal(value, &text) == nil {
		return screen.Plain(text)
	}
	return screen.Plain(string(value))
}
