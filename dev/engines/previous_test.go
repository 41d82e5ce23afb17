package engines

import "testing"

// TestNewestTag: what comes before a release, and what is no version, is passed over.
func TestNewestTag(t *testing.T) {
	for tags, want := range map[string]string{
		"": "", "v1.2.0\nv1.1.9\n": "v1.2.0", "vnext\nv2.0.0-rc.1\nv1.10.0\nv1.9.0\n": "v1.10.0",
	} {
		if got := newestTag(tags); got != want {
			t.Errorf("of %q it is %q, want %q", tags, got, want)
		}
	}
}
