package api

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/query/share"
)

// element is one node of a streamed answer.
type element struct {
	count   func(*budget) error // its size
	n       int                 // series
	append  func(b []byte, i int) []byte
	piece   *piece   // its whole payload, instead of append
	missing []string // what is stored and cannot be read, in words
	err     error    // nothing of it could be read
	end     func()   // gives back the memory that it takes; nil: it takes none
}

// load reads one node of an answer.
type load func(ctx context.Context, n *Node) element

// stream writes a JSON list with an element per node, in order, while it reads the next ones.
//
// What goes wrong with the first node is the request's error and nothing is written. Later the
// status is gone; then the node's element has no payload, and its "partial" says why. So a list
// is never torn, and what it lacks is in it. PartialHeader tells how many such sentences there
// are: as a header if the answer has one node, else as a trailer.
//
// known is nil, or has an element for each node; those with a piece are not read, and read
// returns pieces.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, nodes []Node, size *budget,
	known []element, read load) error {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	out, b := (*answerWriter)(nil), []byte(nil)
	partial := 0
	var over error // the answer is full
	var unknown []int
	for i := range nodes {
		if known == nil || known[i].piece == nil {
			unknown = append(unknown, i)
		}
	}
	next := share.InOrder(ctx, len(unknown), func(ctx context.Context, i int) element {
		within, end := s.deps.Reader.Shared.Part(ctx)
		e := read(within, &nodes[unknown[i]])
		e.end = end
		return e
	})
	done := 0 // of the unknown
	take := func(i int) element {
		if done == len(unknown) || unknown[done] != i {
			return known[i]
		}
		done++
		return next(done - 1)
	}
	for i := range nodes {
		e := element{err: over}
		if over == nil {
			e = take(i)
			if e.err == nil && e.count != nil {
				if e.err = e.count(size); e.err != nil {
					over = e.err
					cancel()
				}
			}
		}
		if e.err != nil {
			if i == 0 {
				return e.err
			}
			e = element{missing: []string{asError(r.Context(), e.err).Message}, end: e.end}
		}
		if out == nil {
			if len(nodes) == 1 {
				s.notePartial(w, e.missing)
			}
			if known == nil {
				out = answer(w, r, "application/json")
			} else {
				out = joined(w, r, "application/json")
			}
			defer out.end()
		}
		partial += len(e.missing)
		b = appendNode(b[:0], &nodes[i], e.missing, i == 0)
		for j := range e.n {
			if j > 0 {
				b = append(b, ',')
			}
			if b = e.append(b, j); len(b) >= 64<<10 {
				if _, err := out.Write(b); err != nil {
					return nil // the client went away
				}
				b = b[:0]
			}
		}
		if e.piece != nil {
			if out.piece(b, e.piece) != nil {
				return nil
			}
			b = b[:0]
		}
		b = append(b, "]}"...)
		if _, err := out.Write(b); err != nil {
			return nil
		}
		if e.end != nil {
			e.end()
		}
	}
	_, _ = out.WriteString("]\n")
	s.metrics.points.Add(float64(size.points))
	if len(nodes) > 1 && partial > 0 {
		s.metrics.partial.Inc()
		w.Header().Set(http.TrailerPrefix+PartialHeader, strconv.Itoa(partial))
	}
	return nil
}

// where returns the nodes that a request's path means: one, a cluster's, or a datacenter's, which
// may be in several clusters.
func (s *Server) where(r *http.Request, p account.Principal) ([]Node, error) {
	of := url.Values{}
	for _, field := range []string{"cluster", "datacenter", "id"} {
		if name := r.PathValue(field); name != "" {
			of.Set(field, name)
		}
	}
	return s.nodesOf(r.Context(), p, of)
}
