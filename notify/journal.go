package notify

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/ringwatch/ringwatch/disk/durable"
)

// journal is a file of records, to which changes are appended, and which is written anew when it
// has become much longer than what it says. What append has returned nil for survives the process;
// if it was to last, the machine, too.
//
//	"RWNOTIFY1\n"   then records:   length (uint32)   CRC-32C of the bytes (uint32)   bytes
//
// Numbers are little endian. A record that ends early or does not match ends the file: it and what
// follows are cut off, and kept beside it with the name's ending .damaged unless the file just
// ends.
type journal struct {
	path string

	mu      sync.Mutex
	file    *os.File
	size    int64 // of what is whole
	compact int64 // the size when it was last written anew
	dirty   bool  // something is not synced
	// While it is written anew, what is appended goes into both files.
	rewriting bool
	meanwhile []byte
	err       error // of the last append; nil: it is whole
}

const (
	journalMagic = "RWNOTIFY1\n"
	// recordHead is how many bytes stand before a record's own.
	recordHead = 8
	// maxRecord bounds what is allocated for a damaged length.
	maxRecord = 256 << 20
	// slack is what a journal may grow by before it is written anew, whatever its size.
	slack = 1 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// openJournal returns the records that are whole, oldest first. The records share memory.
func openJournal(path string) (j *journal, records [][]byte, damaged bool, err error) {
	_ = removeUnfinished(path)
	content, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, nil, false, err
	}
	if len(content) >= len(journalMagic) && !bytes.HasPrefix(content, []byte(journalMagic)) {
		return nil, nil, false, fmt.Errorf("%s is not a file of this version: move it away", path)
	}
	records, good, damaged := readJournal(content)
	if damaged {
		if err := os.WriteFile(path+".damaged", content[good:], 0o600); err != nil {
			return nil, nil, damaged, err
		}
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, nil, damaged, err
	}
	j = &journal{path: path, file: f, size: int64(good)}
	if good == 0 {
		if _, err = f.WriteAt([]byte(journalMagic), 0); err == nil {
			j.size = int64(len(journalMagic))
			err = durable.Names(filepath.Dir(path))
		}
	}
	if err == nil {
		err = f.Truncate(j.size)
	}
	if err == nil {
		err = durable.Bytes(f)
	}
	if err != nil {
		return nil, nil, damaged, errors.Join(err, f.Close())
	}
	return j, records, damaged, nil
}

// readJournal returns what a file has, where what is whole ends, and whether the rest is damaged.
func readJournal(content []byte) (records [][]byte, end int, damaged bool) {
	if len(content) < len(journalMagic) {
		return nil, 0, false
	}
	if !bytes.HasPrefix(content, []byte(journalMagic)) {
		return nil, 0, true
	}
	return readRecords(content, len(journalMagic))
}

// readRecords returns the whole records from at on, where they end, and whether what follows is
// more than the beginning of a record.
func readRecords(content []byte, at int) (records [][]byte, end int, damaged bool) {
	for {
		rest := content[at:]
		if len(rest) < recordHead {
			return records, at, false
		}
		n := int64(binary.LittleEndian.Uint32(rest))
		if n > maxRecord {
			return records, at, true
		}
		if int64(len(rest)) < recordHead+n {
			return records, at, false
		}
		body := rest[recordHead : recordHead+n]
		if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(rest[4:]) {
			return records, at, true
		}
		records = append(records, body)
		at += recordHead + int(n)
	}
}

// removeUnfinished removes what a killed process was writing anew.
func removeUnfinished(path string) error {
	err := os.Remove(path + ".new")
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

func appendRecord(dst, body []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(body)))
	dst = binary.LittleEndian.AppendUint32(dst, crc32.Checksum(body, castagnoli))
	return append(dst, body...)
}

// append adds records, all or none.
func (j *journal) append(lasting bool, records ...[]byte) error {
	var all []byte
	for _, r := range records {
		if len(r) > maxRecord {
			return fmt.Errorf("a record of %d bytes is too large for %s", len(r), j.path)
		}
		all = appendRecord(all, r)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file == nil {
		return os.ErrClosed
	}
	_, err := j.file.WriteAt(all, j.size)
	if err == nil && lasting {
		err = durable.Bytes(j.file)
	}
	if j.rewriting {
		// It may be in the new file although it is not in this one: then it is still true.
		j.meanwhile = append(j.meanwhile, all...)
	}
	if j.err = err; err != nil {
		return errors.Join(err, j.file.Truncate(j.size))
	}
	j.size += int64(len(all))
	j.dirty = j.dirty || !lasting
	return nil
}

// failed is why the last append failed; nil: it did not.
func (j *journal) failed() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err
}

// long says whether most of the file is history, or something failed to get into it.
func (j *journal) long() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err != nil || j.size > 2*j.compact+slack
}

// sync makes everything last.
func (j *journal) sync() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.dirty || j.file == nil {
		return nil
	}
	err := durable.Bytes(j.file)
	j.dirty = err != nil
	return err
}

// rewrite replaces all by what snapshot returns and what is appended meanwhile. Applied in order,
// the records must say the same again: snapshot may know some of what is appended.
func (j *journal) rewrite(snapshot func() ([][]byte, error)) error {
	j.mu.Lock()
	if j.file == nil || j.rewriting {
		j.mu.Unlock()
		return nil
	}
	j.rewriting, j.meanwhile = true, nil
	j.mu.Unlock()
	records, err := snapshot()
	j.mu.Lock()
	defer j.mu.Unlock()
	defer func() { j.rewriting, j.meanwhile = false, nil }()
	if err != nil {
		return err
	}
	content := []byte(journalMagic)
	for _, r := range records {
		content = appendRecord(content, r)
	}
	content = append(content, j.meanwhile...)
	f, err := writeWhole(j.path+".new", content)
	if err != nil {
		return errors.Join(err, removeUnfinished(j.path))
	}
	if err := os.Rename(j.path+".new", j.path); err != nil {
		return errors.Join(err, f.Close(), removeUnfinished(j.path))
	}
	err = errors.Join(j.file.Close(), durable.Names(filepath.Dir(j.path)))
	j.file, j.size, j.compact = f, int64(len(content)), int64(len(content))
	j.dirty, j.err = false, nil
	return err
}

// writeWhole writes a new file that lasts, and leaves it open.
func writeWhole(path string, content []byte) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	if _, err = io.Copy(f, bytes.NewReader(content)); err == nil {
		err = durable.Bytes(f)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// close makes everything last. Nothing can be appended afterwards.
func (j *journal) close() error {
	err := j.sync()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file == nil {
		return nil
	}
	err = errors.Join(err, j.file.Close())
	j.file = nil
	return err
}
