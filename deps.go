//go:build deps

// Package deps keeps every chosen module in go.mod while the first packages are written side by side.
package deps

import (
	_ "charm.land/bubbletea/v2"
	_ "github.com/alecthomas/kong"
	_ "github.com/apache/cassandra-gocql-driver/v2"
	_ "github.com/goccy/go-yaml"
	_ "github.com/google/uuid"
	_ "github.com/guptarohit/asciigraph"
	_ "github.com/klauspost/compress/zstd"
	_ "github.com/prometheus/client_golang/prometheus/promhttp"
	_ "github.com/prometheus/prometheus/model/labels"
	_ "github.com/prometheus/prometheus/promql/parser"
	_ "github.com/redis/rueidis"
	_ "github.com/twmb/franz-go/pkg/kadm"
	_ "github.com/twmb/franz-go/pkg/kgo"
	_ "github.com/twmb/franz-go/pkg/kmsg"
	_ "golang.org/x/sync/errgroup"
	_ "golang.org/x/time/rate"
	_ "pgregory.net/rapid"
)
