// Package sizing says what a fleet needs: processes, cores, memory, disk and partitions of each
// role and engine, computed from what the benchmarks measured (measured.go). Its figures are of two
// cores of one machine: they say how much, within a factor of one and a half, and not how fast.
//
// Beyond the largest fleet that was measured all costs go on in proportion, and Advice.Measured
// says so.
package sizing

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/ringwatch/ringwatch/store"
	"github.com/ringwatch/ringwatch/stream"
)

// Fleet is what is to be monitored.
type Fleet struct {
	Nodes     int
	Series    int           // of a node; a histogram is one
	Interval  time.Duration // between a node's frames
	Retention time.Duration // of samples
	Replicas  int           // copies that Kafka and Cassandra keep
	Events    int           // that happen on a node a day
}

// Bounds of what Validate takes.
const (
	mostNodes, mostSeries        = 1_000_000, 1_000_000
	leastInterval, mostInterval  = time.Second, 5 * time.Minute
	leastRetention, mostReplicas = time.Hour, 9
	// mostEvents is what an agent sends at most: 200 a minute.
	mostEvents = 200 * 60 * 24
)

// Validate returns all that is wrong with a fleet, joined, or nil.
func (f Fleet) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(f.Nodes >= 1 && f.Nodes <= mostNodes, "nodes is %d: use 1 to %d", f.Nodes, mostNodes)
	check(f.Series >= 1 && f.Series <= mostSeries, "series is %d: use 1 to %d", f.Series,
		mostSeries)
	check(f.Interval >= leastInterval && f.Interval <= mostInterval,
		"interval is %s: use %s to %s", f.Interval, leastInterval, mostInterval)
	longest := store.DefaultConfig().DayTTL
	check(f.Retention >= leastRetention && f.Retention <= longest,
		"retention is %s: use 1h to %dd", f.Retention, longest/(24*time.Hour))
	check(f.Replicas >= 1 && f.Replicas <= mostReplicas, "replicas is %d: use 1 to %d", f.Replicas,
		mostReplicas)
	check(f.Events >= 0 && f.Events <= mostEvents, "events is %d: use 0 to %d", f.Events,
		mostEvents)
	return errors.Join(errs...)
}

// Need is what a role or an engine needs.
type Need struct {
	Part      string  `json:"part"` // a role, an engine, or ringwatch all
	Processes int     `json:"processes"`
	Cores     float64 `json:"cores"` // of all its processes together
	// MemoryBytes and DiskBytes are of each process.
	MemoryBytes int64 `json:"memory_bytes"`
	DiskBytes   int64 `json:"disk_bytes"`
	// Partitions is how many the topic of frames should have; 0: the part knows none.
	Partitions int `json:"partitions,omitempty"`
}

// The deployments.
const (
	Embedded = "embedded" // ringwatch all in a directory
	Line     = "line"     // roles and engines
)

// Advice is what a fleet needs in both deployments, and which to take.
type Advice struct {
	SamplesPerSecond float64 `json:"samples_per_second"`
	FramesPerSecond  float64 `json:"frames_per_second"`
	BytesPerSecond   float64 `json:"bytes_per_second"` // that agents send
	Deployment       string  `json:"deployment"`       // Embedded or Line
	Embedded         []Need  `json:"embedded"`
	Line             []Need  `json:"line"`
	// Measured says that a fleet as large went through the advised deployment.
	Measured bool `json:"measured"`
}

// Size returns what a valid fleet needs.
func Size(f Fleet) Advice {
	a := Advice{
		SamplesPerSecond: f.samples(time.Second), FramesPerSecond: f.frames(),
		BytesPerSecond: f.bytes(), Deployment: Line, Embedded: f.embedded(), Line: f.line(),
	}
	a.Measured = a.SamplesPerSecond <= samplesOf(measuredNodes)
	if a.SamplesPerSecond <= embeddedMost {
		a.Deployment = Embedded
	}
	return a
}

// samplesOf is what so many of the benchmarks' nodes send, in samples a second.
func samplesOf(nodes float64) float64 {
	return nodes * measuredSeries / measuredInterval.Seconds()
}

// weight is a fleet in nodes of the benchmarks.
func (f Fleet) weight() float64 { return float64(f.Nodes) * float64(f.Series) / measuredSeries }

// frames a second.
func (f Fleet) frames() float64 { return float64(f.Nodes) / f.Interval.Seconds() }

// samples in a span.
func (f Fleet) samples(span time.Duration) float64 {
	return float64(f.Nodes) * float64(f.Series) * float64(span) / float64(f.Interval)
}

