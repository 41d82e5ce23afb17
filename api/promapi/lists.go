package promapi

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/query/expression"
	"github.com/ringwatch/ringwatch/query/metadata"
)

// catalogue reads match[], start, end and limit.
func (a *API) catalogue(r *http.Request) (c metadata.SeriesQuery, limit int, err error) {
	if limit, err = number(r.Form, "limit"); err != nil {
		return c, 0, err
	}
	if c.From, err = a.time(r.Form, "start", time.Unix(0, 0)); err != nil {
		return c, 0, err
	}
	if c.To, err = a.time(r.Form, "end", a.Clock()); err != nil {
		return c, 0, err
	}
	if c.To.Before(c.From) {
		return c, 0, invalid("end", errors.New("end timestamp must not be before start time"))
	}
	if now := a.Clock(); c.To.After(now) {
		c.To = now.Add(time.Minute)
	}
	if c.From.After(c.To) {
		c.From = c.To
	}
	request := a.Engine.Expressions.Selectors(r.Context())
	for _, text := range r.Form["match[]"] {
		matchers, err := request.Selector(text)
		if err != nil {
			return c, 0, invalid("match[]", err)
		}
		if !slices.ContainsFunc(matchers, expression.MatchesSomething) {
			return c, 0, invalid("match[]",
				errors.New("match[] must contain at least one non-empty matcher"))
		}
		c.Selectors = append(c.Selectors, matchers)
	}
	return c, limit, nil
}

func (a *API) series(r *http.Request, p account.Principal) (answer, error) {
	if len(r.Form["match[]"]) == 0 {
		return answer{}, bad("no match[] parameter provided")
	}
	c, limit, err := a.catalogue(r)
	if err != nil {
		return answer{}, err
	}
	list, warnings, err := a.Engine.Lists.Series(r.Context(), p, c, limit)
	if err != nil {
		return answer{}, err
	}
	if list == nil {
		return answer{data: []string{}, warnings: warnings}, nil
	}
	return answer{data: list, warnings: warnings}, nil
}

func (a *API) labels(r *http.Request, p account.Principal) (answer, error) {
	c, limit, err := a.catalogue(r)
	if err != nil {
		return answer{}, err
	}
	list, warnings, err := a.Engine.Lists.LabelNames(r.Context(), p, c)
	return limited(list, limit, warnings), err
}

func (a *API) labelValues(r *http.Request, p account.Principal) (answer, error) {
	name := r.PathValue("name")
	if strings.HasPrefix(name, "U__") {
		name = model.UnescapeName(name, model.ValueEncodingEscaping)
	}
	if !model.UTF8Validation.IsValidLabelName(name) {
		return answer{}, bad("invalid label name: %q", name)
	}
	c, limit, err := a.catalogue(r)
	if err != nil {
		return answer{}, err
	}
	list, warnings, err := a.Engine.Lists.LabelValues(r.Context(), p, name, c)
	return limited(list, limit, warnings), err
}

// limited cuts a list, and says so.
func limited(list []string, limit int, warnings annotations.Annotations) answer {
	if limit > 0 && len(list) > limit {
		list = list[:limit]
		warnings.Add(metadata.ErrLimited)
	}
	if list == nil {
		list = []string{}
	}
	return answer{list, warnings}
}

// metadataLimit reads a limit of metadata. As in Prometheus a negative one, unlike 0, is none.
func metadataLimit(values url.Values, name string) (int, error) {
	text := values.Get(name)
	if text == "" {
		return -1, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, bad("%s must be a number", name)
	}
	return n, nil
}

func (a *API) metadata(r *http.Request, p account.Principal) (answer, error) {
	limit, err := metadataLimit(r.Form, "limit")
	if err != nil {
		return answer{}, err
	}
	if _, err := metadataLimit(r.Form, "limit_per_metric"); err != nil {
		return answer{}, err // there is one of each
	}
	found, err := a.Engine.Lists.Metadata(r.Context(), p, r.FormValue("metric"))
	if err != nil {
		return answer{}, err
	}
	var names []string
	for name := range found {
		names = append(names, name)
	}
	slices.Sort(names)
	list := map[string][]metadata.Metadata{}
	for i, name := range names {
		if i == limit {
			break
		}
		list[name] = []metadata.Metadata{found[name]}
	}
	return answer{data: list}, nil
}
