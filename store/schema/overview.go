package schema

import (
	"context"

	"github.com/ringwatch/ringwatch/store/cutovers"
	"github.com/ringwatch/ringwatch/store/rows"
)

// Overview is what ringwatch schema show prints.
type Overview struct {
	Ranges []Range
	rows.Use
}

// Range is a range of time and the generation that serves it.
type Range struct {
	cutovers.Cutover
	Until   int64 // the next cutover; 0: none
	Expires int64 // when its last data has expired; 0: it goes on
}

// Show describes the schema as it is. A node that does not answer is left out and counted.
func (s *Schema) Show(ctx context.Context) (Overview, error) {
	var o Overview
	list, err := s.config.Cutovers.All(ctx)
	if err != nil {
		return o, err
	}
	for i, c := range list {
		r := Range{Cutover: c}
		if until, ends := s.config.Cutovers.ServesUntil(list, i); ends {
			r.Until, r.Expires = list[i+1].At, until
		}
		o.Ranges = append(o.Ranges, r)
	}
	o.Use, err = s.config.Database.Use(ctx)
	return o, err
}
