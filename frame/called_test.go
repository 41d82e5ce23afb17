package frame

import "testing"

// TestCalled says what people call a node: its host first, each part once.
func TestCalled(t *testing.T) {
	for _, c := range []struct{ host, address, want string }{
		{"db-7", "10.0.0.7:7000", "db-7 (10.0.0.7:7000)"},
		{"", "10.0.0.7:7000", "10.0.0.7:7000"},
		{"db-7", "", "db-7"},
		{"db-7", "db-7", "db-7"},
		{"cache-1", "cache-1:6379", "cache-1:6379"},
		{"cache-1", "cache-10:6379", "cache-1 (cache-10:6379)"},
		{"", "", ""},
	} {
		id := Identity{Facts: []Fact{{Name: "address", Value: c.address},
			{Name: "hostname", Value: c.host}}}
		if got := id.Name(); got != c.want {
			t.Errorf("host %q, address %q: %q, want %q", c.host, c.address, got, c.want)
		}
	}
}
