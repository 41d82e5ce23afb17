package values

import (
	"context"
	"net/http"
	"strconv"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/api/budget"
	"github.com/ringwatch/ringwatch/api/literal"
	"github.com/ringwatch/ringwatch/api/refusal"
	"github.com/ringwatch/ringwatch/api/reply"
	"github.com/ringwatch/ringwatch/query/share"
	"github.com/ringwatch/ringwatch/window"
)

// asking is a request for metrics that is being answered.
type asking struct {
	config   *Config
	question *question
	w        http.ResponseWriter
	r        *http.Request
	who      account.Principal
	nodes    []window.Node
}

// element is one node of a streamed answer.
type element struct {
	size    budget.Size
	series  int
	append  func(b []byte, i int) []byte // a series
	payload *reply.Deflated              // the whole payload, instead of append
	missing []string                     // what is stored and cannot be read, in words
	err     error                        // nothing of it could be read
	end     func()                       // gives back the memory that it takes; nil: it takes none
}

// load reads one node of an answer.
type load func(ctx context.Context, n *window.Node) element

// stream writes a JSON list with an element per node, in order, while it reads the next ones.
//
// What goes wrong with the first node is the request's error and nothing is written. Later the
// status is gone; then the node's element has no payload, and its "partial" says why. So a list
// is never torn, and what it lacks is in it. reply.PartialHeader tells how many such sentences
// there are: as a header if the answer has one node, else as a trailer.
//
// known is nil, or has an element for each node; those with a payload are not read, and read
// returns payloads.
func (a *asking) stream(size *budget.Budget, known []element, read load) error {
	ctx, cancel := context.WithCancel(a.r.Context())
	defer cancel()
	next := a.elements(ctx, known, read)
	l := list{asking: a, joined: known != nil}
	defer l.end()
	var over error // the answer is full
	for i := range a.nodes {
		e := element{err: over}
		if over == nil {
			e = next(i)
			if e.err == nil {
				if e.err = size.Take(e.size); e.err != nil {
					over = e.err
					cancel()
				}
			}
		}
		if e.err != nil {
			if i == 0 {
				return e.err
			}
			e = element{missing: []string{refusal.Of(a.r.Context(), e.err).Message}, end: e.end}
		}
		if l.write(i, &e) != nil {
			return nil // the client went away
		}
		if e.end != nil {
			e.end()
		}
	}
	l.out.WriteString("]\n")
	a.config.Metrics.AddValues(size.Values())
	if len(a.nodes) > 1 && l.partial > 0 {
		a.config.Metrics.AddPartial()
		a.w.Header().Set(http.TrailerPrefix+reply.PartialHeader, strconv.Itoa(l.partial))
	}
	return nil
}

// elements returns the function that returns the element of each node, in order: a known one, or
// one that is read ahead.
func (a *asking) elements(ctx context.Context, known []element, read load) func(i int) element {
	var unknown []int
	for i := range a.nodes {
		if known == nil || known[i].payload == nil {
			unknown = append(unknown, i)
		}
	}
	next := share.InOrder(ctx, len(unknown), func(ctx context.Context, i int) element {
		within, end := a.config.Part(ctx)
		e := read(within, &a.nodes[unknown[i]])
		e.end = end
		return e
	})
	done := 0 // of the unknown
	return func(i int) element {
		if done == len(unknown) || unknown[done] != i {
			return known[i]
		}
		done++
		return next(done - 1)
	}
}

// list is a JSON list that is being written.
type list struct {
	asking  *asking
	joined  bool          // it takes payloads
	out     *reply.Writer // nil: it has not begun
	buffer  []byte
	partial int // sentences of what is missing
}

// write writes the i-th node. The error says that the client went away.
func (l *list) write(i int, e *element) error {
	l.begin(e.missing)
	l.partial += len(e.missing)
	b := appendNode(l.buffer[:0], &l.asking.nodes[i], e.missing, i == 0)
	for j := range e.series {
		if j > 0 {
			b = append(b, ',')
		}
		if b = e.append(b, j); len(b) >= 64<<10 {
			if _, err := l.out.Write(b); err != nil {
				return err
			}
			b = b[:0]
		}
	}
	if e.payload != nil {
		if err := l.out.Join(b, e.payload); err != nil {
			return err
		}
		b = b[:0]
	}
	l.buffer = append(b, "]}"...)
	_, err := l.out.Write(l.buffer)
	return err
}

// begin begins the answer, if that was not done.
func (l *list) begin(missing []string) {
	if l.out != nil {
		return
	}
	a := l.asking
	if len(a.nodes) == 1 {
		a.config.Metrics.NotePartial(a.w, missing)
	}
	if l.joined {
		l.out = reply.NewJoined(a.w, a.r, "application/json")
	} else {
		l.out = reply.New(a.w, a.r, "application/json")
	}
}

func (l *list) end() {
	if l.out != nil {
		l.out.End()
	}
}

// appendNode appends what stands before a node's payload.
func appendNode(b []byte, n *window.Node, missing []string, first bool) []byte {
	if first {
		b = append(b, '[')
	} else {
		b = append(b, ',')
	}
	b = append(b, `{"id":`...)
	b = literal.AppendString(b, n.ID.String())
	for _, f := range []struct{ name, value string }{{"cluster", n.Cluster},
		{"datacenter", n.Datacenter}, {"rack", n.Rack}} {
		b = append(append(append(b, `,"`...), f.name...), `":`...)
		b = literal.AppendString(b, f.value)
	}
	for i, text := range missing {
		if i == 0 {
			b = append(b, `,"partial":[`...)
		} else {
			b = append(b, ',')
		}
		b = literal.AppendString(b, text)
	}
	if len(missing) > 0 {
		b = append(b, ']')
	}
	return append(b, `,"payload":[`...)
}
