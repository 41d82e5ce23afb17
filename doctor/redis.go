package doctor

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/ringwatch/ringwatch/access/certs"
)

// redisTimeout bounds all questions to Redis.
const redisTimeout = 10 * time.Second

// Redis is a server to check.
type Redis struct {
	Address            string
	Username, Password string
	TLS                certs.Client
}

// Examine checks one Redis server, or one of a cluster's, against docs/STORE.md. It reads settings
// and counters and changes nothing. Where CONFIG is not allowed, as with hosted ones, it says what
// it could not see.
func (c Redis) Examine(ctx context.Context) *Report {
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	r := &Report{OK: true, noLine: true}
	say := func(name string, s Status, message, remedy string) {
		r.Results = append(r.Results, Result{Name: name, Status: s, Message: message,
			Remedy: remedy})
		r.OK = r.OK && s != Fail
	}
	option := rueidis.ClientOption{InitAddress: []string{c.Address}, Username: c.Username,
		Password: c.Password, DisableCache: true, ForceSingleClient: true, DisableRetry: true}
	if c.TLS.Enabled {
		files := c.TLS.Dialer(nil, c.Address)
		option.DialCtxFn = func(ctx context.Context, address string, dialer *net.Dialer,
			_ *tls.Config) (net.Conn, error) {
			return files.Over(ctx, dialer, "tcp", address)
		}
	}
	client, err := rueidis.NewClient(option)
	if err != nil {
		section := ""
		if !c.TLS.Enabled && certs.Speaks(ctx, c.Address) {
			section = "redis.tls"
		}
		say("redis", Fail, fmt.Sprintf("%s does not answer: %s", c.Address, oneLine(err.Error())),
			remedyFor(section,
				"check the address, the port and the password (RINGWATCH_REDIS_USERNAME, "+
					"RINGWATCH_REDIS_PASSWORD)"))
		return r
	}
	defer client.Close()
	text, err := client.Do(ctx, client.B().Info().Build()).ToString()
	if err != nil {
		say("redis", Fail, fmt.Sprintf("%s refuses INFO: %s", c.Address, oneLine(err.Error())),
			"allow INFO to this user")
		return r
	}
	info := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			info[name] = value
		}
	}
	checkRedisVersion(info["redis_version"], say)
	settings, err := client.Do(ctx, client.B().ConfigGet().Parameter("maxmemory",
		"maxmemory-policy", "save", "appendonly").Build()).AsStrMap()
	if err != nil {
		say("settings", Warn, "CONFIG GET is refused: "+oneLine(err.Error()),
			"allow it to this user for once, or compare the settings with docs/STORE.md by hand")
		settings = map[string]string{"maxmemory": info["maxmemory"],
			"maxmemory-policy": info["maxmemory_policy"]}
	}
	checkRedisMemory(settings, info, say)
	if v, known := settings["save"]; known && v != "" {
		say("persistence", Warn,
			fmt.Sprintf("save is %q: under write load each snapshot's fork takes up to as much "+
				"memory again", v), `set save "": there is nothing to save`)
	} else if settings["appendonly"] == "yes" {
		say("persistence", Warn, "appendonly is yes: all frames are written to disk for nothing",
			"set appendonly no")
	} else if known {
		say("persistence", OK, "off", "")
	}
	if n, _ := strconv.ParseInt(info["evicted_keys"], 10, 64); n > 0 {
		say("evictions", Warn,
			fmt.Sprintf("%d keys were evicted since its start: readers went to Cassandra for them",
				n), "raise maxmemory, or add a shard")
	} else {
		say("evictions", OK, "none since its start", "")
	}
	return r
}

func checkRedisVersion(version string, say func(string, Status, string, string)) {
	parts := strings.SplitN(version+".0", ".", 3)
	major, _ := strconv.Atoi(parts[0])
	minor, _ := strconv.Atoi(parts[1])
	if major < 6 || major == 6 && minor < 2 {
		say("version", Fail, fmt.Sprintf("Redis %s is too old", version),
			"use 6.2 or later: ZADD … GT")
		return
	}
	say("version", OK, "Redis "+version, "")
}

func checkRedisMemory(settings, info map[string]string, say func(string, Status, string, string)) {
	limit, _ := strconv.ParseInt(settings["maxmemory"], 10, 64)
	total, _ := strconv.ParseInt(info["total_system_memory"], 10, 64)
	switch {
	case limit == 0:
		say("maxmemory", Fail, "there is none: Redis grows until the machine kills it",
			"set maxmemory to at most three quarters of the machine's memory")
	case total > 0 && limit > total/4*3:
		say("maxmemory", Warn,
			fmt.Sprintf("%s of the machine's %s: fragmentation and client buffers come on top",
				megabytes(int(limit)), megabytes(int(total))), "set it to at most three quarters")
	default:
		say("maxmemory", OK, megabytes(int(limit)), "")
	}
	switch policy := settings["maxmemory-policy"]; policy {
	case "volatile-ttl":
		say("maxmemory-policy", OK, policy, "")
	case "noeviction":
		say("maxmemory-policy", Fail,
			"noeviction refuses new frames when memory is full: readers miss the newest values",
			"set maxmemory-policy volatile-ttl")
	default:
		say("maxmemory-policy", Warn, policy+" may evict what is newest or what is read",
			"set maxmemory-policy volatile-ttl")
	}
}
