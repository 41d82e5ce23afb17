// Package frame is the wire format of Ringwatch: what differs on one node at one instant, in bytes.
//
// FORMAT.md beside this file is the format; this package reads and writes version 1 of it. Begin
// with Frame. It imports none of our packages.
//
// What it promises:
//   - Decoding hostile bytes ends in values or in an error, never in a panic, and allocates in
//     proportion to the input.
//   - Encoding what was decoded from an uncompressed frame gives the same bytes.
//   - A *Frame shares no memory with the bytes that it was decoded from, so it can be kept.
//
// What bites: a delta frame is decoded against its key frame, and entity numbers mean something
// only beside that key frame.
package frame

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// WindowMillis is the length of a window in milliseconds. Windows are aligned to the Unix epoch.
const WindowMillis = 300_000

// ContentType is the media type of one frame.
const ContentType = "application/vnd.ringwatch.frame"

// Limits of FORMAT.md §6. A decoder refuses what exceeds them.
const (
	MaxFrameBytes    = 16 << 20
	MaxRawBytes      = 64 << 20
	MaxFacts         = 64
	MaxBoundsSets    = 256
	MaxBounds        = 1024
	MaxTemplates     = 1024
	MaxMetrics       = 4096
	MaxLabels        = 16
	MaxNameBytes     = 255
	MaxLabelBytes    = 1024
	MaxTextBytes     = 65_535
	MaxEntities      = 1 << 20
	MaxCells         = 1 << 24
	maxExponent      = 18
	maxAt            = 1<<48 - 1
	maxIntervalMilli = 3_600_000
)

// Why a frame was refused. Every decoding error wraps exactly one of these.
var (
	// ErrTruncated says that the bytes end before the frame does, or go on after it.
	ErrTruncated = errors.New("frame: length does not match")
	// ErrMagic says that the bytes are no frame at all.
	ErrMagic = errors.New("frame: not a frame")
	// ErrVersion says that the frame is of a version this decoder does not know.
	ErrVersion = errors.New("frame: unknown version")
	// ErrChecksum says that bytes changed on the way.
	ErrChecksum = errors.New("frame: checksum does not match")
	// ErrTooLarge says that a limit of FORMAT.md §6 is exceeded, raw_length among them.
	ErrTooLarge = errors.New("frame: too large")
	// ErrMalformed says that the bytes break a rule of FORMAT.md.
	ErrMalformed = errors.New("frame: malformed")
	// ErrKey says that a delta frame was given no key frame, or one that it does not name.
	ErrKey = errors.New("frame: wrong key frame")
	// ErrMemory says that the allowance of DecodeWithin did not give what the frame takes.
	ErrMemory = errors.New("frame: it takes more memory than it may")
)

// Kind is what a metric's values are: FORMAT.md §5.
type Kind uint8

// The kinds of metric.
const (
	Counter Kind = iota
	Gauge
	GaugeDouble
	Histogram
	GaugeHistogram
	String
	kinds // their number
)

var kindNames = [kinds]string{"counter", "gauge", "gauge_double", "histogram", "gauge_histogram",
	"string"}

