package files

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ringwatch/ringwatch/frame/codec"
	"github.com/ringwatch/ringwatch/stream/durable"
)

// A log file begins with logMagic. Then come groups:
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
	logMagic   = "RWROWLG1"
	groupMagic = uint32(0x47575201)
	groupHead  = 20
	groupBytes = 4 << 20 // what is gathered at once
	logSuffix  = ".log"
	maxGroup   = groupBytes + mutationBytes + 2*maxRow
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// logFile is the file that is being written.
type logFile struct {
	f    *os.File
	path string
	size int64
}

func logPath(dir string, number int64) string {
	return filepath.Join(dir, logDir, fmt.Sprintf("%010d%s", number, logSuffix))
}

// createLog makes a log file that is there after a crash, too.
func (d *disk) createLog(path string) (*logFile, error) {
	f, err := d.create(path)
	if err != nil {
		return nil, err
	}
	err = d.write(f, []byte(logMagic), 0)
	if err == nil {
		err = durable.Bytes(f)
	}
	if err == nil {
		err = durable.Names(filepath.Dir(path))
	}
	if err != nil {
		os.Remove(path)
		return nil, errors.Join(err, f.Close())
	}
	return &logFile{f: f, path: path, size: int64(len(logMagic))}, nil
}

// append writes a group and syncs it. After an error nothing of it counts; broken says that this
// file must not be written any more.
func (l *logFile) append(d *disk, group []byte) (broken bool, err error) {
	err = d.write(l.f, group, l.size)
	wrote := err == nil
	if wrote {
		err = durable.Bytes(l.f)
	}
	if err == nil {
		l.size += int64(len(group))
		return false, nil
	}
	// Nobody knows what a failed sync has left, so the file is not used again.
	broken = wrote || l.f.Truncate(l.size) != nil
	if wrote {
		l.f.Truncate(l.size)
	}
	return broken, err
}

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
	binary.LittleEndian.PutUint32(g[4:], crc32.Checksum(g[8:], castagnoli))
	return dst
}

// readGroup reads the group that b begins with; size is what it takes, 0: there is none.
func readGroup(b []byte) (number int64, payload []byte, size int) {
	if len(b) < groupHead || binary.LittleEndian.Uint32(b) != groupMagic {
		return 0, nil, 0
	}
	n := int(binary.LittleEndian.Uint32(b[8:]))
	if n > maxGroup || n > len(b)-groupHead ||
		crc32.Checksum(b[8:groupHead+n], castagnoli) != binary.LittleEndian.Uint32(b[4:]) {
		return 0, nil, 0
	}
	return int64(binary.LittleEndian.Uint64(b[12:])), b[groupHead : groupHead+n], groupHead + n
}

// hole is bytes of a log file that are no group and have one behind them.
type hole struct{ at, size int }

// readLog calls take for the mutations of a log file's groups, in order. They are parts of b.
func readLog(b []byte, take func(number int64, mutations [][]byte)) (holes []hole) {
	at := 0
	if bytes.HasPrefix(b, []byte(logMagic)) {
		at = len(logMagic)
	}
	magic := binary.LittleEndian.AppendUint32(nil, groupMagic)
	good := at // behind the last good group
	for at < len(b) {
		number, payload, size := readGroup(b[at:])
		if size == 0 {
			next := bytes.Index(b[at+1:], magic)
			if next < 0 {
				break
			}
			at += 1 + next
			continue
		}
		if at > good {
			holes = append(holes, hole{good, at - good})
		}
		at += size
		good = at
		take(number, cutMutations(payload))
	}
	return holes
}

func cutMutations(payload []byte) (list [][]byte) {
	r := codec.New(payload, &blobErrors)
	for len(r.Rest) > 0 {
		if m := takeBytes(&r); r.Err == nil {
			list = append(list, m)
		}
	}
	return list
}

// logsIn returns the numbers of the log files in a directory, ascending.
func logsIn(dir string) ([]int64, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var list []int64
	for _, e := range entries {
		name, is := strings.CutSuffix(e.Name(), logSuffix)
		if n, err := strconv.ParseInt(name, 10, 64); is && err == nil && n > 0 {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	return list, nil
}
