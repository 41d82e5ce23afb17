package lookup

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/memory/memorytest"
)

// requestBound is what reading a request may take; what a key of a lookup takes is bounded by its
// bytes.
var requestBound = memorytest.Bound{Base: 16 << 20, Factor: 512, Time: time.Minute}

// maxRequestBytes is what the API lets through unless it is configured.
const maxRequestBytes = 1 << 20

// FuzzLookup reads hostile bodies of lookups.
func FuzzLookup(f *testing.F) {
	h := NewHandler(HandlerConfig{Timeout: 30 * time.Second, Registry: prometheus.NewRegistry()})
	for _, body := range []string{
		`{"keys":[1,"a",[2,"b"]],"columns":["name"],"rows":3,"timeout":"250ms"}`, `{"keys":[{}]}`,
		`{"keys":` + strings.Repeat("[", 500), `{"rows":1e99}`, `{"class":"dashboard"} `,
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		if len(body) > maxRequestBytes {
			return
		}
		requestBound.Within(t, len(body), func() {
			r := httptest.NewRequest(http.MethodPost, "/v1/lookup/shop/orders",
				strings.NewReader(body))
			if q, timeout, err := h.query(r); err == nil && (q == nil || timeout <= 0) {
				t.Error("neither a query nor an error")
			}
		})
	})
}
