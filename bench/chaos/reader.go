package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/ringwatch/ringwatch/api/reply"
	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/line"
)

// read asks about nodes at random until ctx ends.
func (f *fleet) read(ctx context.Context, number int) {
	random := rand.New(rand.NewPCG(f.Seed, uint64(1000+number)))
	for ctx.Err() == nil {
		n := f.nodes[random.IntN(len(f.nodes))]
		first := random.IntN(len(f.apis))
		back := time.Duration(1+random.IntN(14*60)) * time.Second
		ask := []func(context.Context, string, *node, time.Duration) (answer, error){
			f.rangeOf, f.promOf, f.newestOf,
		}[random.IntN(3)]
		asked := time.Now()
		a, err := f.answered(ctx, first, func(base string) (answer, error) {
			return ask(ctx, base, n, back)
		})
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			if f.upgrading.Load() {
				f.problem(&f.Failed, "no answer about %s: %v", n.name, err)
				break
			}
			f.add(&f.Failed, 1)
		default:
			f.take(n, a, asked)
		}
		if bench.Pass(ctx, 100*time.Millisecond) != nil {
			return
		}
	}
}

// answer is what an API says of a node's ids.
type answer struct {
	values   values
	from, to int64 // what it covers, ms
	what     string
	partial  bool
	newest   bool // one value, the newest
}

// take judges an answer.
func (f *fleet) take(n *node, a answer, asked time.Time) {
	f.add(&f.Answers, 1)
	if a.partial {
		f.add(&f.Partial, 1)
	}
	// Nobody promises that a frame older than 20 minutes is missed (query.settleMillis).
	complete := !a.partial && n.past == 0
	if a.newest && n.odd {
		complete = false // its newest run's frame may be older than one of before its clock was set
	} else if a.newest && len(a.values) > 0 {
		a.from = a.values[0].at // nothing that was acknowledged is newer
	}
	right := f.judge(n, a.what, a.values, a.from, a.to, asked, complete)
	if right && !a.partial && len(a.values) > 0 {
		f.recover.answered(asked)
	}
}

// get returns an answer of 200 OK, and whether it says that it lacks something.
func (s *system) get(ctx context.Context, address, key string) (b []byte, partial bool, _ error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, false, err
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	by := client
	if s.upgrading.Load() {
		by = reader
	}
	got, err := by.Do(r)
	if err != nil {
		return nil, false, err
	}
	defer got.Body.Close()
	b, err = io.ReadAll(got.Body)
	if err == nil && got.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %.300s", got.Status, b)
	}
	return b, got.Header.Get(reply.PartialHeader) != "", err
}

// rangeOf asks for a node's values of some time up to now.
func (f *fleet) rangeOf(
	ctx context.Context, base string, n *node, back time.Duration,
) (answer, error) {
	to := time.Now().Add(-n.past).UnixMilli()
	return f.valuesBetween(ctx, base, n, to-back.Milliseconds(), to)
}

// valuesBetween asks for a node's values at from … to, ms.
func (f *fleet) valuesBetween(
	ctx context.Context, base string, n *node, from, to int64,
) (answer, error) {
	a := answer{from: from, to: to, what: "a range"}
	form := url.Values{"metrics": {metric}, "from": {inWords(from)}, "to": {inWords(to)}}
	return a, f.payload(ctx, base, n, form, &a)
}

// newestOf asks for a node's newest value.
func (f *fleet) newestOf(
	ctx context.Context, base string, n *node, _ time.Duration,
) (answer, error) {
	a := answer{to: math.MaxInt64, what: "the newest", newest: true}
	return a, f.payload(ctx, base, n, url.Values{"metrics": {metric}}, &a)
}

func inWords(at int64) string { return time.UnixMilli(at).UTC().Format("2006-01-02T15:04:05.000Z") }

// payload asks /v1/nodes/{id}/metrics.
func (f *fleet) payload(
	ctx context.Context, base string, n *node, form url.Values, a *answer,
) error {
	b, partial, err := f.get(ctx, base+"/v1/nodes/"+n.ID.String()+"/metrics?"+form.Encode(),
		f.keys[n.account])
	if err != nil {
		return err
	}
	a.partial = partial
	var list []struct {
		Partial []string
		Payload []line.Payload
	}
	if err := json.Unmarshal(b, &list); err != nil {
		return err
	}
	for _, of := range list {
		a.partial = a.partial || len(of.Partial) > 0
		for _, p := range of.Payload {
			for _, v := range p.Values {
				value, _ := v["value"].(string)
				when, _ := v["time"].(string)
				id, failed := strconv.ParseInt(value, 10, 64)
				at, wrong := time.Parse(time.RFC3339Nano, when)
				if err := errors.Join(failed, wrong); err != nil {
					return err
				}
				a.values = append(a.values, sample{at.UnixMilli(), id})
			}
		}
	}
	return nil
}

// promOf asks PromQL for a node's values of some time up to now.
func (f *fleet) promOf(
	ctx context.Context, base string, n *node, back time.Duration,
) (answer, error) {
	to := time.Now().Add(-n.past).UnixMilli()
	a := answer{from: to - back.Milliseconds() + 1, to: to, what: "PromQL"}
	form := url.Values{"query": {fmt.Sprintf("%s{node=%q}[%dms]", metric, n.ID,
		back.Milliseconds())},
		"time": {fmt.Sprintf("%d.%03d", to/1000, to%1000)}}
	b, partial, err := f.get(ctx, base+"/api/v1/query?"+form.Encode(), f.keys[n.account])
	if err != nil {
		return a, err
	}
	var got struct {
		Warnings []string
		Data     struct {
			Result []struct{ Values [][2]any }
		}
	}
	if err := json.Unmarshal(b, &got); err != nil {
		return a, err
	}
	a.partial = partial || len(got.Warnings) > 0
	for _, s := range got.Data.Result {
		for _, v := range s.Values {
			at, _ := v[0].(float64)
			text, _ := v[1].(string)
			id, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return a, err
			}
			a.values = append(a.values, sample{int64(math.Round(at * 1000)), int64(id)})
		}
	}
	return a, nil
}
