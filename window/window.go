// Package window is the type between frames, stores and queries: what one node said in five minutes
// or in an hour, by columns. Start with Window. This room has what all others speak of (whose
// values they are, metrics, dictionaries, series), and the rooms below it do one thing each, here
// in the order in which data passes them:
//
//	columns    one metric of all entities, by its changes, and when each entity was there
//	numbering  decoded frames, their metrics and entities numbered as in a dictionary
//	building   frames → Window
//	following  frames → the values of wanted metrics, frame by frame, for who keeps no window
//	uniting    several windows → one: an hour, or what came late
//	blobs      Window → head, dictionaries, parts (COLUMNS.md) → Window
//	selecting  Window → Series that somebody asked for, Line over several windows, Cells of all
//	rollup     Window → what is kept for years
//	events     what happened on nodes, and how it is asked for; it needs none of the others
//
// What they promise: frames may come in any order and repeatedly, and the window is the same. A
// Window is immutable. Equal windows give equal bytes. Values stay what the agent counted: integers
// with an exponent, bucket counts, doubles, texts; rates, percentiles and floats are made where
// they are asked for. Whatever bytes a decoder is given, the memory it takes is bounded.
//
// They have no clock and no I/O, and of our packages they import frame and frame/codec alone.
package window

// MaxInstants is how many instants a window may have. It bounds what a few hostile bytes can make
// a decoder allocate; at one frame a second a window has 300.
const MaxInstants = 1 << 15

// HourMillis is the length of an hour. Five minutes are frame.WindowMillis.
const HourMillis = 60 * 60_000

// Window is what one node said in five minutes or in an hour, by columns. It is immutable once
// made, so it may be read from many goroutines.
type Window struct {
	Node   Node    // as the newest key frame describes it
	Start  int64   // milliseconds since the Unix epoch
	Length int64   // milliseconds
	Times  []int64 // the instants of all frames, ascending, milliseconds since the Unix epoch
	Types  []*Type // by ascending Dictionary.Key
}

// Bytes returns what the window's columns take, without its dictionaries and the head's bytes.
func (w *Window) Bytes() int64 {
	n := int64(120 + 8*cap(w.Times))
	for _, t := range w.Types {
		n += 100 + 8*int64(len(t.Columns)) + t.Live.Bytes()
		for _, c := range t.Columns {
			n += c.Bytes()
		}
	}
	return n
}

// LiveInstants returns by row at how many of the window's instants the entity was there.
func (w *Window) LiveInstants(t *Type) []uint32 {
	list := make([]uint32, len(t.Rows))
	for row := range list {
		list[row] = uint32(t.Live.Instants(int32(row), int32(len(w.Times))))
	}
	return list
}
