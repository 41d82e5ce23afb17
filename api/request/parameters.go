// Package request reads what a request asks: its parameters, times, selectors and bodies. Begin
// with Parameters. Of our packages it imports api/refusal, and query/selector.
//
// What it promises: an error is a *listener.Error that names the field and the remedy.
package request

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ringwatch/ringwatch/api/refusal"
)

// Parameters returns the query's, each of which must be allowed, and once unless it is metrics or
// match[]. The error is a *listener.Error.
func Parameters(r *http.Request, allowed ...string) (url.Values, error) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, refusal.Bad("bad_query", "query",
			"the part after ? cannot be read: encode special characters as %%XX")
	}
	for name, values := range q {
		if !slices.Contains(allowed, name) {
			if len(allowed) == 0 {
				return nil, refusal.Bad("unknown_parameter", name, "this path takes no parameters")
			}
			return nil, refusal.Bad("unknown_parameter", name, "unknown parameter: use %s",
				strings.Join(allowed, ", "))
		}
		if len(values) > 1 && name != "metrics" && name != "match[]" {
			return nil, refusal.Bad("repeated_parameter", name, "%s is given more than once", name)
		}
	}
	return q, nil
}
