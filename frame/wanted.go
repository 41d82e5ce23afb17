package frame

import (
	"bytes"
	"sync"
)

// Wanted says which metrics somebody reads frames for. It is made once for many frames: it
// remembers what it wants of each dictionary that Dictionaries holds. It may be used from many
// goroutines.
type Wanted struct {
	metric  func(name string) bool
	known   *Dictionaries
	nothing bool

	mu sync.Mutex
	of map[*dictionary][][]bool
}

// NewWanted wants the metrics whose name metric says yes to. metric is never called by two
// goroutines at once. known may be nil: then each key frame's dictionary is read anew.
func NewWanted(metric func(name string) bool, known *Dictionaries) *Wanted {
	return &Wanted{metric: metric, known: known, of: map[*dictionary][][]bool{}}
}

// WantNothing wants no metric: of frames only their headers are read, payloads stay packed.
func WantNothing() *Wanted {
	return &Wanted{metric: func(string) bool { return false }, nothing: true}
}

// Metric reports whether a metric of that name is wanted; all are of a nil Wanted.
func (w *Wanted) Metric(name string) bool {
	if w == nil {
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.metric(name)
}

// choose returns by number of a template's metrics which are wanted, nil if none is.
func (w *Wanted) choose(t *Template) (list []bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.chosen(t)
}

func (w *Wanted) chosen(t *Template) (list []bool) {
	for i := range t.Metrics {
		if w.metric(t.Metrics[i].Name) {
			if list == nil {
				list = make([]bool, len(t.Metrics))
			}
			list[i] = true
		}
	}
	return list
}

// maxChosen bounds for how many dictionaries a Wanted remembers what it wants of them.
const maxChosen = 64

// chooseOf is choose for all templates of a dictionary.
func (w *Wanted) chooseOf(d *dictionary) [][]bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	list, found := w.of[d]
	if !found {
		list = make([][]bool, len(d.templates))
		for i := range d.templates {
			list[i] = w.chosen(&d.templates[i])
		}
		if len(w.of) < maxChosen {
			w.of[d] = list
		}
	}
	return list
}

// Dictionaries remembers bounds and templates of key frames that were read before. Nodes of one
// kind send the same ones, in the same bytes, in each of their key frames. What frames that were
// decoded with it hold of them is shared, and nobody changes it. It may be used from many
// goroutines.
//
// It is bounded in bytes: the oldest goes for a new one. Whoever reads frames of many accounts has
// one for each, so that one account's frames never push out what another's have brought.
type Dictionaries struct {
	most int64

	mu    sync.RWMutex
	list  []*dictionary // newest last
	bytes int64
}

// NewDictionaries returns one of so many bytes.
func NewDictionaries(bytes int64) *Dictionaries { return &Dictionaries{most: bytes} }

// dictionary is one that has been read. It is immutable.
type dictionary struct {
	raw       []byte
	bounds    []Bounds
	templates []Template
	sizes     [][]int // by template
	bytes     int64
}

// maxDictionaries bounds how many dictionaries are compared with what a frame begins with.
const maxDictionaries = 16

// find returns the dictionary that a payload goes on with, nil if it is not known.
func (k *Dictionaries) find(b []byte) *dictionary {
	if k == nil {
		return nil
	}
	k.mu.RLock()
	defer k.mu.RUnlock()
	for i := len(k.list) - 1; i >= 0; i-- {
		if bytes.HasPrefix(b, k.list[i].raw) {
			return k.list[i]
		}
	}
	return nil
}

// keep remembers a dictionary that was read from raw, unless it is larger than a quarter of the
// bound.
func (k *Dictionaries) keep(raw []byte, d *decoder) {
	if k == nil {
		return
	}
	n := &dictionary{bounds: d.f.Bounds, templates: d.f.Templates, bytes: int64(len(raw)) + 256}
	for i := range n.bounds {
		n.bytes += 48 + boundSize*int64(len(n.bounds[i].Upper))
	}
	for i := range n.templates {
		n.sizes = append(n.sizes, d.templates[i].sizes)
		n.bytes += 256 + (metricSize+numberSize)*int64(len(n.templates[i].Metrics))
	}
	if n.bytes > k.most/4 {
		return
	}
	n.raw = bytes.Clone(raw)
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, known := range k.list {
		if bytes.Equal(known.raw, n.raw) { // somebody was quicker
			return
		}
	}
	k.list = append(k.list, n)
	k.bytes += n.bytes
	drop := 0
	for k.bytes > k.most || len(k.list)-drop > maxDictionaries {
		k.bytes -= k.list[drop].bytes
		drop++
	}
	k.list = append([]*dictionary(nil), k.list[drop:]...)
}
