package wire

import (
	"strings"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/query"
)

// TestShownConfig: what clients see of the configuration are the limits of queries, and no file.
func TestShownConfig(t *testing.T) {
	c := query.DefaultConfig()
	c.Timeout, c.LogFile, c.ActiveDir = 90*time.Second, "/var/secret.log", "/var/secret"
	text := shownConfig(c)()
	if !strings.HasPrefix(text, "query:\n") || !strings.Contains(text, "timeout: 1m30s") ||
		!strings.Contains(text, "max_series: 200000") || strings.Contains(text, "secret") ||
		strings.Contains(text, "log_file") {
		t.Errorf("it is\n%s", text)
	}
	if f := shownFlags(&c); f["query.timeout"] != "1m30s" || f["query.lookback-delta"] != "5m" {
		t.Errorf("the flags are %v", f)
	}
}
