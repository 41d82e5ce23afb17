// Command peers keeps rows in bbolt or in Pebble, for bench/rows: a module of its own, so that the
// product does not depend on them. It does what its standard input says; see bench/rows/ops.go.
//
// Both get the layout that suits data which expires: rows of a table that expire in the same part
// of its TTL have a bucket (bbolt) or a prefix (Pebble) of their own, which is deleted as a whole.
package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"go.etcd.io/bbolt"
)

// side is what is measured.
type side interface {
	put(part, key, value []byte) error
	commit() error // durable
	drop(part []byte) error
	// read counts the rows of a part whose keys have a prefix.
	read(part, prefix []byte) (rows, size int, err error)
}

func main() {
	log.SetFlags(0)
	dir := os.Args[2]
	var s side
	var err error
	switch os.Args[1] {
	case "bbolt":
		s, err = openBolt(filepath.Join(dir, "rows.db"))
	case "pebble":
		s, err = openPebble(dir)
	default:
		err = errors.New("bbolt or pebble")
	}
	if err == nil {
		err = serve(s, bufio.NewReaderSize(os.Stdin, 1<<20))
	}
	if err != nil {
		log.Fatalln("peers:", err)
	}
}

// parts are the parts of each table that are there, by when their last row expires.
var parts = map[byte]map[uint64]bool{}

func serve(s side, in *bufio.Reader) error {
	fmt.Println("ready")
	for {
		op, err := in.ReadByte()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		switch op {
		case 'P':
			table, _ := in.ReadByte()
			width, expires := number(in), number(in)
			partition, clustering, value := text(in), text(in), text(in)
			part := (expires/width + 1) * width
			if parts[table] == nil {
				parts[table] = map[uint64]bool{}
			}
			parts[table][part] = true
			if err := s.put(name(table, part), append(partition, clustering...),
				value); err != nil {
				return err
			}
		case 'C':
			now := number(in)
			for table, of := range parts {
				for part := range of {
					if part <= now {
						if err := s.drop(name(table, part)); err != nil {
							return err
						}
						delete(of, part)
					}
				}
			}
			if err := s.commit(); err != nil {
				return err
			}
		case 'T': // tells of parts after a start
			table, _ := in.ReadByte()
			if parts[table] == nil {
				parts[table] = map[uint64]bool{}
			}
			parts[table][number(in)] = true
		case 'R':
			table, _ := in.ReadByte()
			prefix := append(text(in), text(in)...)
			begun, rows, size := time.Now(), 0, 0
			for part := range parts[table] {
				n, b, err := s.read(name(table, part), prefix)
				if err != nil {
					return err
				}
				rows, size = rows+n, size+b
			}
			fmt.Println(rows, size, time.Since(begun).Microseconds())
		case 'Q':
			fmt.Println("ok")
		default:
			return fmt.Errorf("op %q", op)
		}
	}
}

func name(table byte, part uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{table}, part)
}

func number(in *bufio.Reader) uint64 {
	n, _ := binary.ReadUvarint(in)
	return n
}

func text(in *bufio.Reader) []byte {
	b := make([]byte, number(in))
	io.ReadFull(in, b)
	return b
}

type bolt struct {
	db *bbolt.DB
	tx *bbolt.Tx
}

func openBolt(path string) (side, error) {
	db, err := bbolt.Open(path, 0o600, nil)
	return &bolt{db: db}, err
}

func (b *bolt) begin() (err error) {
	if b.tx == nil {
		b.tx, err = b.db.Begin(true)
	}
	return err
}

func (b *bolt) put(part, key, value []byte) error {
	if err := b.begin(); err != nil {
		return err
	}
	bucket, err := b.tx.CreateBucketIfNotExists(part)
	if err != nil {
		return err
	}
	return bucket.Put(key, value)
}

func (b *bolt) drop(part []byte) error {
	if err := b.begin(); err != nil {
		return err
	}
	return b.tx.DeleteBucket(part)
}

func (b *bolt) commit() error {
	if b.tx == nil {
		return nil
	}
	err := b.tx.Commit()
	b.tx = nil
	return err
}

func (b *bolt) read(part, prefix []byte) (rows, size int, err error) {
	err = b.db.View(func(tx *bbolt.Tx) error {
		bucket := tx.Bucket(part)
		if bucket == nil {
			return nil
		}
		c := bucket.Cursor()
		for k, v := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, v = c.Next() {
			rows, size = rows+1, size+len(bytes.Clone(v))
		}
		return nil
	})
	return rows, size, err
}

type pebbles struct {
	db    *pebble.DB
	batch *pebble.Batch
}

func openPebble(dir string) (side, error) {
	cache := pebble.NewCache(16 << 20)
	db, err := pebble.Open(dir, &pebble.Options{Cache: cache, MemTableSize: 16 << 20,
		Logger: quiet{}})
	if err != nil {
		return nil, err
	}
	return &pebbles{db, db.NewBatch()}, nil
}

type quiet struct{}

func (quiet) Infof(string, ...any)              {}
func (quiet) Errorf(format string, args ...any) { log.Printf(format, args...) }
func (quiet) Fatalf(format string, args ...any) { log.Fatalf(format, args...) }

func (p *pebbles) put(part, key, value []byte) error {
	return p.batch.Set(append(part, key...), value, nil)
}

func (p *pebbles) drop(part []byte) error {
	return p.batch.DeleteRange(part, append(bytes.Clone(part), 255, 255, 255, 255), nil)
}

func (p *pebbles) commit() error {
	err := p.batch.Commit(pebble.Sync)
	p.batch.Close()
	p.batch = p.db.NewBatch()
	return err
}

func (p *pebbles) read(part, prefix []byte) (rows, size int, err error) {
	from := append(bytes.Clone(part), prefix...)
	it, err := p.db.NewIter(
		&pebble.IterOptions{LowerBound: from, UpperBound: append(bytes.Clone(from), 255, 255,
			255, 255)},
	)
	if err != nil {
		return 0, 0, err
	}
	for it.First(); it.Valid(); it.Next() {
		v, err := it.ValueAndErr()
		if err != nil {
			return 0, 0, errors.Join(err, it.Close())
		}
		rows, size = rows+1, size+len(bytes.Clone(v))
	}
	return rows, size, it.Close()
}
