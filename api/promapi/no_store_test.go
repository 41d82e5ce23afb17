package promapi

import (
	"net/http"
	"testing"
)

// TestNoStore: the directive counts wherever it stands among others, and nothing else does.
func TestNoStore(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "no-cache": false, "no-store": true, "max-age=0, No-Store": true,
		"no-store2": false, "x=no-store": false,
	} {
		r := &http.Request{Header: http.Header{"Cache-Control": {"max-age=1", text}}}
		if noStore(r) != want {
			t.Errorf("%q is taken otherwise", text)
		}
	}
}
