package api

import (
	"context"
	"fmt"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/window"
)

// once lets requests that want the same thing at the same time share one reading of it, which does not end with the request that began it, but after
// RequestTimeout. What read returns is shared, so nobody changes it.
func once[T any](ctx context.Context, s *Server, key string, read func(context.Context) (T, error)) (T, error) {
	result := s.flights.DoChan(key, func() (any, error) {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.config.RequestTimeout)
		defer cancel()
		s.metrics.flights.Inc()
		return read(bounded)
	})
	var none T
	select {
	case <-ctx.Done():
		return none, ctx.Err()
	case r := <-result:
		if r.Err != nil {
			return none, r.Err
		}
		return r.Val.(T), nil
	}
}

// latest returns a node's newest state; its Window is nil without an error if there is none.
func (s *Server) latest(ctx context.Context, accountName string, n *Node) (newestState, error) {
	return once(ctx, s, "latest/"+accountName+"/"+n.ID.String(), func(ctx context.Context) (newestState, error) {
		return s.readLatest(ctx, accountName, n)
	})
}

// ranged is a time range of a node, and what is missing in it.
type ranged struct {
	series  []window.Series
	missing []string
}

// timeRange returns a node's values from from to to. The list is the caller's, what it points to is shared.
func (s *Server) timeRange(ctx context.Context, accountName string, n *Node, from, to int64, selectors [][]*labels.Matcher) ([]window.Series, []string, error) {
	var key strings.Builder
	fmt.Fprintf(&key, "range/%s/%s/%d/%d", accountName, n.ID, from, to)
	for _, matchers := range selectors {
		fmt.Fprintf(&key, "/%q", matchers)
	}
	r, err := once(ctx, s, key.String(), func(ctx context.Context) (ranged, error) {
		series, missing, err := s.readRange(ctx, accountName, n, from, to, selectors)
		return ranged{series, missing}, err
	})
	return append([]window.Series(nil), r.series...), r.missing, err
}
