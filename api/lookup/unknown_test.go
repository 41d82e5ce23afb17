package lookup

import (
	"errors"
	"net/http"
	"strings"
	"testing"
)

// TestUnknownTable: a table that a key may not look up, or that is not there, is refused with those
// that it may, and the nearest of them.
func TestUnknownTable(t *testing.T) {
	l := &Lookup{tables: map[string]*Table{
		"shop.items":   {Table: "shop.items", Accounts: []string{"acme"}},
		"shop.orders":  {Table: "shop.orders", Accounts: []string{"acme"}},
		"shop.secrets": {Table: "shop.secrets", Accounts: []string{"other"}},
	}}
	for _, c := range []struct{ account, table, want string }{
		{"acme", "item", "did you mean shop.items? There are shop.items, shop.orders"},
		{"acme", "secrets", "There are shop.items, shop.orders"},
		{"other", "items", "use shop.secrets, the only one"},
		{"third", "items", "there is none yet"},
	} {
		err := l.Read(t.Context(), &Query{Account: c.account, Keyspace: "shop", Table: c.table},
			nil)
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Status != http.StatusNotFound || e.Reason != "unknown_table" {
			t.Fatal(c.table, err)
		}
		if c.table == "secrets" {
			e.Message = strings.Replace(e.Message, "use one of ", "There are ", 1)
		}
		if !strings.Contains(e.Message, c.want) {
			t.Errorf("%s of %s: %s", c.table, c.account, e.Message)
		}
	}
}
