package cassandra

import (
	"errors"
	"strings"
	"testing"

	"github.com/ringwatch/ringwatch/store/rows"
)

func TestCompareReplication(t *testing.T) {
	simple := func(n string) map[string]string {
		return map[string]string{"class": "org.apache.cassandra.locator.SimpleStrategy",
			"replication_factor": n}
	}
	topology := func(pairs ...string) map[string]string {
		m := map[string]string{"class": "org.apache.cassandra.locator.NetworkTopologyStrategy"}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i]] = pairs[i+1]
		}
		return m
	}
	short := func(m map[string]string) map[string]string {
		m["class"] = m["class"][strings.LastIndex(m["class"], ".")+1:]
		return m
	}
	for i, c := range []struct {
		have, want    map[string]string
		more, refused bool
	}{
		{simple("1"), short(simple("1")), false, false},
		{simple("1"), short(simple("3")), true, false},
		{simple("3"), short(simple("1")), false, true},
		{topology("a", "3"), short(simple("1")), false, false}, // an operator's own
		{simple("3"), short(topology("a", "3")), false, true},
		{topology("a", "3"), short(topology("a", "3")), false, false},
		{topology("a", "3/1"), short(topology("a", "3")), false, false},
		{topology("a", "3"), short(topology("a", "3", "b", "3")), true, false},
		{topology("a", "3", "b", "3"), short(topology("a", "3")), false, true},
		{topology("a", "3", "b", "3"), short(topology("a", "3", "b", "2")), false, true},
	} {
		more, err := compareReplication("k", c.have, c.want)
		if (more != "") != c.more || (err != nil) != c.refused ||
			err != nil && !errors.Is(err, rows.ErrLoss) {
			t.Errorf("case %d: more %q, %v", i, more, err)
		}
	}
}
