package safe

import "time"

// States of a condition.
const (
	Holds   = "holds"
	Broken  = "broken"
	Unknown = "unknown"
)

// Answer is what came out. Lists are in the order of the file.
type Answer struct {
	Cluster    string    `json:"cluster"`
	For        Purpose   `json:"for"`
	Node       string    `json:"node,omitempty"`      // id
	NodeName   string    `json:"node_name,omitempty"` // how people call it
	At         time.Time `json:"at"`
	Safe       bool      `json:"safe"`
	Reasons    []Reason  `json:"reasons"` // why not; empty if it is
	Conditions []Result  `json:"conditions"`
	NotChecked []string  `json:"not_checked"`
	// Nodes: where no node was named for a step that takes one away, which could be it, in the
	// order in which they are best taken.
	Nodes []Choice `json:"nodes,omitempty"`
}

// Reason is why it is not safe.
type Reason struct {
	Condition string `json:"condition"`
	// false: it cannot be known whether the condition holds
	Known bool   `json:"known"`
	Node  string `json:"node,omitempty"` // id
	Text  string `json:"text"`           // a sentence
}

// Result is what came of a condition.
type Result struct {
	Name        string `json:"name"`
	State       string `json:"state"`
	Description string `json:"description"`
}

// Choice is a node that the step could take, or not.
type Choice struct {
	Node    string   `json:"node"` // id
	Name    string   `json:"name"` // how people call it
	Safe    bool     `json:"safe"`
	Reasons []Reason `json:"reasons"` // why not; empty if it is
}
