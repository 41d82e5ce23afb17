package files

import (
	"log/slog"

	"github.com/ringwatch/ringwatch/disk"
)

// directory is what topics share: where they lie, and who is told of them.
type directory struct {
	log        *slog.Logger
	disk       disk.Disk
	health     *disk.Health
	quarantine *disk.Quarantine // has what was found damaged, under the name of its topic
	metrics    *metrics
	grown      chan struct{} // there is a new file
}

func newDirectory(path string, log *slog.Logger, bytes func() int64) *directory {
	return &directory{log: log, health: disk.NewHealth(path, "frames"),
		quarantine: disk.NewQuarantine(path, log), metrics: newMetrics(bytes),
		grown: make(chan struct{}, 1)}
}

// tellDamage counts a file that was found damaged or missing. The log has been told.
func (d *directory) tellDamage() {
	d.health.Damaged()
	d.metrics.damaged.Inc()
}
