package cassandra

import (
	"fmt"
	"strings"
)

// Grant is a right on the keyspace, on a table of it, or on Cassandra's own views.
type Grant struct {
	Right Right
	Table string // "": the whole keyspace
	Views bool   // Cassandra's views of itself, instead of the keyspace
}

// Right is what a role of Cassandra's may do.
type Right string

// The rights.
const (
	Select Right = "SELECT"
	Modify Right = "MODIFY"
	Create Right = "CREATE"
	Alter  Right = "ALTER"
	Drop   Right = "DROP"
)

// Grants returns the statements that give a role these rights.
func (s *Session) Grants(role string, list ...Grant) []string {
	role = `"` + strings.ReplaceAll(role, `"`, `""`) + `"`
	var statements []string
	for _, g := range list {
		on := "KEYSPACE " + s.config.Keyspace
		switch {
		case g.Views:
			on = "KEYSPACE system_views"
		case g.Table != "":
			on = "TABLE " + s.Name(g.Table)
		}
		statements = append(statements, fmt.Sprintf("GRANT %s ON %s TO %s;", g.Right, on, role))
	}
	return statements
}
