package files

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ringwatch/ringwatch/disk"
	"github.com/ringwatch/ringwatch/stream"
)

// segment is a file of records. It begins so, all numbers little-endian:
//
//	0  4 bytes  "RWS1"
//	4  u32      flags: 1, the topic is compacted
//	8  u32      n, the number of partitions
//	12 u64      first: this file replaces those of the ids from here to its own
//	20 i64      before: no record of the segments before is newer, in ms
//	28 n × i64  by partition: its records have this offset and later ones
//	   u32      CRC-32C of all that
type segment struct {
	id, first uint64
	path      string
	compact   bool
	before    int64
	base      []int64

	// The topic's lock guards these.
	size    int64 // what is durable
	oldest  int64 // the first record's time, ms; 0: there is none
	damaged bool
}

const (
	magic       = "RWS1"
	fixedBytes  = 28
	flagCompact = 1
	ending      = ".segment"
)

// ErrVersion says that a file is of a format that this version does not know.
var ErrVersion = errors.New("stream: a newer version of Ringwatch has written it: use that version")

// begin returns where the first record is.
func (s *segment) begin() int64 { return int64(fixedBytes + 8*len(s.base) + 4) }

func segmentPath(dir string, id uint64) string {
	return filepath.Join(dir, fmt.Sprintf("%016d%s", id, ending))
}

// segmentID returns the id that a file's name has.
func segmentID(name string) (uint64, bool) {
	digits, ok := strings.CutSuffix(name, ending)
	id, err := strconv.ParseUint(digits, 10, 64)
	return id, ok && err == nil && len(digits) == 16
}

func (s *segment) header() []byte {
	b := make([]byte, 0, s.begin())
	b = append(b, magic...)
	flags := uint32(0)
	if s.compact {
		flags |= flagCompact
	}
	b = binary.LittleEndian.AppendUint32(b, flags)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(s.base)))
	b = binary.LittleEndian.AppendUint64(b, s.first)
	b = binary.LittleEndian.AppendUint64(b, uint64(s.before))
	for _, offset := range s.base {
		b = binary.LittleEndian.AppendUint64(b, uint64(offset))
	}
	return binary.LittleEndian.AppendUint32(b, disk.Sum(b))
}

// readSegment reads a file's header. It returns disk.ErrDamaged or ErrVersion if that is no good.
func readSegment(dir string, id uint64) (*segment, error) {
	s := &segment{id: id, path: segmentPath(dir, id)}
	file, err := os.Open(s.path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	s.size = info.Size()
	fixed := make([]byte, fixedBytes)
	if n, _ := file.ReadAt(fixed, 0); n < fixedBytes {
		return nil, disk.ErrDamaged
	}
	if string(fixed[:3]) == magic[:3] && fixed[3] > magic[3] && fixed[3] <= '9' {
		return nil, stream.Because(fmt.Errorf("%s: %w", s.path, ErrVersion), stream.ErrRefused)
	}
	n := binary.LittleEndian.Uint32(fixed[8:])
	if string(fixed[:4]) != magic || n == 0 || n > 10_000 {
		return nil, disk.ErrDamaged
	}
	b := make([]byte, fixedBytes+8*int(n)+4)
	if read, _ := file.ReadAt(b, 0); read < len(b) {
		return nil, disk.ErrDamaged
	}
	if disk.Sum(b[:len(b)-4]) != binary.LittleEndian.Uint32(b[len(b)-4:]) {
		return nil, disk.ErrDamaged
	}
	s.compact = binary.LittleEndian.Uint32(b[4:])&flagCompact != 0
	s.first = binary.LittleEndian.Uint64(b[12:])
	s.before = int64(binary.LittleEndian.Uint64(b[20:]))
	for p := range int(n) {
		s.base = append(s.base, int64(binary.LittleEndian.Uint64(b[fixedBytes+8*p:])))
	}
	if s.first > s.id || s.first == 0 {
		return nil, disk.ErrDamaged
	}
	return s, nil
}

// create makes the file, with what write puts into it behind the header.
func (s *segment) create(d *disk.Disk, write func(*os.File) error) error {
	return d.Finish(s.path, func(file *os.File) error {
		if _, err := file.Write(s.header()); err != nil {
			return err
		}
		if write != nil {
			if err := write(file); err != nil {
				return err
			}
		}
		info, err := file.Stat()
		if err == nil {
			s.size = info.Size()
		}
		return err
	})
}

// segments returns the ids of a directory's segments in order.
func segments(dir string) ([]uint64, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var ids []uint64
	for _, e := range entries {
		if id, ok := segmentID(e.Name()); ok {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// Partitions returns into how many partitions a topic of a directory is divided, which a process
// may have; 0: there is no such topic.
func Partitions(dir, topic string) (int, error) {
	dir = filepath.Join(dir, "topics", topic)
	ids, err := segments(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	for _, id := range slices.Backward(ids) {
		s, failed := readSegment(dir, id)
		if failed == nil {
			return len(s.base), nil
		}
		err = errors.Join(err, failed) // it is damaged, or gone meanwhile
	}
	return 0, err
}
