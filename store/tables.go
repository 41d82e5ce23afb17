package store

import (
	"time"

	"github.com/ringwatch/ringwatch/store/rows"
)

// The tables that all generations share. Those of one generation begin with its name.
const (
	freshTable        = "fresh"
	lateTable         = "late"
	lateClustersTable = "late_clusters"
	progressTable     = "progress"
	seriesTable       = "series"
	writtenTable      = "series_written"
	nodesTable        = "nodes"
	cutoverTable      = "schema_cutovers"
	eventsTable       = "events"
	eventsLateTable   = "events_late"
)

// tables returns the tables that serve whatever the generation.
func (c *Config) tables() []*rows.Table {
	list := []*rows.Table{cutoverLayout(), c.freshLayout(), c.lateLayout(), c.lateClustersLayout(),
		c.seriesLayout(), writtenLayout(), c.nodesLayout(), progressLayout(), keysLayout(),
		keyNodesLayout(), c.eventsLayout(), c.eventsLateLayout()}
	return append(append(list, dueLayout()), c.rollupLayouts()...)
}

func seconds(d time.Duration) int64 { return int64(d / time.Second) }
