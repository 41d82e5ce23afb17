package apitest

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/api/lookup"
)

// Tables is a Lookup that lives in memory: by account, by keyspace.table, by the key's JSON, a
// JSON list of rows, or ! and why it cannot be read. Its tables have the columns id and name.
type Tables map[string]map[string]map[string]string

// Read is a lookup.Read. It answers the last key first.
func (t Tables) Read(_ context.Context, q *lookup.Query,
	take func(i int, a lookup.Answer)) error {
	table, found := t[q.Account][q.Keyspace+"."+q.Table]
	if !found {
		return &listener.Error{Status: http.StatusNotFound, Reason: "unknown_table", Field: "table",
			Message: "there is no such table"}
	}
	for _, c := range q.Columns {
		if c != "id" && c != "name" {
			return &listener.Error{Status: http.StatusBadRequest, Reason: "unknown_column",
				Field: "columns", Message: "there is no such column: there are id, name"}
		}
	}
	if len(q.Keys) == 0 || len(q.Keys) > 1000 {
		return &listener.Error{Status: http.StatusBadRequest, Reason: "too_many_keys",
			Field:   "keys",
			Message: "there are 1 to 1000 keys"}
	}
	for i, key := range slices.Backward(q.Keys) {
		var compact bytes.Buffer
		if err := json.Compact(&compact, key); err != nil {
			return err
		}
		a := lookup.Answer{}
		if rows, found := table[compact.String()]; found {
			if why, failed := strings.CutPrefix(rows, "!"); failed {
				a.Err = &listener.Error{Status: http.StatusServiceUnavailable,
					Reason:  "unavailable",
					Message: why, RetryAfter: 1}
			} else {
				a.Rows = []byte(rows)
			}
		}
		take(i, a)
	}
	return nil
}
