package fleet

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
)

// As returns a frame as another node's, made so much later (ms, within the same window), without
// packing it again: that takes microseconds, where making it takes a millisecond. The cluster's
// name must be as long as the frame's; empty is the same cluster. keyCheck is the check of that
// node's key frame, as As returned it; a key frame has none.
func As(
	b []byte, id uuid.UUID, cluster string, later int64, keyCheck uint32,
) (copied []byte, check uint32, err error) {
	h, _, err := frame.Parse(b)
	if err != nil {
		return nil, 0, err
	}
	if cluster != "" && len(cluster) != len(h.Cluster) {
		return nil, 0, fmt.Errorf("%q cannot become %q: it is not as long", h.Cluster, cluster)
	}
	b = slices.Clone(b)
	copy(b[13:], id[:]) // FORMAT.md §3
	copy(b[13+len(id)+len(binary.AppendUvarint(nil, uint64(len(h.Cluster)))):], cluster)
	at := 13 + len(id) + len(binary.AppendUvarint(nil, uint64(len(h.Cluster)))) + len(h.Cluster) +
		len(binary.AppendUvarint(nil, h.Started)) + len(binary.AppendUvarint(nil, h.Sequence))
	text := binary.AppendUvarint(nil, uint64(h.At+later))
	if len(text) != len(binary.AppendUvarint(nil, uint64(h.At))) ||
		frame.WindowOf(h.At+later) != h.Window() {
		return nil, 0, fmt.Errorf("a frame cannot be %d ms later", later)
	}
	at += copy(b[at:], text)
	if !h.IsKey() {
		at += len(binary.AppendUvarint(nil, uint64(h.Interval))) +
			len(binary.AppendUvarint(nil, uint64(h.KeyAge)))
		binary.LittleEndian.PutUint32(b[at:], keyCheck)
	}
	b = frametest.Seal(b)
	return b, binary.LittleEndian.Uint32(b[4:]), nil
}

// IDOf is the id of node number i of the fleet.
func IDOf(seed uint64, i int) uuid.UUID { return newID(rand.New(rand.NewPCG(seed, uint64(i)))) }

func newID(r *rand.Rand) (id uuid.UUID) {
	for b := range id {
		id[b] = byte(r.Uint32())
	}
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	return id
}

// Copies are the frames of a few nodes that many others say, too: for benchmarks in which it
// matters that a node is like a real one, and not that no two are the same. They take memory for
// the few only.
type Copies struct {
	Seed   uint64
	Ticks  int // of a window
	tracks [][][]byte

	// Clusters puts fifty nodes each into a cluster of their own, as NewNode does. Otherwise the
	// copies are in the clusters of their originals.
	Clusters bool
}

// NewCopies plays so many nodes from start on, the begin of a window, for so many windows.
func NewCopies(s *Shape, seed uint64, originals int, start int64, windows int) (*Copies, error) {
	c := &Copies{Seed: seed, Ticks: int(frame.WindowMillis / s.Interval)}
	for i := range originals {
		n := NewNode(s, seed, i)
		n.Cluster = ClusterOf(i)
		var track [][]byte
		for w := range windows {
			for tick := range c.Ticks {
				b, err := n.Frame(start + int64(w)*frame.WindowMillis + int64(tick)*s.Interval)
				if err != nil {
					return nil, err
				}
				track = append(track, b)
				n.Step()
			}
		}
		c.tracks = append(c.tracks, track)
	}
	return c, nil
}

// Frame returns a tick's frame of node number i, counted from the start, made so much later than
// the tick (ms).
func (c *Copies) Frame(i, tick int, later int64) ([]byte, error) {
	track := c.tracks[i%len(c.tracks)]
	id, cluster := IDOf(c.Seed, i), ""
	if c.Clusters {
		cluster = ClusterOf(i)
	}
	key := tick - tick%c.Ticks
	b, check, err := As(track[key], id, cluster, later, 0)
	if err == nil && tick != key {
		b, _, err = As(track[tick], id, cluster, later, check)
	}
	return b, err
}

// ClusterOf is the cluster of node number i of Copies, in names of one length up to half a million
// nodes.
func ClusterOf(i int) string { return fmt.Sprintf("fleet%04d", i/NodesPerCluster) }
