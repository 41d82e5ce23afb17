package api

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
)

// People type the addresses of Prometheus's pages, and links of its alerts have them. They lead to
// the console's pages.

const (
	// maxGraphs bounds the expressions that are taken over from an address.
	maxGraphs = 20
	endForm   = "2006-01-02 15:04:05" // as Prometheus writes an end
)

// consoleRanges are the spans that the console knows by name.
var consoleRanges = []string{"15m", "1h", "6h", "24h", "7d", "30d", "1y"}

func toPage(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/#/"+name, http.StatusFound)
	}
}

// toExplore leads from an address of Prometheus's graph to Explore. What cannot be read is left
// out.
func toExplore(clock func() time.Time) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		from, to := r.URL.Query(), url.Values{}
		var views []string
		for i := range maxGraphs {
			g := fmt.Sprintf("g%d.", i)
			if from.Get(g+"expr") == "" {
				continue
			}
			to.Add("expr", from.Get(g+"expr"))
			view := "g"
			if tab := from.Get(g + "tab"); tab == "1" || tab == "table" {
				view = "t"
			}
			if views = append(views, view); len(views) == 1 {
				rangeOfGraph(to, from.Get(g+"range_input"), from.Get(g+"end_input"), clock())
			}
		}
		if slices.Contains(views, "t") {
			to.Set("show", strings.Join(views, ","))
		}
		page := "/#/explore"
		if len(to) > 0 {
			page += "?" + to.Encode()
		}
		http.Redirect(w, r, page, http.StatusFound)
	}
}

// rangeOfGraph gives the console the time of a graph: a span that it knows by name, or a beginning
// and an end.
func rangeOfGraph(to url.Values, span, end string, now time.Time) {
	length, err := model.ParseDuration(span)
	if err != nil || length <= 0 {
		length = model.Duration(time.Hour)
	}
	for _, name := range consoleRanges {
		if known, _ := model.ParseDuration(name); end == "" && known == length {
			to.Set("range", name)
			return
		}
	}
	if at, err := time.Parse(endForm, end); err == nil {
		now = at
	}
	to.Set("from", strconv.FormatInt(now.Add(-time.Duration(length)).Unix(), 10))
	to.Set("to", strconv.FormatInt(now.Unix(), 10))
}
