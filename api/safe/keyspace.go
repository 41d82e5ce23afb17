package safe

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

const networkTopology = "NetworkTopologyStrategy"

// keyspace is one whose data users or logins need.
type keyspace struct {
	name, strategy string
	// replicas by datacenter; of other strategies all under the empty name
	replicas map[string]int
}

// isOurs reports whether nobody but Cassandra itself reads a keyspace, at ONE. Roles and passwords
// are read at a quorum, or not at all.
func isOurs(keyspace string) bool {
	return keyspace == "system" ||
		strings.HasPrefix(keyspace, "system_") && keyspace != "system_auth"
}

// text says how many copies a keyspace has, and where.
func (k *keyspace) text() string {
	var list []string
	for _, datacenter := range slices.Sorted(maps.Keys(k.replicas)) {
		text := strconv.Itoa(k.replicas[datacenter])
		if datacenter != "" {
			text += " in " + datacenter
		}
		list = append(list, text)
	}
	return and(list)
}

func and(list []string) string {
	if n := len(list); n > 1 {
		return strings.Join(list[:n-1], ", ") + " and " + list[n-1]
	}
	return strings.Join(list, "")
}
