package main

import (
	"net"
	"path/filepath"
	"strconv"

	"github.com/ringwatch/ringwatch/api"
)

// installation is how this Ringwatch is installed, for the console's words.
func (c *config) installation() api.Installation {
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
	if jar := cameFrom().jar; filepath.IsAbs(jar) && isThere(jar) || jar == fromSource.jar {
		of.Jar = jar
	}
	return of
}
