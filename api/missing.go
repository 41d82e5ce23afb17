package api

import (
	"net/http"
	"slices"
	"strings"

	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/api/refusal"
)

// methods are all that routes are for, in the order in which refusals name them.
var methods = [...]string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut,
	http.MethodPatch, http.MethodDelete}

// missing answers where no route is. Where there are some for other methods it names these: OPTIONS
// gets 204, anything else 405. Where there is none at all it answers 404. Nobody needs a key for
// that: it says what openapi.yaml says.
func missing(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var allowed []string
		for _, method := range methods {
			try := r.Clone(r.Context())
			try.Method = method
			if _, pattern := mux.Handler(try); pattern != "" {
				allowed = append(allowed, method)
			}
		}
		if len(allowed) == 0 {
			refusal.Write(w, nil, &listener.Error{Status: http.StatusNotFound,
				Reason:  "no_such_path",
				Message: "this path does not exist: /v1/openapi.yaml lists those that do"}, nil)
			return
		}
		w.Header().Set("Allow", strings.Join(append(allowed, http.MethodOptions), ", "))
		if r.Method == http.MethodOptions {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		// who knows HEAD knows that it goes with GET
		known := slices.DeleteFunc(allowed, func(m string) bool { return m == http.MethodHead })
		refusal.Write(w, nil, &listener.Error{Status: http.StatusMethodNotAllowed, Reason: "method",
			Message: r.Method + " is not for this path: use " + strings.Join(known, " or ")}, nil)
	})
}