// bytes that agents send a second: a window's first frame stands alone, the others differ from it.
func (f Fleet) bytes() float64 {
	window := windowLength.Seconds()
	deltas := max(window/f.Interval.Seconds()-1, 0)
	return f.weight() * (keyFrameBytes + deltas*deltaFrameBytes) / window
}

const windowLength = 5 * time.Minute

// cores that a cost comes to.
func (f Fleet) cores(c cost) float64 {
	each := c.node + c.frame.Seconds()/f.Interval.Seconds() +
		c.window.Seconds()/windowLength.Seconds() +
		c.hour.Seconds()/time.Hour.Seconds()
	return f.weight() * each
}

// stored is what Cassandra or a directory keeps of a fleet, in bytes, one copy, when the longest
// time to live has passed.
func (f Fleet) stored() float64 {
	c := store.DefaultConfig()
	series := float64(f.Nodes) * float64(f.Series)
	samples := f.samples(f.Retention)*hourBytes + f.samples(windowsFor)*windowBytes +
		f.samples(c.FreshTTL)*freshBytes
	return samples + series*(rollup5Bytes*float64(max(c.FiveMinutesTTL, f.Retention)/windowLength)+
		rollupHBytes*max(c.HourTTL, f.Retention).Hours()+
		rollupDBytes*max(c.DayTTL, f.Retention).Hours()/24) + f.events()*eventBytes
}

// events that are kept.
func (f Fleet) events() float64 {
	return float64(f.Nodes) * float64(f.Events) * store.DefaultConfig().EventsTTL.Hours() / 24
}

// memory of each of so many processes that share a fleet, in bytes.
func (f Fleet) memory(r room, processes int) int64 {
	return int64(r.process + r.node*f.weight()/float64(processes))
}

func (f Fleet) embedded() []Need {
	return []Need{{
		Part: "ringwatch all", Processes: 1,
		Cores: embeddedCores +
			embeddedNode*f.weight()*measuredInterval.Seconds()/f.Interval.Seconds(),
		MemoryBytes: f.memory(embeddedRoom, 1),
		DiskBytes:   int64(f.stored() + f.bytes()*stream.DefaultConfig().Retention.Seconds()),
		Partitions:  int(stream.DefaultConfig().Partitions),
	}}
}

func (f Fleet) line() []Need {
	var needs []Need
	add := func(part string, c cost, copies int, r room, least int, shared bool) *Need {
		n := Need{Part: part, Cores: f.cores(c) * float64(copies)}
		n.Processes = max(least, atLeast(n.Cores/coresEach))
		share := max(n.Processes-1, 1) // one may be away, and the others do its work
		if !shared {
			share = 1
		}
		n.MemoryBytes = f.memory(r, share)
		needs = append(needs, n)
		return &needs[len(needs)-1]
	}
	const two = 2 // one may fail
	add("ingest", ingestCost, 1, ingestRoom, two, true)
	consumers := 0
	for _, role := range []struct {
		name string
		cost cost
		room room
	}{{"store", storeCost, storeRoom}, {"recent", recentCost, recentRoom},
		{"rules", rulesCost, rulesRoom}} {
		consumers = max(consumers, add(role.name, role.cost, 1, role.room, two, true).Processes)
	}
	partitions := partitionsFor(consumers)
	for i := range needs[1:] {
		needs[1+i].Partitions = partitions
	}
	add("api", apiCost, 1, apiRoom, two, false) // each answers for the whole fleet

	copies := float64(f.Replicas)
	kafka := add("Kafka", kafkaCost, f.Replicas, kafkaRoom, f.Replicas, true)
	kafka.Partitions = partitions
	kept := f.bytes() * stream.DefaultConfig().Retention.Seconds()
	kafka.DiskBytes = int64(kept * copies / float64(kafka.Processes))

	disk := f.stored() * copies
	most := max(f.Replicas, atLeast(disk/diskEach))
	cassandra := add("Cassandra", cassandraCost, f.Replicas, cassandraRoom, most, true)
	cassandra.DiskBytes = int64(disk / float64(cassandra.Processes))

	redis := add("Redis", redisCost, 1, redisRoom, 1, true)
	redis.Processes = 1 // it is one; a larger fleet takes a Redis cluster
	redis.MemoryBytes = int64(redisRoom.process + f.recent())
	return needs
}

// recent is what Redis keeps, in bytes: the windows that fifteen minutes touch.
func (f Fleet) recent() float64 { return f.bytes() * (15*time.Minute + windowLength).Seconds() }

// partitionsFor leaves each process some partitions, so that they share evenly: a power of two,
// the default at least.
func partitionsFor(processes int) int {
	const each = 4
	least := int(stream.DefaultConfig().Partitions)
	return max(least, 1<<bits.Len(uint(each*processes-1)))
}

func atLeast(n float64) int { return int(math.Ceil(n)) }
