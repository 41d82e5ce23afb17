// Package redis reads a Redis server, or what speaks like one (Valkey, KeyDB, a sentinel), from
// outside: INFO and a few more commands, which change nothing. Metrics have redis_exporter's names.
// Begin with Reader.
//
//	INFO, SLOWLOG, LATENCY, CLUSTER INFO, SENTINEL ──► sheet ──► reading.Reading
//
// What it promises:
//   - A reading ends within the timeout, whatever the server does, and takes bounded memory: an
//     answer is at most 4 MiB, a table at most 1,024 rows.
//   - A command but INFO that the server refuses leaves its metrics out. It is said once, and
//     tried again seldom: each refusal counts in the server's log of its ACL.
//   - The keys, values, clients and commands of users are not read. Of the slow log's newest entry
//     the arguments are dropped at once. Settings come from INFO: who may CONFIG GET one sees the
//     passwords, too.
//
// It is safe for concurrent use.
package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/ringwatch/ringwatch/access/certs"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/watch/reading"
)

// Deps is what a Reader needs of others. Each may be nil.
type Deps struct {
	Log *slog.Logger // nil: slog.Default()
	// Refused counts a command that the server refused.
	Refused func(command string)
	Now     func() time.Time
}

// defaultTimeout is where neither the entry nor the role says one.
const defaultTimeout = 10 * time.Second

// refusedFor is how long a refused command is not tried again.
const refusedFor = time.Hour

// Reader reads one server over one connection, which it keeps.
type Reader struct {
	config Config
	deps   Deps
	log    *slog.Logger

	mu      sync.Mutex
	client  rueidis.Client // nil: not connected
	guard   *guard
	refused map[string]time.Time // commands, with the time of their refusal
	dbs     map[string]bool      // databases that have had keys
	full    bool                 // it was said that rows were left out
}

// New returns a reader of the entry's one address. It does not connect.
func New(c Config, deps Deps) (*Reader, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if n := len(c.all()); n != 1 {
		return nil, fmt.Errorf("the entry has %d addresses: make a reader for one of Each", n)
	}
	c = c.Each()[0]
	if c.Timeout == 0 {
		c.Timeout = defaultTimeout
	}
	if deps.Log == nil {
		deps.Log = slog.Default()
	}
	if deps.Now == nil {
		deps.Now = time.Now
	}
	return &Reader{config: c, deps: deps, refused: map[string]time.Time{},
		dbs: map[string]bool{"db0": true},
		log: deps.Log.With("cluster", c.Cluster, "instance", c.Address)}, nil
}

// Close ends the connection.
func (r *Reader) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.disconnect()
}

func (r *Reader) disconnect() {
	if r.client != nil {
		r.guard.Conn.Close() // first: the library would send a PING, to which we may have no right
		r.client.Close()
	}
	r.client, r.guard = nil, nil
}

// Read looks at the server once. Its error is one sentence with what to do. With an error there is
// no reading, or, where INFO was answered, one that is not whole.
func (r *Reader) Read(ctx context.Context) (*reading.Reading, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, r.config.Timeout)
	defer cancel()
	s := &sheet{tables: map[string]*table{}}
	facts, err := r.read(ctx, s)
	if err != nil {
		r.disconnect()
	}
	if facts == nil {
		return nil, err
	}
	s.int("up", 0, 1)
	if s.left > 0 && !r.full {
		r.full = true
		r.log.Warn("the server has more commands, databases, errors or replicas than are read: "+
			"the rest is left out", "most", maxRows)
	}
	of := s.reading()
	of.Facts = facts
	return of, err
}

func (r *Reader) read(ctx context.Context, s *sheet) (facts []frame.Fact, err error) {
	defer func() { // the library panics at answers that it does not understand
		if p := recover(); p != nil {
			err = fmt.Errorf("redis %s answers what no Redis does: %v; see what answers there",
				r.config.Address, p)
			if r.client != nil { // its Close would wait for ever
				r.guard.Conn.Close()
				r.client = nil
			}
		}
	}()
	if err := r.connect(ctx); err != nil {
		return nil, err
	}
	// The library bounds the commands by the deadline; this is for a caller that gives up earlier.
	conn := r.guard.Conn
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	text, err := r.do(ctx, "INFO", "all").ToString()
	if err != nil {
		return nil, r.explain(ctx, "INFO", err)
	}
	of := s.info(text, r.deps.Now())
	if of.values["redis_version"] == "" {
		return nil, fmt.Errorf("redis %s answers INFO without redis_version: it is no Redis, or a "+
			"proxy; give the address of a server", r.config.Address)
	}
	facts = r.facts(of)
	if of.values["redis_mode"] == "sentinel" {
		return facts, r.sentinel(ctx, s)
	}
	r.emptied(s, of)
	return facts, r.server(ctx, s, of)
}

