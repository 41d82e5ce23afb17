package query

import (
	"github.com/ringwatch/ringwatch/query/limit"
	"github.com/ringwatch/ringwatch/query/plan"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/window"
)

// What a Reader is made of and gives; package read says more.
type (
	Reader       = read.Reader
	ReaderConfig = read.Config
	Sources      = read.Sources
	Store        = read.Store
	Recent       = read.Recent
	Rollups      = read.Rollups
	Windows      = read.Windows
	Values       = read.Values
	State        = read.State
	StateVersion = read.StateVersion
	Node         = window.Node // as the store's metadata describes it
	Index        = plan.Index
)

// NewReader validates and registers the reader's metrics.
func NewReader(c ReaderConfig, s Sources) (*Reader, error) { return read.New(c, s) }

// The states of a node; package read says when it has which.
const (
	StateUp     = read.StateUp
	StateLate   = read.StateLate
	StatePaused = read.StatePaused
	StateDown   = read.StateDown
)

// Why a question is refused.
type (
	// LimitError says that a query needs more than its account may have.
	LimitError = limit.Error
	// BusyError says that too many queries of the account wait already.
	BusyError = limit.BusyError
)
