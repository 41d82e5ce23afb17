// Command peers keeps rows in Pebble, for bench/rows: a module of its own, so that the product does
// not depend on it. It does what its standard input says; see bench/rows/ops.go.
//
// Pebble gets the layout that suits data which expires: rows of a table that expire in the same
// part of its TTL have a prefix of their own, which is deleted as a whole; a filter says which of
// its files have a partition; a read asks only the parts that can have its rows.
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
	"github.com/cockroachdb/pebble/v2/bloom"
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

// widths says how long a part of each table is, in seconds; see kinds in bench/rows/ops.go.
var widths = map[byte]uint64{'f': 180, 'w': 480, 'h': 50_400, 'r': 216_000}

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
			partition, clustering := text(in), text(in)
			first, last, width := number(in), number(in), widths[table]
			begun, rows, size := time.Now(), 0, 0
			for part := (first/width + 1) * width; part <= (last/width+1)*width; part += width {
				n, b, err := s.read(append(name(table, part), partition...), clustering)
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

// prefix is a table, a part and a partition: what a filter knows.
const prefix = 1 + 8 + 32

// openPebble opens a database as it suits rows of these sizes: zstd in the lowest levels, blocks of
// some rows, filters by partition. With SEPARATE in the environment, values are in files of their
// own, which compactions leave where they are.
func openPebble(dir string) (*pebbles, error) {
	byPartition := *pebble.DefaultComparer
	byPartition.Name = "partition"
	byPartition.Split = func(key []byte) int { return min(len(key), prefix) }
	o := &pebble.Options{
		Cache:              pebble.NewCache(16 << 20),
		Comparer:           &byPartition,
		FormatMajorVersion: pebble.FormatNewest,
		MemTableSize:       16 << 20,
		Logger:             quiet{},
	}
	for i := range o.Levels {
		o.Levels[i].BlockSize = 32 << 10
		o.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	o.ApplyCompressionSettings(func() pebble.DBCompressionSettings {
		return pebble.DBCompressionGood
	})
	o.Experimental.EnableDeleteOnlyCompactionExcises = func() bool { return true }
	if os.Getenv("SEPARATE") != "" {
		o.Experimental.ValueSeparationPolicy = func() pebble.ValueSeparationPolicy {
			return pebble.ValueSeparationPolicy{Enabled: true, MinimumSize: 256,
				MaxBlobReferenceDepth: 10, RewriteMinimumAge: time.Minute,
				TargetGarbageRatio: 0.2}
		}
	}
	db, err := pebble.Open(dir, o)
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

// drop forgets a part, with the batch. Excise, which cuts it out at once, flushes the memtable and
// ends compactions under way: two to three times the writing.
func (p *pebbles) drop(part []byte) error {
	end := binary.BigEndian.AppendUint64(bytes.Clone(part[:1]), binary.BigEndian.Uint64(part[1:])+1)
	return p.batch.DeleteRange(part, end, nil)
}

// commit makes all durable.
func (p *pebbles) commit() error {
	err := p.batch.Commit(pebble.Sync)
	p.batch.Close()
	p.batch = p.db.NewBatch()
	return err
}

// read counts a partition's rows in a part whose clustering keys begin so.
func (p *pebbles) read(partition, clustering []byte) (rows, size int, err error) {
	from := append(bytes.Clone(partition), clustering...)
	it, err := p.db.NewIter(&pebble.IterOptions{
		LowerBound: from,
		UpperBound: append(bytes.Clone(from), bytes.Repeat([]byte{255}, 8)...),
	})
	if err != nil {
		return 0, 0, err
	}
	for ok := it.SeekPrefixGE(from); ok; ok = it.Next() {
		v, err := it.ValueAndErr()
		if err != nil {
			return 0, 0, errors.Join(err, it.Close())
		}
		rows, size = rows+1, size+len(bytes.Clone(v))
	}
	return rows, size, it.Close()
}
