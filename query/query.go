package query

import (
	"github.com/ringwatch/ringwatch/query/limit"
	"github.com/ringwatch/ringwatch/window"
)

type (
	// LimitError says that a query was refused because it needs more than its account may have.
	LimitError = limit.Error
	// BusyError says that too many queries of the account wait already.
	BusyError = limit.BusyError
)

// Node is a node as the store's metadata describes it.
type Node = window.Node