// server asks for what INFO does not say.
func (r *Reader) server(ctx context.Context, s *sheet, of info) error {
	major, _, _ := strings.Cut(of.values["redis_version"], ".")
	version, _ := strconv.Atoi(major)
	var steps []func() error
	if r.config.SlowLog {
		steps = append(steps, func() error { return r.slowLog(ctx, s) })
	}
	if of.values["cluster_enabled"] == "1" {
		steps = append(steps, func() error {
			return r.optional(ctx, func(m rueidis.RedisMessage) {
				text, _ := m.ToString()
				s.clusterInfo(text)
			}, "CLUSTER", "INFO")
		})
	}
	steps = append(steps, func() error {
		return r.optional(ctx, func(m rueidis.RedisMessage) { s.spikes(m) }, "LATENCY", "LATEST")
	})
	if version >= 7 {
		steps = append(steps, func() error {
			return r.optional(ctx, func(m rueidis.RedisMessage) { s.latencies(m, of.usecs) },
				"LATENCY", "HISTOGRAM")
		})
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// emptied says 0 of databases that have no key any more, which INFO leaves out.
func (r *Reader) emptied(s *sheet, of info) {
	for _, db := range of.dbs {
		if len(r.dbs) < maxRows {
			r.dbs[db] = true
		}
	}
	for db := range r.dbs {
		if !slices.Contains(of.dbs, db) {
			s.int("db_keys", 0, 0, db)
			s.int("db_keys_expiring", 0, 0, db)
		}
	}
}

// do sends a command whose words are known to be harmless.
func (r *Reader) do(ctx context.Context, words ...string) rueidis.RedisResult {
	return r.client.Do(ctx, r.client.B().Arbitrary(words...).Build())
}

// optional runs a command that the server may refuse; its first two words name it. It returns an
// error if the connection is of no more use.
func (r *Reader) optional(ctx context.Context, take func(rueidis.RedisMessage),
	words ...string) error {
	name := strings.Join(words[:min(2, len(words))], " ")
	now := r.deps.Now()
	since, before := r.refused[name]
	if before && now.Sub(since) < refusedFor {
		return nil
	}
	m, err := r.do(ctx, words...).ToMessage()
	refusal, refused := rueidis.IsRedisErr(err)
	switch {
	case err == nil:
		delete(r.refused, name)
		take(m)
	case !refused && !rueidis.IsRedisNil(err):
		return r.explain(ctx, name, err)
	case refused && (strings.HasPrefix(refusal.Error(), "NOPERM") ||
		strings.HasPrefix(refusal.Error(), "unknown")): // the library leaves ERR out
		r.refused[name] = now
		if r.deps.Refused != nil {
			r.deps.Refused(name)
		}
		if !before {
			r.log.Warn("the server refuses a command, so its metrics are left out; to have them, "+
				"allow it to the user as docs/WATCH.md shows", "command", name,
				"answer", short(refusal.Error()))
		}
	}
	return nil // it is loading, busy or a replica without its master: INFO says so
}

// slowLog asks for the slow log's length and its newest entry: its number, when it began, how long
// it took.
func (r *Reader) slowLog(ctx context.Context, s *sheet) error {
	err := r.optional(ctx, func(m rueidis.RedisMessage) {
		if n, err := m.AsInt64(); err == nil {
			s.int("slowlog_length", 0, n)
		}
	}, "SLOWLOG", "LEN")
	if err != nil {
		return err
	}
	return r.optional(ctx, func(m rueidis.RedisMessage) {
		entries, err := m.ToArray()
		if err != nil {
			return
		}
		var id, at, usec int64 // redis_exporter has 0, too, while there is none
		if len(entries) > 0 {
			entry, err := entries[0].ToArray()
			if err != nil || len(entry) < 3 {
				return
			}
			id, _ = entry[0].AsInt64()
			at, _ = entry[1].AsInt64()
			usec, _ = entry[2].AsInt64()
			s.int("slowlog_last_timestamp_seconds", 0, at)
		}
		s.int("slowlog_last_id", 0, id)
		s.int("last_slow_execution_duration_seconds", -6, usec)
	}, "SLOWLOG", "GET", "1")
}

// maxSentinelMasters is of how many masters a sentinel is asked for the state of each member.
const maxSentinelMasters = 100

// sentinel asks for what a sentinel's INFO does not say.
func (r *Reader) sentinel(ctx context.Context, s *sheet) error {
	var masters []map[string]string
	err := r.optional(ctx, func(m rueidis.RedisMessage) { masters = listed(m) },
		"SENTINEL", "MASTERS")
	if err != nil {
		return err
	}
	for _, of := range masters[:min(len(masters), maxSentinelMasters)] {
		name, address := of["name"], of["ip"]+":"+of["port"]
		for setting, metric := range map[string]string{"quorum": "setting_ckquorum",
			"failover-timeout":        "setting_failover_timeout",
			"parallel-syncs":          "setting_parallel_syncs",
			"down-after-milliseconds": "setting_down_after_milliseconds",
			"config-epoch":            "config_epoch"} {
			s.number("sentinel_master_"+metric, 0, of[setting], name, address)
		}
		if ms, ok := decimal(of["last-ok-ping-reply"], 0); ok {
			s.int("sentinel_master_last_ok_ping_reply_seconds", -3, ms, name, address)
		}
		for _, list := range []struct {
			command, metric string
			more            int64 // this sentinel is not in its list
		}{{"SENTINELS", "sentinel_master_ok_sentinels", 1},
			{"SLAVES", "sentinel_master_ok_slaves", 0}} {
			err := r.optional(ctx, func(m rueidis.RedisMessage) {
				fine := list.more
				for _, member := range listed(m) {
					if flags := member["flags"]; flags != "" && !strings.Contains(flags, "_down") {
						fine++
					}
				}
				s.int(list.metric, 0, fine, name, address)
			}, "SENTINEL", list.command, name)
			if err != nil {
				return err
			}
		}
		if err := r.quorum(ctx, s, name); err != nil {
			return err
		}
	}
	return nil
}

// quorum asks whether a failover is possible; an error says that it is not.
func (r *Reader) quorum(ctx context.Context, s *sheet, name string) error {
	said, err := r.do(ctx, "SENTINEL", "CKQUORUM", name).ToString()
	refusal, refused := rueidis.IsRedisErr(err)
	switch {
	case err == nil:
		s.int("sentinel_master_ckquorum_status", 0, 1, name, said)
	case refused && (strings.HasPrefix(refusal.Error(), "NOQUORUM") ||
		strings.HasPrefix(refusal.Error(), "NOGOODSLAVE")):
		s.int("sentinel_master_ckquorum_status", 0, 0, name, refusal.Error())
	case !refused:
		return r.explain(ctx, "SENTINEL CKQUORUM", err)
	}
	return nil
}

// listed reads a list of maps; what is none is left out.
func listed(m rueidis.RedisMessage) (list []map[string]string) {
	items, _ := m.ToArray()
	for _, item := range items {
		if of, err := item.AsStrMap(); err == nil {
			list = append(list, of)
		}
	}
	return list
}

// facts says what the server is.
func (r *Reader) facts(of info) []frame.Fact {
	known := map[string]string{"address": r.config.Address, "redis_mode": of.values["redis_mode"],
		"version": of.values["redis_version"]}
	if v := of.values["valkey_version"]; v != "" {
		known["version"] = v
	}
	if host, _, err := net.SplitHostPort(r.config.Address); err == nil {
		known["address"] = r.guard.RemoteAddr().String()
		if net.ParseIP(host) == nil {
			known["hostname"] = host
		}
	}
	var facts []frame.Fact
	for _, name := range []string{"address", "hostname", "redis_mode", "version"} {
		if v := clean(known[name]); v != "" {
			facts = append(facts, frame.Fact{Name: name, Value: v})
		}
	}
	return facts
}

// connect makes the connection if there is none.
func (r *Reader) connect(ctx context.Context) error {
	if r.client != nil {
		return nil
	}
	password, err := r.config.password()
	if err != nil {
		return err
	}
	deadline, _ := ctx.Deadline()
	left := max(time.Until(deadline), time.Millisecond)
	var g *guard
	stop := func() bool { return true }
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{r.config.Address}, Username: r.config.Username, Password: password,
		ForceSingleClient: true, PipelineMultiplex: -1, DisableRetry: true, DisableCache: true,
		// Maps with numbers as keys are more than the library's RESP3 reads. Without SETINFO and
		// PINGs the user needs no right to them.
		AlwaysRESP2: true, ClientSetInfo: rueidis.DisableClientSetInfo,
		Dialer:           net.Dialer{Timeout: left, KeepAlive: -1},
		ConnWriteTimeout: r.config.Timeout,
		DialCtxFn: func(_ context.Context, address string, dialer *net.Dialer,
			_ *tls.Config) (net.Conn, error) {
			conn, err := r.dial(ctx, dialer, address)
			if err != nil {
				return nil, err
			}
			g = &guard{Conn: conn}
			stop = context.AfterFunc(ctx, func() { conn.Close() })
			return g, nil
		},
	})
	stop()
	r.guard = g
	if err != nil {
		return r.explain(ctx, "", err)
	}
	r.client = client
	return nil
}

