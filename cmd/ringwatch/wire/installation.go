package wire

import (
	"net"
	"path/filepath"
	"strconv"

	"github.com/ringwatch/ringwatch/api"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/program"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/settings"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/datadir"
)

// installation is how this Ringwatch is installed, for the console's words.
func installation(c *settings.Config) api.Installation {
	of := api.Installation{Stream: "directory", Store: "directory", Recent: "memory"}
	if len(c.Kafka.Brokers) > 0 {
		of.Stream = "kafka"
	}
	if len(c.Cassandra.Hosts) > 0 {
		of.Store = "cassandra"
	}
	if len(c.Redis.Addresses) > 0 {
		of.Recent = "redis"
	}
	if _, port, err := net.SplitHostPort(c.Ingest.Listen); err == nil {
		of.Ingest.Port, _ = strconv.Atoi(port) // a configuration with another one does not start
	}
	of.Ingest.TLS = c.Ingest.TLS.On()
	if jar := program.CameFrom().Jar; filepath.IsAbs(jar) && datadir.Exists(jar) ||
		jar == program.FromSource.Jar {
		of.Jar = jar
	}
	return of
}
