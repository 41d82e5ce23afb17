package generations

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/columns"
	"github.com/ringwatch/ringwatch/store/cutovers"
	"github.com/ringwatch/ringwatch/store/samples"
	"github.com/ringwatch/ringwatch/store/spans"
)

// Default is what a new keyspace begins with.
const Default = "v3"

// Names are the names of all generations, oldest first.
func Names() []string { return []string{"v1", "v2", "v3"} }

// Known reports whether a generation of a name is there.
func Known(name string) bool { return slices.Contains(Names(), name) }

// ErrUnknown is wrapped by the error about a generation that this program does not know.
var ErrUnknown = errors.New("store: unknown generation")

// Set is all generations, and the table that says which of them serves which windows.
type Set struct {
	Cutovers *cutovers.Table
	V1, V2   *samples.Tables
	V3       *columns.Tables
}

// Named returns the generation of a name in the cutover table, at work for a task.
func (s *Set) Named(name string, task spans.Task) (Generation, error) {
	switch name {
	case "v1":
		return s.V1.At(task), nil
	case "v2":
		return s.V2.At(task), nil
	case "v3":
		return s.V3.At(task), nil
	case cutovers.NoGeneration:
		return none{}, nil
	}
	return nil, fmt.Errorf("%w: %q; update this program", ErrUnknown, name)
}

// Route is a range of windows and what serves it.
type Route struct {
	From, To   int64 // first and last window
	Generation Generation
}

// Routes returns what serves the windows from … to, both included.
func (s *Set) Routes(ctx context.Context, task spans.Task, from, to int64) ([]Route, error) {
	list, err := s.Cutovers.Known(ctx, to)
	if err != nil {
		return nil, err
	}
	var routes []Route
	for i, c := range list {
		first, last := max(from, c.At), to
		if i+1 < len(list) {
			last = min(to, list[i+1].At-calendar.WindowMillis)
		}
		if first > last {
			continue
		}
		g, err := s.Named(c.Generation, task)
		if err != nil {
			return nil, err
		}
		routes = append(routes, Route{first, last, g})
	}
	return routes, nil
}

// At returns what serves a window.
func (s *Set) At(ctx context.Context, task spans.Task, start int64) (Generation, error) {
	routes, err := s.Routes(ctx, task, start, start)
	if err != nil {
		return nil, err
	}
	if len(routes) != 1 {
		return nil, fmt.Errorf("%w: none serves the window at %s; run ringwatch schema apply",
			ErrUnknown, calendar.Text(start))
	}
	return routes[0].Generation, nil
}