func (r *Reader) dial(ctx context.Context, dialer *net.Dialer, address string) (net.Conn, error) {
	switch {
	case isSocket(address):
		return dialer.DialContext(ctx, "unix", address)
	case r.config.TLS.Enabled:
		return r.config.TLS.Dialer(r.log, address).Over(ctx, dialer, "tcp", address)
	}
	return dialer.DialContext(ctx, "tcp", address)
}

// explain says in one sentence why a command failed, or the connection to ask it, and what to do.
func (r *Reader) explain(ctx context.Context, command string, err error) error {
	if r.guard != nil && r.guard.err != nil {
		err = r.guard.err
	}
	address := strings.ReplaceAll("redis "+r.config.Address, "%", "%%")
	what := command
	if what == "" {
		what = "the greeting"
	}
	say := func(format string, args ...any) error {
		return fmt.Errorf(address+" "+format, args...)
	}
	if refusal, ok := rueidis.IsRedisErr(err); ok && !refusal.IsNil() {
		word, _, _ := strings.Cut(refusal.Error(), " ")
		switch word {
		case "NOAUTH":
			return say("wants a password; set username and password or password_file")
		case "WRONGPASS":
			return say("does not take the user's password; see username, password and " +
				"password_file, and ACL LIST on the server")
		case "NOPERM":
			return say("does not allow %s to the user %q; see docs/WATCH.md for the rights "+
				"that it needs", what, r.config.Username)
		}
		return say("refuses %s: %s; see its log", what, short(refusal.Error()))
	}
	var trouble *certs.Error
	var dial *net.OpError
	switch {
	case errors.As(err, &trouble):
		return say("has trouble with TLS: %w", err)
	case errors.Is(err, errNoRedis), rueidis.IsParseErr(err), rueidis.IsRedisNil(err):
		return say("was asked %s: %w; give the address of a Redis server, and tls if it speaks TLS",
			what, errNoRedis)
	case slices.ContainsFunc([]error{errTooLong, errTooMany, errTooDeep},
		func(e error) bool { return errors.Is(err, e) }):
		return say("was asked %s, and %w, so it was broken off; see what answers there", what, err)
	case errors.Is(ctx.Err(), context.Canceled):
		return ctx.Err()
	case isTimeout(err) || ctx.Err() != nil:
		return say("has not answered %s within %v; see whether the server is overloaded or the "+
			"line slow, or raise timeout", what, r.config.Timeout)
	case errors.As(err, &dial) && dial.Op == "dial":
		return say("cannot be reached: %s; see whether it runs, and the address",
			short(err.Error()))
	case command == "" && !r.config.TLS.Enabled && !isSocket(r.config.Address) &&
		certs.Speaks(ctx, r.config.Address):
		return say("speaks TLS; add the section tls")
	}
	return say("broke off at %s: %s; see its log", what, short(err.Error()))
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()
}

// short makes one line of what a server or the library says.
func short(text string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
	printable := strings.Map(func(c rune) rune {
		if !strconv.IsPrint(c) {
			return '?'
		}
		return c
	}, text)
	return strings.ToValidUTF8(printable[:min(len(printable), 200)], "")
}