// String returns the kind's name in FORMAT.md.
func (k Kind) String() string {
	if k < kinds {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// IsHistogram reports whether values of the kind are bucket counts.
func (k Kind) IsHistogram() bool { return k == Histogram || k == GaugeHistogram }

// Compression is how a payload is packed.
type Compression uint8

// The compressions of version 1.
const (
	None Compression = iota
	Deflate
	Zstd
	compressions
)

var compressionNames = [compressions]string{"none", "deflate", "zstd"}

// String returns the compression's name in FORMAT.md.
func (c Compression) String() string {
	if c < compressions {
		return compressionNames[c]
	}
	return fmt.Sprintf("compression(%d)", uint8(c))
}

// Header is what can be known of a frame without its payload. Times are milliseconds since the
// Unix epoch.
type Header struct {
	Compression Compression
	HasEvents   bool      // the payload begins with events; set by Parse and by Append
	Check       uint32    // CRC-32C; set by Parse and by Append
	Length      int       // bytes of the whole frame; set by Parse
	Node        uuid.UUID // the node's id
	Cluster     string
	Started     uint64 // when the agent started
	Sequence    uint64 // number of the pass since Started
	At          int64  // when the pass ran
	Interval    int64  // configured milliseconds between passes
	KeyAge      int64  // At minus the key frame's At; 0 in a key frame
	KeyCheck    uint32 // the key frame's Check; 0 in a key frame
	Cost        uint64 // CPU nanoseconds of the previous pass
	RawLength   int    // payload bytes before compression
}

// IsKey reports whether the frame stands alone.
func (h *Header) IsKey() bool { return h.KeyAge == 0 }

// KeyAt returns the time of the key frame, which is At itself in a key frame.
func (h *Header) KeyAt() int64 { return h.At - h.KeyAge }

// Window returns the start of the frame's window in milliseconds since the Unix epoch.
func (h *Header) Window() int64 { return WindowOf(h.At) }

// Time returns At as a time in UTC.
func (h *Header) Time() time.Time { return time.UnixMilli(h.At).UTC() }

// WindowOf returns the start of the window that holds the instant at; both in milliseconds since
// the Unix epoch.
func WindowOf(at int64) int64 {
	w := at % WindowMillis
	if w < 0 {
		w += WindowMillis
	}
	return at - w
}

// Frame is one decoded frame. Slices are in wire order.
type Frame struct {
	Header
	Events    []Event    // what happened since the frame before, by ascending time
	Identity  Identity   // key frames only
	Bounds    []Bounds   // sets added to the key frame's
	Templates []Template // templates added to the key frame's
	Added     []Entities // entities added to the key frame's, by template
	Removed   []Removed  // the key frame's entities that are gone, by template
	// cells whose presence differs from the key frame's; columns carry only selectors
	Presence []Group
	Values   []Group // cells whose value differs from their base

	// of a key frame that was decoded for some metrics: how many entities each template has
	counts []int
	shared *dictionary // that Bounds and Templates are of, if they are shared
}

// Identity says what the node is.
type Identity struct {
	Datacenter, Rack string
	Facts            []Fact // by ascending name
}

// Fact is one named text about a node, such as its address.
type Fact struct{ Name, Value string }

// Fact returns the value of a fact, or "".
func (id *Identity) Fact(name string) string {
	for _, f := range id.Facts {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

// Name returns what people call the node, see Called.
func (id *Identity) Name() string { return Called(id.Fact("hostname"), id.Fact("address")) }

// Called returns what people call a node of this host name and address: its host name, and its
// address behind it, as in "db-7 (10.0.0.7:7000)", since a host may have several nodes. An address
// that begins with the host name says all. "" if neither is known.
func Called(host, address string) string {
	switch {
	case host == "" || host == address || strings.HasPrefix(address, host+":"):
		return address
	case address == "":
		return host
	}
	return host + " (" + address + ")"
}

// The software that nodes run, as the label kind of ringwatch_node_info says it.
const (
	KindCassandra = "cassandra"
	KindKafka     = "kafka"
	KindRedis     = "redis"
	KindOther     = "other"
)

// FactLeft is the fact in which the last frame of a node that is read from outside says that it was
// taken out of what is read: LeftRemoved.
const (
	FactLeft    = "left"
	LeftRemoved = "removed"
)

// FactPaused is the fact in which the frames of an agent that is paused say so: since when, as
// RFC 3339 has it. They have no values but the agent's state.
const FactPaused = "paused_since"

// Paused returns since when the node's agent is paused.
func (id *Identity) Paused() (since time.Time, is bool) {
	since, err := time.Parse(time.RFC3339, id.Fact(FactPaused))
	return since, err == nil
}

// FactNotServing is the fact in which a node that runs says what it does not do; absent if it
// serves, or if who reads it does not know. It is one of these words, or of the last two both, with
// a comma between them.
const (
	FactNotServing = "not_serving"

	Starting      = "starting"
	Joining       = "joining"        // it takes over its share of the ring
	JoiningFailed = "joining_failed" // and stands still at that
	Leaving       = "leaving"        // it gives its share away
	Drained       = "drained"
	NoGossip      = "no_gossip"  // other nodes take it for down
	NoClients     = "no_clients" // its native transport is off
)

// Kinds are all of them.
var Kinds = []string{KindCassandra, KindKafka, KindRedis, KindOther}

// Kind returns what software the node runs: what the fact kind says, and Cassandra if it is absent.
// Of what is none of Kinds it is KindOther.
func (id *Identity) Kind() string {
	switch kind := id.Fact("kind"); kind {
	case "":
		return KindCassandra
	case KindCassandra, KindKafka, KindRedis:
		return kind
	}
	return KindOther
}

// Watched reports whether the node is read from outside, as the fact job says. Such a node sends
// its own metric up.
func (id *Identity) Watched() bool { return id.Fact("job") != "" }

// Version returns the version of the software that the node runs, "" if it is not known.
func (id *Identity) Version() string {
	return cmp.Or(id.Fact("version"), id.Fact("cassandra_version"))
}

// Bounds is one set of inclusive upper bucket bounds, each standing for Upper[i] × 10^Exponent in
// the metric's unit. A histogram over n bounds has n+1 buckets.
type Bounds struct {
	Exponent int
	Upper    []int64
}

// Template is the ordered list of metrics that every entity of a type has.
type Template struct {
	Type    string
	Labels  []string // label names
	Metrics []Metric
}

// Metric is one metric of a template. An integer value v stands for v × 10^Exponent Unit.
type Metric struct {
	Name     string
	Kind     Kind
	Unit     string
	Exponent int
	Bounds   int  // histograms: number of the bounds set
	HasSum   bool // histograms: values carry a sum, scaled by Exponent
}

// Entities are the label values of entities added to a template, one row per entity.
type Entities struct {
	Template int
	Rows     [][]string
}

// Removed are numbers of a template's entities that are gone, ascending.
type Removed struct {
	Template int
	Entities []int
}

// Group is what a section says of one template.
type Group struct {
	Template int
	Columns  []Column
}

// Column is what a section says of one metric: which entities, and one entry for each of them.
// Exactly one of Ints, Doubles, Histograms and Strings is set in a value column, by the metric's
// kind; none in a presence column.
type Column struct {
	Metric     int
	All        bool  // every live entity of the template
	Entities   []int // ascending; if All, the decoder leaves it nil
	Ints       []int64
	Doubles    []float64
	Histograms []Buckets
	Strings    []string
}

// Buckets is how one histogram differs from its base: Count[i] was added to bucket Index[i].
type Buckets struct {
	Sum   int64 // difference of the sum; 0 if the metric has none
	Index []int32
	Count []int64
}

// Scale returns v × 10^exponent as the nearest double, which is what reading the same number in
// decimals gives. A quotient or product of two numbers that doubles hold exactly is rounded once;
// for others the decimals are read.
func Scale(v int64, exponent int) float64 {
	const exactInt, exactPower = 1 << 53, 22
	switch {
	case exponent == 0:
		return float64(v)
	case v < -exactInt || v > exactInt || exponent < -exactPower || exponent > exactPower:
		f, _ := strconv.ParseFloat(strconv.FormatInt(v, 10)+"e"+strconv.Itoa(exponent), 64)
		return f // too large is an infinity
	case exponent < 0:
		return float64(v) / math.Pow10(-exponent)
	}
	return float64(v) * math.Pow10(exponent)
}
