package wire

import (
	"testing"

	"github.com/ringwatch/ringwatch/api"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/settings"
)

// TestInstallation: the console is told which engines there are, and where ingest is.
func TestInstallation(t *testing.T) {
	for text, want := range map[string]api.Installation{
		"data: {dir: /x}\ningest: {listen: \"0.0.0.0:19471\"}\n": {Stream: "directory",
			Store: "directory", Recent: "memory", Ingest: api.InstalledIngest{Port: 19471}},
		"kafka: {brokers: [\"k:9092\"]}\ncassandra: {hosts: [c]}\n" +
			"redis: {addresses: [\"r:6379\"]}\n": {
			Stream: "kafka", Store: "cassandra", Recent: "redis",
			Ingest: api.InstalledIngest{Port: 9471}},
	} {
		c, _, err := settings.Parse("x", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		got := installation(c)
		if got.Jar = ""; got != want {
			t.Errorf("%s: %+v", text, got)
		}
	}
}
