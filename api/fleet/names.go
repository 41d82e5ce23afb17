package fleet

import (
	"net/url"
	"strings"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/api/refusal"
	"github.com/ringwatch/ringwatch/window"
)

// Called returns the function that says how people call the node of an id.
func Called(nodes []window.Node) func(id string) string {
	names := make(map[string]string, len(nodes))
	for i := range nodes {
		names[nodes[i].ID.String()] = nodes[i].Name()
	}
	return func(id string) string {
		if name := names[id]; name != "" {
			return name
		}
		return id
	}
}

// NodeNamed returns the id of the node that node= means; empty: there is no such parameter.
func NodeNamed(nodes []window.Node, values url.Values) (string, error) {
	if !values.Has("node") {
		return "", nil
	}
	name := strings.ToLower(values.Get("node"))
	var found []string
	for i := range nodes {
		n := &nodes[i]
		id := n.ID.String()
		if id == name {
			return id, nil
		}
		if name != "" && isCalled(name, n.ID, n.Fact("address"), n.Fact("hostname")) {
			found = append(found, id)
		}
	}
	switch len(found) {
	case 0:
		return "", unknownNode(values.Get("node"), nodes)
	case 1:
		return found[0], nil
	}
	return "", refusal.Bad("ambiguous_node", "node", "%d nodes are called so: use an id",
		len(found))
}

// NodesNamed returns the ids of the nodes that node= means. Of a node that is not there any more
// the id is enough: its events may be.
func NodesNamed(nodes []window.Node, text string) (ids []uuid.UUID, err error) {
	name := strings.ToLower(text)
	if name != "" {
		for i := range nodes {
			n := &nodes[i]
			if isCalled(name, n.ID, n.Fact("address"), n.Fact("hostname")) {
				ids = append(ids, n.ID)
			}
		}
		if id, err := uuid.Parse(name); err == nil && len(ids) == 0 && len(name) == 36 {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil, unknownNode(text, nodes)
	}
	return ids, nil
}

// unknownNode refuses node= that is no node of a list. What there is it says as the text does: by
// addresses or by host names.
func unknownNode(text string, nodes []window.Node) *listener.Error {
	known := make([]string, len(nodes))
	for i := range nodes {
		known[i] = nodeWord(text, nodes[i].ID.String(), nodes[i].Fact("address"),
			nodes[i].Fact("hostname"))
	}
	return refusal.UnknownName("node", "node", text, known)
}

// UnknownCluster refuses a cluster of which no node is there.
func UnknownCluster(name string, nodes []window.Node) *listener.Error {
	known := make([]string, len(nodes))
	for i := range nodes {
		known[i] = nodes[i].Cluster
	}
	return refusal.UnknownName("cluster", "cluster", name, known)
}
