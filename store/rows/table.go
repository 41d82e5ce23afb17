package rows

import "time"

// Table says what a table is like.
type Table struct {
	Name    string
	Comment string // what a person who looks into the engine should know

	// Partition columns make the key of a partition, Clustering columns that of a row within it,
	// and Values are all others. New columns are added to the end of Values only.
	Partition, Clustering, Values []Column

	// TTL is after how long rows expire; 0: never.
	TTL time.Duration
	// AgeUnit, an hour or a minute, says that rows come in order of time, are hardly ever written
	// again and expire in that order; the engine divides them by age, in multiples of that unit. 0:
	// rows are replaced at any time.
	AgeUnit time.Duration
	// Grace bounds how long a copy that was away may be told of what it missed; rows must not be
	// shorter-lived than that without need.
	Grace time.Duration
	// Compression is how blocks of rows are compressed.
	Compression Compression
	// Everywhere says that a row is in every datacenter when Put returns: others read it in theirs.
	Everywhere bool
}

// AgeParts is into how many parts an engine divides the rows of a table with an AgeUnit: what has
// expired is gone for good one of so many parts of the TTL later.
const AgeParts = 24

// Column is a column of a table.
type Column struct {
	Name       string
	Kind       Kind
	Descending bool // of a clustering column: the largest value first
}

// Kind is what values a column has.
type Kind uint8

// The kinds, with the Go types that are written and scanned.
const (
	Text    Kind = iota // string
	UUID                // uuid.UUID
	Time                // int64, milliseconds since the Unix epoch
	Int32               // int32 or int
	Int64               // int64
	Double              // float64
	Blob                // []byte
	Texts               // []string
	TextMap             // map[string]string
	BlobMap             // map[string][]byte
)

// Compression says how a table's rows are compressed.
type Compression struct {
	Level   int  // 0: for speed; 1 and more: the higher, the smaller
	BlockKB int  // how much is compressed together, and read at least
	Packed  bool // values are compressed already: a block that does not get smaller stays as it is
}

// Fast is the compression of small tables.
var Fast = Compression{BlockKB: 16}

// Zip returns a compression for size.
func Zip(level, blockKB int) Compression { return Compression{Level: level, BlockKB: blockKB} }

// Keys returns the columns of a row's key, partition columns first.
func (t *Table) Keys() []Column {
	return append(t.Partition[:len(t.Partition):len(t.Partition)], t.Clustering...)
}

// TextColumn is a column of texts.
func TextColumn(name string) Column { return Column{Name: name, Kind: Text} }

// IDColumn is a column of UUIDs.
func IDColumn(name string) Column { return Column{Name: name, Kind: UUID} }

// TimeColumn is a column of times.
func TimeColumn(name string) Column { return Column{Name: name, Kind: Time} }
