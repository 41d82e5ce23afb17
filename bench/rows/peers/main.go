// Command peers keeps rows in Pebble, for bench/rows: a module of its own, so that the product does
// not depend on it. It does what its standard input says; see bench/rows/ops.go.
//
// Pebble gets the layout that suits data which expires: rows of a table that expire in the same
// part of its TTL have a prefix of their own, which is deleted as a whole.
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
	"time"

	"github.com/cockroachdb/pebble/v2"
)

func main() {
	log.SetFlags(0)
	s, err := openPebble(os.Args[1])
	if err == nil {
		err = serve(s, bufio.NewReaderSize(os.Stdin, 1<<20))
	}
	if err != nil {
		log.Fatalln("peers:", err)
	}
}

// parts are the parts of each table that are there, by when their last row expires.
var parts = map[byte]map[uint64]bool{}

func serve(s *pebbles, in *bufio.Reader) error {
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

type pebbles struct {
	db    *pebble.DB
	batch *pebble.Batch
}

func openPebble(dir string) (*pebbles, error) {
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

// commit makes all durable.
func (p *pebbles) commit() error {
	err := p.batch.Commit(pebble.Sync)
	p.batch.Close()
	p.batch = p.db.NewBatch()
	return err
}

// read counts the rows of a part whose keys have a prefix.
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
