package latest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ringwatch/ringwatch/api/exposition"
	"github.com/ringwatch/ringwatch/api/payload"
	"github.com/ringwatch/ringwatch/api/reply"
	"github.com/ringwatch/ringwatch/dictionary/profile"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/query/share"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/selecting"
)

// Encode reads a node's newest state and returns it encoded; nil without an error if there is none.
func (c *Encodings) Encode(ctx context.Context, account string, n *window.Node, form Form,
	as *profile.Profile) (*Encoded, error) {
	k := keyOf(account, n, form, as)
	return c.share(ctx, account,
		fmt.Sprintf("encoded/%d/%s/%s/%s", form, account, n.ID, k.profile),
		func(ctx context.Context) (*Encoded, error) {
			state, err := c.reader.Latest(ctx, account, n)
			if err != nil || state.Window == nil {
				return nil, err
			}
			e := &Encoded{Heard: state.Seen, Interval: state.Node.Interval, recent: state.Recent,
				Missing: state.Missing}
			if known := c.get(k); known != nil && known.Heard == e.Heard {
				e.Payload, e.Families, e.Size = known.Payload, known.Families, known.Size
			} else if err := c.encode(ctx, e, n, state.Window, k, as); err != nil {
				return nil, err
			}
			c.put(k, e)
			return e, nil
		})
}

// encode encodes the newest values of a window.
func (c *Encodings) encode(ctx context.Context, e *Encoded, n *window.Node, w *window.Window, k key,
	as *profile.Profile) error {
	var node exposition.Node
	err := share.OnCPU(ctx, func() (err error) {
		node.Series, err = selecting.LatestWithin(ctx, w, memory.Of(ctx))
		return err
	})
	if err != nil {
		return err
	}
	switch {
	case k.form == JSON:
		e.Size = new(payload.Options).Size(node.Series)
	case as != nil:
		if node, err = exposition.UnderProfile(ctx, c.reader, k.account, n, w, node.Series,
			as); err != nil {
			return err
		}
		e.Size = exposition.Size(node.Series)
	default:
		node.Series = slices.DeleteFunc(node.Series, exposition.NeverCounted)
		e.Size = exposition.Size(node.Series)
	}
	if err := memory.Of(ctx).Take(e.Size.Bytes); err != nil {
		return err
	}
	return share.OnCPU(ctx, func() error {
		if k.form == JSON {
			e.encodeJSON(node.Series)
		} else {
			e.encodeText(&node, k.form == OpenMetrics)
		}
		return nil
	})
}

func (e *Encoded) encodeJSON(series []window.Series) {
	var text []byte
	var options payload.Options
	for i := range series {
		if i > 0 {
			text = append(text, ',')
		}
		text = options.AppendSeries(text, &series[i])
	}
	e.Payload = new(reply.Deflate(text))
}

// encodeText writes a node's exposition text metric by metric, in the order of their names.
func (e *Encoded) encodeText(node *exposition.Node, open bool) {
	series := node.Series
	slices.SortStableFunc(series, func(a, b window.Series) int {
		return strings.Compare(a.Metric.Name, b.Metric.Name)
	})
	lines := exposition.NewLines(open, nil)
	for i := 0; i < len(series); {
		first := &series[i]
		lines.Reset()
		for ; i < len(series) && series[i].Metric.Name == first.Metric.Name; i++ {
			lines.Series(&series[i])
		}
		metric := *first.Metric // not all of the window
		e.Families = append(e.Families,
			Family{&metric, node.Heads[metric.Name], reply.Deflate(lines.Text())})
	}
}
