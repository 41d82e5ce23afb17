package sizing

import "time"

// What benchmarks measured, on nodes of measuredSeries series of which half are idle. TestMeasured
// holds each figure against the kept results and names the one that moved: copy it here after a
// benchmark was run again.

// measuredSeries is how many series the nodes of the benchmarks have. All costs are taken to grow
// with a node's series in proportion.
const measuredSeries = 2095

// cost is CPU.
type cost struct {
	frame  time.Duration // of one frame
	window time.Duration // of closing a node's five minutes
	hour   time.Duration // of making a node's hour
	node   float64       // cores for a node, whatever it sends
}

// The CPU of the line's parts, of one copy: fleet.json has the cores of each with 10,000 nodes at
// 500 frames a second, closing.json what closing a window and making an hour take.
var (
	ingestCost = cost{frame: 280 * time.Microsecond}
	storeCost  = cost{frame: 244 * time.Microsecond, window: 3200 * time.Microsecond,
		hour: 24200 * time.Microsecond}
	recentCost = cost{frame: 47 * time.Microsecond}
	// rulesCost is rules.json's, 0.77 s in 20 s for 1,000 nodes. fleet.json has a third of it, of a
	// machine without an idle core.
	rulesCost = cost{frame: 765 * time.Microsecond}
	// apiCost is of a crowd of 20 questions a second to 10,000 nodes.
	apiCost       = cost{node: 52e-6}
	kafkaCost     = cost{frame: 305 * time.Microsecond}
	redisCost     = cost{frame: 183 * time.Microsecond}
	cassandraCost = cost{frame: 912 * time.Microsecond, window: 1780 * time.Microsecond,
		hour: 14200 * time.Microsecond}
)

// room is memory in bytes: of a process, and more for each node.
type room struct{ process, node float64 }

// The memory of the line's parts, at most: fleet.json's samples, for rules rules.json, too.
var (
	ingestRoom    = room{100e6, 51e3}
	storeRoom     = room{60e6, 11e3}
	recentRoom    = room{70e6, 400}
	rulesRoom     = room{500e6, 190e3}
	apiRoom       = room{200e6, 210e3}
	kafkaRoom     = room{process: 740e6}
	redisRoom     = room{process: 20e6} // beside the frames
	cassandraRoom = room{process: 2.85e9}
)

// One process in a directory, all roles and no engines: embedded.json at 300, 1,500 and 2,250
// nodes, with five questions a second.
var (
	embeddedCores    = 0.107  // without nodes
	embeddedNode     = 209e-6 // cores for a node at measuredInterval
	embeddedRoom     = room{600e6, 960e3}
	embeddedMost     = 150_000.0 // samples a second up to which it kept all bounds
	measuredInterval = 20 * time.Second
)

// Bytes of a node's frames, rules.json's FrameBytes: a window's key frame, and each other one.
const (
	keyFrameBytes   = 8709.0
	deltaFrameBytes = 1555.0
)

// Bytes in Cassandra's tables and in a directory, of one copy: store-peers.json has them by table,
// 10 nodes over six hours; store.json, of two hours, has more by sample. A sample is a series at a
// tick, and a histogram is one.
const (
	hourBytes    = 0.40  // of a sample, as long as samples are kept
	windowBytes  = 0.445 // of a sample of the last windowsFor
	freshBytes   = 0.994 // of a sample of store.Config.FreshTTL
	rollup5Bytes = 1.41  // of a series and five minutes
	rollupHBytes = 2.66  // of a series and an hour
	rollupDBytes = 6.5   // of a series and a day
	windowsFor   = 3 * time.Hour
)

// eventBytes is what an event takes in Cassandra, of one copy; in a directory it is less:
// events.json. Events are few, so they cost nothing else that is counted here.
const eventBytes = 61.0

// measuredNodes is the largest fleet that went through the line.
const measuredNodes = 10_000

// What one process is asked for. The benchmarks' processes shared two cores; half of them leaves
// room for a process that has to do another's work.
const (
	coresEach = 1.0
	// diskEach is what a Cassandra node should hold at most, the usual advice; it was not measured.
	diskEach = 2e12
)
