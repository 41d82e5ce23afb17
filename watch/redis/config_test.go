package redis

import (
	"strings"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/watch/reading"
)

// TestTargets: an entry is a target for each of its addresses, and a reader takes one of them.
func TestTargets(t *testing.T) {
	var c Config
	c.Present()
	c.Cluster, c.Datacenter, c.Rack = "cache", "ams", "r1"
	c.Interval = 15 * time.Second
	c.Address, c.Addresses = "a:6379", []string{"b:6379", "/run/redis.sock"}
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	targets, each := c.Targets(), c.Each()
	if len(targets) != 3 || len(each) != 3 {
		t.Fatalf("%d targets, %d entries", len(targets), len(each))
	}
	for i, address := range []string{"a:6379", "b:6379", "/run/redis.sock"} {
		if want := (reading.Target{Kind: "redis", Cluster: "cache", Datacenter: "ams", Rack: "r1",
			Job: "redis", Instance: address, Interval: 15 * time.Second}); targets[i] != want {
			t.Errorf("%+v", targets[i])
		}
		if each[i].Address != address || len(each[i].Addresses) > 0 || !each[i].SlowLog {
			t.Errorf("%+v", each[i])
		}
		if _, err := New(each[i], Deps{}); err != nil {
			t.Error(err)
		}
	}
	if _, err := New(c, Deps{}); err == nil || !strings.Contains(err.Error(), "3 addresses") {
		t.Error(err)
	}
}

// TestValidate: everything that is wrong is said at once.
func TestValidate(t *testing.T) {
	var c Config
	c.Present()
	c.Job, c.Interval, c.Timeout, c.MaxSeries = "", time.Second, time.Minute, -1
	c.Addresses = []string{"redis://a:1", "nowhere", "/s", "/s"}
	c.Password, c.PasswordFile = "a", "b"
	c.TLS.Enabled, c.TLS.CertFile = true, "c"
	err := c.Validate()
	if err == nil {
		t.Fatal("it is taken")
	}
	for _, want := range []string{`cluster is "": set`, "job is empty",
		`"redis://a:1" is neither`, `"nowhere" is neither`, `"/s" is there twice`, "speaks no TLS",
		"both set: set one",
		"interval is 1s: use 5s to 1m", "timeout is 1m0s: use", "max_series is -1",
		"tls.cert_file"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in\n%v", want, err)
		}
	}
	c = DefaultConfig()
	c.Cluster = "x"
	if err := c.Validate(); err == nil || !strings.HasPrefix(err.Error(), "address is empty: set") {
		t.Error(err)
	}
}
