package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/node"
)

// process is one of a side's.
type process struct {
	name string
	pid  int
}

// side is who is asked.
type side struct {
	Name    string
	url     func() string // a process that is started again has another address
	key     string
	pids    func() []process
	restart func(context.Context) error
	peer    bool
}

// client asks all sides; answers come unpacked, as nobody is to pack on the cores that are
// measured.
var client = &http.Client{Timeout: 2 * time.Minute,
	Transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}}

// open asks; the body is the caller's to close.
func (s *side) open(ctx context.Context, path string, form url.Values) (io.ReadCloser, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url()+path+"?"+form.Encode(), nil)
	if err != nil {
		return nil, err
	}
	if s.key != "" {
		r.Header.Set("Authorization", "Bearer "+s.key)
	}
	answer, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		b, _ := io.ReadAll(io.LimitReader(answer.Body, 300))
		answer.Body.Close()
		return nil, fmt.Errorf("%s answered %s: %s", s.Name, answer.Status, b)
	}
	return answer.Body, nil
}

// read reads an answer to its end.
func (s *side) read(ctx context.Context, path string, form url.Values) error {
	body, err := s.open(ctx, path, form)
	if err != nil {
		return err
	}
	defer body.Close()
	_, err = io.Copy(io.Discard, body)
	return err
}

// values is an answer: of each series, by its labels as text, the value at each time; of a list,
// nothing at 0 for each element.
type values map[string]map[float64]float64

// ask reads an answer and its warnings.
func (s *side) ask(ctx context.Context, path string, form url.Values) (values, []string, error) {
	body, err := s.open(ctx, path, form)
	if err != nil {
		return nil, nil, err
	}
	defer body.Close()
	var a struct {
		Data     json.RawMessage
		Warnings []string
	}
	if err := json.NewDecoder(body).Decode(&a); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	v := values{}
	if !strings.HasPrefix(path, "/api/v1/query") {
		return v, a.Warnings, v.list(a.Data)
	}
	var found struct {
		Result []struct {
			Metric map[string]string
			Value  []any
			Values [][]any
		}
	}
	if err := json.Unmarshal(a.Data, &found); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	for _, r := range found.Result {
		if r.Value != nil {
			r.Values = append(r.Values, r.Value)
		}
		points := map[float64]float64{}
		for _, p := range r.Values {
			at, _ := p[0].(float64)
			text, _ := p[1].(string)
			if points[at], err = strconv.ParseFloat(text, 64); err != nil {
				return nil, nil, err
			}
		}
		v[textOf(r.Metric)] = points
	}
	return v, a.Warnings, nil
}

// list takes what is no query's answer: names, label sets, or metadata by name.
func (v values) list(data []byte) error {
	var names []string
	var sets []map[string]string
	var byName map[string]json.RawMessage
	switch {
	case json.Unmarshal(data, &names) == nil:
	case json.Unmarshal(data, &sets) == nil:
		for _, s := range sets {
			names = append(names, textOf(s))
		}
	default:
		if err := json.Unmarshal(data, &byName); err != nil {
			return err
		}
		for name := range byName {
			names = append(names, name)
		}
	}
	for _, name := range names {
		v[name] = map[float64]float64{0: 0}
	}
	return nil
}

func textOf(labels map[string]string) string {
	var list []string
	for name, v := range labels {
		list = append(list, name+"="+v)
	}
	slices.Sort(list)
	return strings.Join(list, ",")
}

// once is what a request, or the requests of a page, took.
type once struct {
	whole float64 // ms, from the first request to the last answer
	cpu   float64 // ms, of the side's processes
}

// panelsAtOnce is how many requests of a page are under way: what Grafana's browser has open.
const panelsAtOnce = 8

// at asks questions side by side, as a dashboard does.
func (s *side) at(ctx context.Context, b *bed, list []*question, how asking) (once, error) {
	how.peer, how.caches = s.peer, true
	type request struct {
		path string
		form url.Values
	}
	var requests []request
	for _, q := range list {
		how.at = b.at(q, how.before)
		path, form, err := q.request(b.variables, how)
		if err != nil {
			return once{}, err
		}
		requests = append(requests, request{path, form})
	}
	before, err := s.cpu()
	if err != nil {
		return once{}, err
	}
	o := once{}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(panelsAtOnce)
	began := time.Now()
	for _, r := range requests {
		g.Go(func() error { return s.read(ctx, r.path, r.form) })
	}
	if err := g.Wait(); err != nil {
		return once{}, err
	}
	o.whole = bench.Millis(time.Since(began))
	after, err := s.cpu()
	o.cpu = bench.Millis(after - before)
	return o, err
}

// cpu is what the side's processes have used.
func (s *side) cpu() (sum time.Duration, err error) {
	for _, p := range s.pids() {
		used, err := node.CPU(p.pid)
		if err != nil {
			return 0, err
		}
		sum += used
	}
	return sum, nil
}
