package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/rows/files"
)

// serve does with our own engine what its standard input says.
func serve(dir string) error {
	var clock atomic.Int64
	clock.Store(int64(begin))
	tables := map[byte]*rows.Table{}
	var list []*rows.Table
	for name, k := range kinds {
		t := &rows.Table{
			Name:       "t_" + string(name),
			Partition:  []rows.Column{{Name: "p", Kind: rows.Blob}},
			Clustering: []rows.Column{{Name: "c", Kind: rows.Blob}},
			Values:     []rows.Column{{Name: "v", Kind: rows.Blob}},
			TTL: time.Duration(
				k.ttl,
			) * time.Second, AgeUnit: time.Minute, Compression: rows.Zip(1, 16),
		}
		if name == 'h' || name == 'r' {
			t.AgeUnit, t.Compression = time.Hour, rows.Zip(3, 64)
		}
		tables[name] = t
		list = append(list, t)
	}
	e, err := files.Open(dir,
		files.Config{Now: func() time.Time { return time.Unix(clock.Load(), 0) }})
	if err != nil {
		return err
	}
	ctx := context.Background()
	if err := e.Create(ctx, list...); err != nil {
		return err
	}
	fmt.Println("ready")
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	number := func() uint64 { n, _ := binary.ReadUvarint(in); return n }
	text := func() []byte {
		b := make([]byte, number())
		io.ReadFull(in, b)
		return b
	}
	var wg sync.WaitGroup
	var failed atomic.Pointer[error]
	// As in the store, rows of a partition are written together and partitions side by side.
	var partition []byte
	var table *rows.Table
	var rowsOf []rows.Row
	send := func() {
		if len(rowsOf) == 0 {
			return
		}
		t, some := table, rowsOf
		rowsOf = nil
		wg.Go(func() {
			if err := e.Put(ctx, rows.Work{}, t, some...); err != nil {
				failed.Store(&err)
			}
		})
	}
	for {
		op, err := in.ReadByte()
		if err == io.EOF {
			e.Close()
			return nil
		}
		if err != nil {
			return err
		}
		switch op {
		case 'P':
			name, _ := in.ReadByte()
			_, expires := number(), int64(number())
			p, c, v := text(), text(), text()
			if t := tables[name]; t != table || !bytes.Equal(p, partition) {
				send()
				table, partition = t, p
			}
			rowsOf = append(
				rowsOf,
				rows.Row{
					Key:    []any{p, c},
					Values: []any{v},
					TTL:    time.Duration(expires-clock.Load()) * time.Second,
				},
			)
		case 'C':
			send()
			wg.Wait()
			if err := failed.Load(); err != nil {
				return *err
			}
			clock.Store(int64(number()))
		case 'T':
			in.ReadByte()
			number()
		case 'R':
			name, _ := in.ReadByte()
			p, c := text(), text()
			number() // when they expire: the engine has filters instead
			number()
			begun, n, size := time.Now(), 0, 0
			q := rows.Query{
				Table:   tables[name],
				Key:     []any{p},
				From:    c,
				To:      append(c, bytes.Repeat([]byte{255}, 8)...),
				Columns: []string{"v"},
			}
			err := e.Read(ctx, rows.Work{}, q, func(scan func(...any) bool) bool {
				var v []byte
				if !scan(&v) {
					return false
				}
				n, size = n+1, size+len(v)
				return true
			})
			if err != nil {
				return err
			}
			fmt.Println(n, size, time.Since(begun).Microseconds())
		case 'Q':
			fmt.Println("ok")
		}
	}
}
