package engines

import (
	"strings"
	"testing"
)

// That each version starts is what agent's tests need and see.

func TestUnknownCassandra(t *testing.T) {
	_, err := StartCassandra(t.Context(), CassandraConfig{Dir: t.TempDir(), Version: "3.11.19"})
	oneSentence(t, err, "3.11.19", "4.0.19, 4.1.10, 5.0.9, 6.0-alpha2")
}

func TestLocksOfOtherVersions(t *testing.T) {
	for _, b := range otherCassandras() {
		entries, err := parseLock(b.lock)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, e := range entries {
			found = found || e.file == "cassandra-all-"+b.version+".jar"
		}
		if !found || !strings.Contains(string(b.pom), "<version>"+b.version+"</version>") {
			t.Errorf("%s.pom.xml and its lock do not name version %s", b.files, b.version)
		}
	}
}
