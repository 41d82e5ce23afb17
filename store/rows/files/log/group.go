package log

import (
	"bytes"
	"encoding/binary"

	"github.com/ringwatch/ringwatch/disk"
	"github.com/ringwatch/ringwatch/frame/codec"
)

// A log file begins with magic. Then come groups:
//
//	 0  groupMagic
//	 4  CRC-32C of all that follows
//	 8  length of the payload
//	12  number of the group; each has one more than the last
//	20  payload: mutations, each behind its length
//
// A group is written at once, and the next one only when it is synced. So a group that is damaged
// and has another one behind it was lost later; one that has none was never acknowledged.
const (
	magic      = "RWROWLG1"
	groupMagic = uint32(0x47575201)
	groupHead  = 20
	// GroupBytes is how much is gathered for a group; its last mutation may be larger.
	GroupBytes = 4 << 20
	maxGroup   = GroupBytes + 36<<20
)

var malformed = codec.Errors{Version: disk.ErrDamaged, Malformed: disk.ErrDamaged}

// appendGroup appends mutations as a group.
func appendGroup(dst []byte, number int64, list [][]byte) []byte {
	from := len(dst)
	dst = append(dst, make([]byte, groupHead)...)
	for _, m := range list {
		dst = append(codec.AppendUvarint(dst, uint64(len(m))), m...)
	}
	g := dst[from:]
	binary.LittleEndian.PutUint32(g, groupMagic)
	binary.LittleEndian.PutUint32(g[8:], uint32(len(g)-groupHead))
	binary.LittleEndian.PutUint64(g[12:], uint64(number))
	binary.LittleEndian.PutUint32(g[4:], disk.Sum(g[8:]))
	return dst
}

// readGroup reads the group that b begins with; size is what it takes, 0: there is none.
func readGroup(b []byte) (number int64, payload []byte, size int) {
	if len(b) < groupHead || binary.LittleEndian.Uint32(b) != groupMagic {
		return 0, nil, 0
	}
	n := int(binary.LittleEndian.Uint32(b[8:]))
	if n > maxGroup || n > len(b)-groupHead ||
		disk.Sum(b[8:groupHead+n]) != binary.LittleEndian.Uint32(b[4:]) {
		return 0, nil, 0
	}
	return int64(binary.LittleEndian.Uint64(b[12:])), b[groupHead : groupHead+n], groupHead + n
}

// Hole is bytes of a log file that are no group and have one behind them.
type Hole struct{ At, Size int }

// Read calls take for the mutations of a log file's groups, in order. They are parts of b.
func Read(b []byte, take func(number int64, mutations [][]byte)) (holes []Hole) {
	at := 0
	if bytes.HasPrefix(b, []byte(magic)) {
		at = len(magic)
	}
	mark := binary.LittleEndian.AppendUint32(nil, groupMagic)
	good := at // behind the last good group
	for at < len(b) {
		number, payload, size := readGroup(b[at:])
		if size == 0 {
			next := bytes.Index(b[at+1:], mark)
			if next < 0 {
				break
			}
			at += 1 + next
			continue
		}
		if at > good {
			holes = append(holes, Hole{good, at - good})
		}
		at += size
		good = at
		take(number, cutMutations(payload))
	}
	return holes
}

func cutMutations(payload []byte) (list [][]byte) {
	r := codec.New(payload, &malformed)
	for len(r.Rest) > 0 {
		if m := r.Take(r.Count("bytes", len(r.Rest))); r.Err == nil {
			list = append(list, m)
		}
	}
	return list
}
