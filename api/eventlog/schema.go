package eventlog

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/window/events"
)

// A change of a cluster's schema is told by each of its nodes: people want to read of it once.

// changeSpan is within how much time what nodes say of the schema is of one change.
const changeSpan = time.Minute

// change is one of a cluster's schema, and who said so.
type change struct {
	first int // its oldest event, by its place in a list
	by    map[uuid.UUID]bool
}

// repeatedChanges looks for changes of the schema in a page. Of what nodes told of one within a
// minute it returns the oldest event with the ids of the others, by its place, and says of the
// others that they tell it again. A node that says the same twice tells of two changes.
func repeatedChanges(page []events.Event) (repeats []bool, repeatedBy map[int][]string) {
	order := make([]int, len(page))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(page[a].At, page[b].At) })
	repeats, repeatedBy = make([]bool, len(page)), map[int][]string{}
	changes := map[string][]change{} // by what is said, those of the last minute
	for _, i := range order {
		e := &page[i]
		if e.Kind != "schema" {
			continue
		}
		text := fmt.Sprintf("%q %q %q", e.Cluster, e.Labels, e.Text)
		list := slices.DeleteFunc(changes[text], func(c change) bool {
			return e.At-page[c.first].At > changeSpan.Milliseconds()
		})
		at := slices.IndexFunc(list, func(c change) bool { return !c.by[e.Node] })
		if at < 0 {
			changes[text] = append(list, change{i, map[uuid.UUID]bool{e.Node: true}})
			continue
		}
		changes[text] = list
		list[at].by[e.Node] = true
		repeatedBy[list[at].first] = append(repeatedBy[list[at].first], e.ID().String())
		repeats[i] = true
	}
	return repeats, repeatedBy
}
