package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
)

// What a side is told, on its standard input, numbers as varints and bytes behind their length:
//
//	P table width expires partition clustering value
//	  a row; width is how long, in seconds, a part of the TTL is
//	C now
//	  make all durable, and forget what has expired
//	R table partition clustering from to
//	  read rows whose clustering key begins so, and which expire from..to; answered
//	  "rows bytes µs"
//	T table part
//	  after a start: rows that expire until then are there
//	Q
//	  answered "ok"

// kind is a table of the workload, in the proportions of store's.
type kind struct {
	ttl, width uint64 // seconds
}

var kinds = map[byte]kind{
	'f': {3600, 180},           // fresh: a frame each 20 s, compressed already
	'w': {3 * 3600, 480},       // windows: five rows each five minutes
	'h': {14 * 86400, 50_400},  // hours: forty rows an hour
	'r': {60 * 86400, 216_000}, // rollups
}

const (
	partsOfHour = 40
	begin       = uint64(1_800_000_000 / 86400 * 86400)
)

// load makes the workload, the same each time.
type load struct {
	out    *bufio.Writer
	nodes  int
	random *rand.Rand
	noise  []byte // cannot be compressed
	half   []byte // can, to half
	bytes  int64  // of keys and values
	rows   int64
	parts  map[byte]map[uint64]bool
	each   bool // each frame is made durable alone, not a minute's together
}

func newLoad(out io.Writer, nodes int) *load {
	l := &load{
		out:    bufio.NewWriterSize(out, 1<<20),
		nodes:  nodes,
		random: rand.New(rand.NewPCG(29, 1)),
		noise:  make([]byte, 4<<20),
		half:   make([]byte, 4<<20),
		parts:  map[byte]map[uint64]bool{},
	}
	for i := range l.noise {
		n := l.random.Uint32()
		l.noise[i], l.half[i] = byte(n), byte(n>>8)&15
	}
	return l
}

func (l *load) number(n uint64) {
	var b [10]byte
	l.out.Write(b[:binary.PutUvarint(b[:], n)])
}

func (l *load) text(b []byte) {
	l.number(uint64(len(b)))
	l.out.Write(b)
}

func partitionOf(node int, at uint64) []byte {
	id := rand.New(rand.NewPCG(7, uint64(node)))
	b := append([]byte("account1"), make([]byte, 16)...)
	binary.BigEndian.PutUint64(b[8:], id.Uint64())
	binary.BigEndian.PutUint64(b[16:], id.Uint64())
	return binary.BigEndian.AppendUint64(b, at)
}

// put writes a row at a time, seconds.
func (l *load) put(table byte, now uint64, partition, clustering []byte, size int) {
	k := kinds[table]
	expires := now + k.ttl
	pool := l.half
	if table == 'f' {
		pool = l.noise
	}
	from := l.random.IntN(len(pool) - size)
	l.out.WriteByte('P')
	l.out.WriteByte(table)
	l.number(k.width)
	l.number(expires)
	l.text(partition)
	l.text(clustering)
	l.text(pool[from : from+size])
	l.bytes += int64(len(partition) + len(clustering) + size)
	l.rows++
	if l.parts[table] == nil {
		l.parts[table] = map[uint64]bool{}
	}
	l.parts[table][(expires/k.width+1)*k.width] = true
}

// minute writes what a fleet writes in a minute: three frames a node, and what is due.
func (l *load) minute(now uint64) {
	at := func(prefix []byte, t uint64) []byte { return binary.BigEndian.AppendUint64(prefix, t) }
	for node := range l.nodes {
		for s := uint64(0); s < 60; s += 20 {
			l.put('f', now+s, partitionOf(node, (now+s)/300), at(nil, now+s),
				2000+l.random.IntN(1000))
			if l.each {
				l.commit(now)
			}
		}
		if now%300 == 0 {
			for part := range byte(5) {
				l.put('w', now, partitionOf(node, now/3600), at([]byte{part}, now),
					1600+l.random.IntN(1600))
			}
		}
		if now%3600 == 60*uint64(node%60) {
			for part := range byte(partsOfHour) {
				size := 500 + l.random.IntN(4500)
				if part == 0 {
					size = 60_000
				}
				if part == 0 && node == 0 {
					size = 256 << 10
				}
				l.put('h', now, partitionOf(node, now/86400), at([]byte{part}, now), size)
			}
			l.put('r', now, partitionOf(node, now/(30*86400)), at([]byte{1}, now), 6000)
		}
	}
	l.commit(now + 60)
}

func (l *load) commit(now uint64) {
	l.out.WriteByte('C')
	l.number(now)
}

// tell tells a side that has started again what is there at a time.
func (l *load) tell(now uint64) {
	for table, parts := range l.parts {
		for part := range parts {
			if part > now {
				l.out.WriteByte('T')
				l.out.WriteByte(table)
				l.number(part)
			}
		}
	}
	l.commit(now)
}

// read asks for one metric over a day.
func (l *load) read(node int, day uint64, part byte) {
	l.out.WriteByte('R')
	l.out.WriteByte('h')
	l.text(partitionOf(node, day))
	l.text([]byte{part})
	first := day*86400 + kinds['h'].ttl
	l.number(first)
	l.number(first + 86400 - 1)
	l.out.Flush()
}

// answers reads a side's answers.
type answers struct{ in *bufio.Reader }

func (a answers) line() (string, error) { return a.in.ReadString('\n') }

func (a answers) rows() (rows, bytes int, us float64, err error) {
	s, err := a.line()
	if err == nil {
		_, err = fmt.Sscan(s, &rows, &bytes, &us)
	}
	return rows, bytes, us, err
}
