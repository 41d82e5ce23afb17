package store

import (
	"github.com/ringwatch/ringwatch/store/cutovers"
	"github.com/ringwatch/ringwatch/store/dictionaries"
	"github.com/ringwatch/ringwatch/store/events"
	"github.com/ringwatch/ringwatch/store/fresh"
	"github.com/ringwatch/ringwatch/store/keys"
	"github.com/ringwatch/ringwatch/store/late"
	"github.com/ringwatch/ringwatch/store/nodes"
	"github.com/ringwatch/ringwatch/store/progress"
	"github.com/ringwatch/ringwatch/store/rollups"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/schedule"
)

// tables returns the tables that serve whatever the generation.
func (c *Config) tables(of *rollups.Tables) []*rows.Table {
	marks := c.limits().MarkTTL()
	list := []*rows.Table{cutovers.Layout(), fresh.Layout(c.FreshTTL), late.Layout(marks),
		late.ClustersLayout(marks), dictionaries.Layout(c.RawTTL), dictionaries.WrittenLayout(),
		nodes.Layout(c.RawTTL), progress.Layout(), keys.Layout(), keys.BoundLayout(),
		events.Layout(c.EventsTTL), events.LateLayout(c.EventsTTL)}
	return append(append(list, schedule.Layout()), of.Layouts()...)
}
