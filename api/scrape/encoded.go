package scrape

import (
	"context"
	"slices"

	"github.com/ringwatch/ringwatch/api/exposition"
	"github.com/ringwatch/ringwatch/api/latest"
	"github.com/ringwatch/ringwatch/api/reply"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/query/share"
)

// writeEncoded is write from what is kept of each node.
func (s *scraping) writeEncoded() error {
	c := s.config
	open := exposition.PrefersOpen(s.r)
	list, err := s.encoded(open)
	if err != nil {
		return err
	}
	now, newest := c.Clock().UnixMilli(), int64(0)
	var missing []string
	list = slices.DeleteFunc(list, func(e *latest.Encoded) bool {
		if e == nil {
			return true
		}
		missing = read.AppendMissing(missing, e.Missing)
		newest = max(newest, e.Heard)
		return c.State(now, e.Heard, e.Interval) == read.StateDown
	})
	for _, e := range list {
		if err := s.budget.Take(e.Size); err != nil {
			return err
		}
	}
	if len(list) == 0 {
		return s.refuse(newest, missing)
	}
	c.Metrics.NotePartial(s.w, missing)
	c.Metrics.AddValues(s.budget.Values())
	writeFamilies(reply.NewJoined(s.w, s.r, exposition.ContentType(open)), list, open)
	return nil
}

// encoded returns the nodes' newest values, nil for those that have none. When it returns, the work
// is over: who reads the answer may take its time.
func (s *scraping) encoded(open bool) ([]*latest.Encoded, error) {
	c, form := s.config, latest.Text
	if open {
		form = latest.OpenMetrics
	}
	list := c.Encodings.Current(s.r, s.who, s.nodes, form, s.profile)
	var unknown []int
	for i, e := range list {
		if e == nil {
			unknown = append(unknown, i)
		}
	}
	ctx, cancel := context.WithCancel(s.r.Context())
	defer cancel()
	// A cluster's encoding takes a processor for as long as a dashboard's panels do. Who asks for
	// one node's values, or whether we are well, does not wait behind it.
	if len(unknown) > 0 && c.Queue != nil {
		within, end, err := c.Queue(ctx, s.who.Account)
		if err != nil {
			return nil, err
		}
		defer end()
		ctx = within
	}
	type encoding struct {
		encoded *latest.Encoded
		err     error
	}
	next := share.InOrder(ctx, len(unknown), func(ctx context.Context, i int) encoding {
		ctx, end := c.Part(ctx)
		defer end() // what is encoded holds nothing of what was read
		e, err := c.Encodings.Encode(ctx, s.who.Account, &s.nodes[unknown[i]], form, s.profile)
		return encoding{e, err}
	})
	for i, at := range unknown {
		got := next(i)
		if got.err != nil {
			return nil, got.err
		}
		list[at] = got.encoded
	}
	return list, nil
}

// writeFamilies writes what nodes say of each metric together, by name.
func writeFamilies(out *reply.Writer, list []*latest.Encoded, open bool) {
	defer out.End()
	metrics := map[string]bool{}
	rest := make([][]latest.Family, len(list))
	var names []string
	for i, e := range list {
		rest[i] = e.Families
		for j := range e.Families {
			if name := e.Families[j].Metric.Name; !metrics[name] {
				metrics[name] = true
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	lines := exposition.NewLines(open, metrics)
	for _, name := range names {
		lines.Reset()
		for i := range rest {
			if len(rest[i]) == 0 || rest[i][0].Metric.Name != name {
				continue
			}
			f := &rest[i][0]
			rest[i] = rest[i][1:]
			var head []byte
			if len(lines.Text()) == 0 {
				lines.Head(f.Metric, f.Head)
				head = lines.Text()
			}
			if out.Join(head, &f.Lines) != nil {
				return // the client went away
			}
		}
	}
	if open {
		out.WriteString("# EOF\n")
	}
}
