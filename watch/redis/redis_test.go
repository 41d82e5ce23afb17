package redis

import (
	"fmt"
	"log/slog"
	"maps"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/redis/rueidis"

	"github.com/ringwatch/ringwatch/access/certs/certstest"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/dev/eventually"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/watch/encoder"
	"github.com/ringwatch/ringwatch/watch/reading"
)

// run gives a server commands, a line each. Errors are answers, too.
func run(t *testing.T, address string, lines ...string) []string {
	t.Helper()
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{address},
		ForceSingleClient: true, DisableCache: true})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	var answers []string
	for _, line := range lines {
		m, err := client.Do(t.Context(),
			client.B().Arbitrary(strings.Fields(line)...).Build()).ToMessage()
		text, _ := m.ToString()
		if err != nil {
			text = err.Error()
		}
		answers = append(answers, text)
	}
	return answers
}

// rights returns the command of docs/WATCH.md that makes the user, for servers or sentinels.
func rights(t *testing.T, sentinel bool) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/WATCH.md")
	if err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile(`(?m)^ACL SETUSER ringwatch on .*$`).FindAllString(string(page), -1)
	if len(lines) != 2 {
		t.Fatalf("%d lines with the user's rights", len(lines))
	}
	if sentinel {
		return lines[1]
	}
	return lines[0]
}

func asRingwatch(c *Config) { c.Username, c.Password = "ringwatch", "PASSWORD" }

// refuses is Deps that fail a test of the documented rights.
func refuses(t *testing.T) Deps {
	return Deps{Log: slog.New(slog.DiscardHandler),
		Refused: func(command string) { t.Errorf("%s is refused", command) }}
}

// work gives a server something to tell of.
func work(t *testing.T, address string) {
	t.Helper()
	lines := []string{"CONFIG SET latency-monitor-threshold 1",
		"CONFIG SET slowlog-log-slower-than 5000", "DEBUG SLEEP 0.01",
		"CONFIG SET latency-monitor-threshold 0 slowlog-log-slower-than 10000000",
		"SET text abc", "INCR text", "GET a b", "AUTH nobody wrong", "EVAL return(1) 0",
		"SET short 1 PX 100000",
		"CONFIG SET maxmemory 100mb"}
	for i := range 50 {
		lines = append(lines, fmt.Sprintf("SET k%d %d", i, i), fmt.Sprintf("GET k%d", i/2),
			"GET none")
	}
	run(t, address, append(lines, rights(t, false))...)
}

// exporter starts Debian's redis_exporter for a server and returns what takes its metrics.
func exporter(t *testing.T, address string) func() map[string]float64 {
	t.Helper()
	if err := engines.EnsureRedisExporter(t.Context(), func(s string) { t.Log(s) }); err != nil {
		t.Fatal(err)
	}
	path, err := exec.LookPath("prometheus-redis-exporter")
	if err != nil {
		t.Fatal(err)
	}
	listens := net.JoinHostPort("127.0.0.1", strconv.Itoa(engines.FreePorts(t, 1)[0]))
	p, err := engines.StartProcess(engines.ProcessConfig{Name: "redis_exporter", Path: path,
		Log: filepath.Join(t.TempDir(), "exporter.log"), Args: []string{"-redis.addr",
			"redis://" + address, "-web.listen-address", listens, "-redis-only-metrics"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Kill(); err != nil {
			t.Error(err)
		}
	})
	scrape := func() (map[string]float64, error) {
		res, err := http.Get("http://" + listens + "/metrics")
		if err != nil {
			return nil, err
		}
		defer res.Body.Close()
		parser := expfmt.NewTextParser(model.UTF8Validation)
		families, err := parser.TextToMetricFamilies(res.Body)
		return flat(families), err
	}
	eventually.Nil(t, "the exporter", func() error {
		got, err := scrape()
		if err == nil && got["redis_up"] != 1 {
			err = fmt.Errorf("redis_up is %v", got["redis_up"])
		}
		return err
	})
	return func() map[string]float64 {
		got, err := scrape()
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
}

func flat(families map[string]*dto.MetricFamily) map[string]float64 {
	all := map[string]float64{}
	for name, f := range families {
		for _, m := range f.Metric {
			var labels, values []string
			for _, l := range m.Label {
				labels, values = append(labels, l.GetName()), append(values, l.GetValue())
			}
			switch {
			case m.Summary != nil:
				for _, q := range m.Summary.Quantile {
					of := fmt.Sprint(q.GetQuantile())
					all[id(name, labels, values, "quantile", of)] = q.GetValue()
				}
				all[id(name+"_count", labels, values)] = float64(m.Summary.GetSampleCount())
				all[id(name+"_sum", labels, values)] = m.Summary.GetSampleSum()
			case m.Histogram != nil: // later exporters have them
				for _, b := range m.Histogram.Bucket {
					all[id(name+"_bucket", labels, values, "le", fmt.Sprint(b.GetUpperBound()))] =
						float64(b.GetCumulativeCount())
				}
				all[id(name+"_count", labels, values)] = float64(m.Histogram.GetSampleCount())
				all[id(name+"_sum", labels, values)] = m.Histogram.GetSampleSum()
			case m.Counter != nil:
				all[id(name, labels, values)] = m.Counter.GetValue()
			case m.Gauge != nil:
				all[id(name, labels, values)] = m.Gauge.GetValue()
			case m.Untyped != nil:
				all[id(name, labels, values)] = m.Untyped.GetValue()
			}
		}
	}
	return all
}

// lacking are names of the exporter that we have not, with the reason.
var lacking = map[string]string{
	"redis_exporter_":                          "they are about the exporter",
	"redis_target_scrape_":                     "they are about the exporter",
	"redis_last_key_groups_":                   "it counts keys by patterns, which we do not",
	"redis_config_client_output_buffer_limit_": "needs CONFIG GET, which shows passwords, too",
	"redis_config_io_threads":                  "needs CONFIG GET, which shows passwords, too",
}

// moving are names whose values move between two readings, with how far.
var moving = []struct {
	prefix             string
	relative, absolute float64
	why                string
}{
	{"redis_mem", 0.5, 1 << 20, "each connection takes memory"},
	{"redis_allocator_", 0.5, 4 << 20, "each connection takes memory"},
	{"redis_start_time_seconds", 0, 1, "the exporter reckons with its own clock"},
	{"redis_connected_clients", 0, 2, "the exporter is one"},
	{"redis_client_recent_max_", 0, 1 << 20, "the last seconds count"},
	{"redis_connected_slave_lag_seconds", 0, 1, "a replica acknowledges each second"},
	{"redis_master_last_io_seconds_ago", 0, 10, "the master speaks every ten seconds"},
	{"redis_sentinel_master_last_ok_ping_reply_seconds", 0, 1, "a sentinel asks each second"},
	{"redis_expired_stale_percentage", 0, 100, "it is an estimate of the last moment"},
	{"redis_db_avg_ttl_seconds", 0, 5, "keys grow old"},
}

// newer are names that we have and the exporter of Debian 12, 1.45, has not; later ones have them.
var newer = []string{
	"redis_async_loading",
	"redis_commands_latencies_usec",
	"redis_config_maxclients",
	"redis_config_repl_backlog_size",
	"redis_configured_hz",
	"redis_current_eviction_exceeded_time_ms",
	"redis_evicted_clients_total",
	"redis_eviction_exceeded_time_ms_total",
	"redis_expire_cycle_cpu_time_ms_total",
	"redis_hz",
	"redis_lazyfreed_objects",
	"redis_max_clients",
	"redis_mem_aof_buffer_bytes",
	"redis_mem_cluster_links_bytes",
	"redis_mem_replication_backlog_bytes",
	"redis_mem_total_replication_buffers_bytes",
	"redis_memory_used_functions_bytes",
	"redis_memory_used_scripts_eval_bytes",
	"redis_memory_used_vm_eval_bytes",
	"redis_memory_used_vm_functions_bytes",
	"redis_memory_used_vm_total",
	"redis_net_repl_input_bytes_total",
	"redis_net_repl_output_bytes_total",
	"redis_number_of_functions",
	"redis_number_of_libraries",
	"redis_pubsubshard_channels",
	"redis_rdb_last_load_expired_keys",
	"redis_rdb_last_load_loaded_keys",
	"redis_rdb_saves_total",
	"redis_reply_buffer_expands_total",
	"redis_reply_buffer_shrinks_total",
	"redis_sentinel_master_config_epoch",
	"redis_sentinel_master_last_ok_ping_reply_seconds",
	"redis_sentinel_master_setting_ckquorum",
	"redis_sentinel_master_setting_down_after_milliseconds",
	"redis_sentinel_master_setting_failover_timeout",
	"redis_sentinel_master_setting_parallel_syncs",
}

// ours are names that no exporter has.
var ours = []string{"redis_rss_overhead_ratio", "redis_slowlog_last_timestamp_seconds"}

var percentile = regexp.MustCompile(`^redis_latency_percentiles_usec{.*quantile=`)

var replid = regexp.MustCompile(`master_replid="[^"]*",`)

// compare holds the reader's values to the exporter's. The reader looks before and after it: what
// the exporter says lies between.
func compare(t *testing.T, r *Reader, scrape func() map[string]float64) *reading.Reading {
	t.Helper()
	look := func() (*reading.Reading, map[string]float64) {
		got, err := r.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		mustHold(t, got)
		of := map[string]float64{}
		for id, v := range series(got) {
			of[replid.ReplaceAllString(id, "")] = v // Debian's has it not
		}
		return got, of
	}
	_, before := look()
	theirs := scrape()
	got, after := look()
	b, left, err := encoder.New(r.config.Targets()[0], 1, frame.Fact{Name: "job", Value: "redis"}).
		Frame(time.Now().UnixMilli(), 0, got)
	if err != nil || left != 0 {
		t.Fatal(left, err)
	}
	if _, err := frame.Decode(b, nil); err != nil {
		t.Fatal(err)
	}
	compared, names := 0, map[string]bool{}
	for id, v := range theirs {
		id = replid.ReplaceAllString(id, "")
		name, _, _ := strings.Cut(id, "{")
		names[name] = true
		if slices.ContainsFunc(slices.Collect(maps.Keys(lacking)),
			func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
			continue
		}
		a, early := before[id]
		b, late := after[id]
		switch {
		case !early && !late && v == 0 && strings.HasPrefix(name, "redis_db_keys"):
			continue // databases that never had a key
		case !late:
			t.Errorf("we lack %s, %v", id, v)
			continue
		}
		if _, cmd, found := strings.Cut(id, `cmd="`); found && percentile.MatchString(id) {
			cmd, _, _ = strings.Cut(cmd, `"`)
			calls := fmt.Sprintf("redis_commands_total{cmd=%q}", cmd)
			if before[calls] != after[calls] {
				continue // the comparison itself runs it
			}
		}
		low, high := min(a, b), max(a, b)
		for _, m := range moving {
			if strings.HasPrefix(name, m.prefix) {
				low -= math.Abs(low)*m.relative + m.absolute
				high += math.Abs(high)*m.relative + m.absolute
			}
		}
		if compared++; v < low || v > high {
			t.Errorf("%s is %v and %v; the exporter has %v", id, a, b, v)
		}
	}
	for id := range after {
		name, _, _ := strings.Cut(id, "{")
		for _, suffix := range []string{"_bucket", "_count", "_sum"} {
			if of := strings.TrimSuffix(name, suffix); of == "redis_commands_latencies_usec" {
				name = of
			}
		}
		if !names[name] && !slices.Contains(newer, name) && !slices.Contains(ours, name) {
			names[name] = true
			t.Errorf("the exporter has no %s", name)
		}
	}
	t.Logf("%d of %d series compared", compared, len(theirs))
	return got
}

// TestAgainstExporter: on a master, its replica, a cluster's node and a sentinel we have what
// redis_exporter has, under its names, with its values, with the rights that the docs give.
func TestAgainstExporter(t *testing.T) {
	debug := func(c *engines.RedisConfig) {
		c.Extra = append(c.Extra, "--enable-debug-command", "local",
			"--repl-diskless-sync-delay", "0")
	}
	master := engines.MustRedis(t, debug)
	replica := engines.MustRedis(t, debug, func(c *engines.RedisConfig) {
		c.Extra = append(c.Extra, "--replicaof", master.Host+" "+strconv.Itoa(master.Port))
	})
	work(t, master.Addr())
	run(t, replica.Addr(), rights(t, false))
	eventually.True(t, "the replica", func() bool {
		of := run(t, replica.Addr(), "INFO replication", "INFO keyspace")
		return strings.Contains(run(t, master.Addr(), "INFO replication")[0], "state=online") &&
			strings.Contains(of[0], "master_link_status:up") &&
			strings.Contains(of[1], "db0:keys=52")
	})
	t.Run("master", func(t *testing.T) {
		got := compare(t, reader(t, master.Addr(), refuses(t), asRingwatch),
			exporter(t, master.Addr()))
		for name, want := range map[string]float64{"redis_up": 1, `redis_db_keys{db="db0"}`: 52,
			`redis_db_keys_expiring{db="db0"}`: 1, `redis_commands_total{cmd="set"}`: 52,
			`redis_commands_failed_calls_total{cmd="incr"}`:  1,
			`redis_commands_rejected_calls_total{cmd="get"}`: 1,
			`redis_errors_total{err="WRONGPASS"}`:            1, "redis_config_maxclients": 10000,
			"redis_keyspace_hits_total": 50, "redis_keyspace_misses_total": 50,
			"redis_config_maxmemory":                                    100 << 20,
			"redis_connected_slaves":                                    1,
			`redis_commands_latencies_usec_count{cmd="set"}`:            52,
			`redis_commands_latencies_usec_bucket{cmd="set",le="+Inf"}`: 52,
			`redis_latency_percentiles_usec_count{cmd="set"}`:           52} {
			if v, found := value(got, name); !found || v != want {
				t.Errorf("%s is %v, not %v", name, v, want)
			}
		}
		now := float64(time.Now().Unix())
		for name, least := range map[string]float64{
			"redis_slowlog_length":                                       1,
			"redis_last_slow_execution_duration_seconds":                 0.01,
			"redis_slowlog_last_timestamp_seconds":                       now - 3600,
			`redis_latency_spike_duration_seconds{event_name="command"}`: 0.01} {
			if v, found := value(got, name); !found || v < least || v > 2*least+1 {
				t.Errorf("%s is %v", name, v)
			}
		}
		facts(t, got, master.Addr(), run(t, master.Addr(), "INFO server")[0])
	})
	t.Run("replica", func(t *testing.T) {
		got := compare(t, reader(t, replica.Addr(), refuses(t), asRingwatch),
			exporter(t, replica.Addr()))
		link := fmt.Sprintf("redis_master_link_up{master_host=%q,master_port=%q}", master.Host,
			strconv.Itoa(master.Port))
		if v, found := value(got, link); !found || v != 1 {
			t.Errorf("%s is %v", link, v)
		}
	})
	t.Run("cluster", func(t *testing.T) {
		node := engines.MustRedis(t, debug, func(c *engines.RedisConfig) {
			c.Extra = append(c.Extra, "--cluster-enabled", "yes")
		})
		work(t, node.Addr())
		run(t, node.Addr(), "CLUSTER ADDSLOTSRANGE 0 16383")
		eventually.True(t, "the cluster", func() bool {
			return strings.Contains(run(t, node.Addr(), "CLUSTER INFO")[0], "cluster_state:ok")
		})
		got := compare(t, reader(t, node.Addr(), refuses(t), asRingwatch), exporter(t, node.Addr()))
		if v, _ := value(got, "redis_cluster_slots_ok"); v != 16384 {
			t.Errorf("%v slots are ok", v)
		}
	})
	t.Run("sentinel", func(t *testing.T) {
		address := mustSentinel(t, master)
		run(t, address, rights(t, true))
		eventually.True(t, "the sentinel", func() bool {
			return strings.Contains(run(t, address, "INFO sentinel")[0], "status=ok") &&
				strings.Contains(run(t, address, "INFO sentinel")[0], "slaves=1")
		})
		got := compare(t, reader(t, address, refuses(t), asRingwatch), exporter(t, address))
		at := fmt.Sprintf(`{master_address=%q,master_name="mine"}`, master.Addr())
		for name, want := range map[string]float64{"redis_sentinel_masters": 1,
			"redis_sentinel_master_ok_slaves" + at:        1,
			"redis_sentinel_master_setting_ckquorum" + at: 1} {
			if v, found := value(got, name); !found || v != want {
				t.Errorf("%s is %v", name, v)
			}
		}
	})
}

// facts holds the facts to INFO.
func facts(t *testing.T, got *reading.Reading, address, server string) {
	t.Helper()
	_, version, _ := strings.Cut(server, "redis_version:")
	version, _, _ = strings.Cut(version, "\r\n")
	want := []frame.Fact{{Name: "address", Value: address},
		{Name: "redis_mode", Value: "standalone"}, {Name: "version", Value: version}}
	if !slices.Equal(got.Facts, want) {
		t.Errorf("%v, not %v", got.Facts, want)
	}
}

func mustSentinel(t *testing.T, master *engines.Redis) string {
	t.Helper()
	dir := t.TempDir()
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(engines.FreePorts(t, 1)[0]))
	_, port, _ := net.SplitHostPort(address)
	config := filepath.Join(dir, "sentinel.conf")
	text := fmt.Sprintf("port %s\nbind 127.0.0.1\ndir %s\nsentinel monitor mine %s %d 1\n", port,
		dir, master.Host, master.Port)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal(engines.ErrNoRedis)
	}
	p, err := engines.StartProcess(engines.ProcessConfig{Name: "sentinel", Path: path,
		Args: []string{config, "--sentinel"}, Log: filepath.Join(dir, "log")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Kill(); err != nil {
			t.Error(err)
		}
	})
	eventually.Nil(t, "the sentinel", func() error {
		return engines.RedisAnswers(t.Context(), address)
	})
	return address
}

// TestLife: one connection for all readings; databases that are emptied; a password file that
// changes; a user who loses a right; a server that ends.
func TestLife(t *testing.T) {
	server := engines.MustRedis(t)
	file := filepath.Join(t.TempDir(), "password")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("PASSWORD")
	run(t, server.Addr(), rights(t, false), "SET a 1", "CONFIG RESETSTAT")
	r := reader(t, server.Addr(), refuses(t), func(c *Config) {
		c.Username, c.PasswordFile = "ringwatch", file
	})
	must := func() *reading.Reading {
		t.Helper()
		got, err := r.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	first := must()
	run(t, server.Addr(), "FLUSHALL")
	var last *reading.Reading
	for range 5 {
		last = must()
	}
	if v, found := value(last, `redis_db_keys{db="db0"}`); !found || v != 0 {
		t.Errorf("%v keys", v)
	}
	a, _ := value(first, "redis_connections_received_total")
	if b, _ := value(last, "redis_connections_received_total"); b != a+1 { // run's
		t.Errorf("%v connections, then %v", a, b)
	}
	if v, _ := value(last, "redis_acl_access_denied_cmd_total"); v != 0 {
		t.Errorf("%v refused", v)
	}
	x, _ := value(first, "redis_start_time_seconds")
	if y, _ := value(last, "redis_start_time_seconds"); x != y {
		t.Errorf("it started at %v and %v", x, y)
	}
	run(t, server.Addr(), strings.ReplaceAll(rights(t, false), ">PASSWORD", "resetpass >new"),
		"CLIENT KILL USER ringwatch")
	if _, err := r.Read(t.Context()); err == nil {
		t.Error("its connection was cut")
	}
	if _, err := r.Read(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "does not take the user's password") {
		t.Error(err)
	}
	write("new")
	must()
	run(t, server.Addr(), "ACL SETUSER ringwatch -info")
	if _, err := r.Read(t.Context()); err == nil ||
		!strings.Contains(err.Error(), `does not allow INFO to the user "ringwatch"`) {
		t.Error(err)
	}
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	if got, err := r.Read(t.Context()); err == nil || got != nil {
		t.Error(got, err)
	}
}

// TestBounds: the bounds of our histograms are the server's own, so no count moves to another.
func TestBounds(t *testing.T) {
	server := engines.MustRedis(t, func(c *engines.RedisConfig) {
		c.Extra = []string{"--enable-debug-command", "local"}
	})
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{server.Addr()},
		ForceSingleClient: true, DisableCache: true, AlwaysRESP2: true})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for usec := int64(1); usec < 1_200_000; usec *= 2 {
		sleep := strconv.FormatFloat(float64(usec)/1e6, 'f', -1, 64)
		if err := client.Do(t.Context(), client.B().Arbitrary("DEBUG", "SLEEP", sleep).Build()).
			Error(); err != nil {
			t.Fatal(err)
		}
	}
	of, err := client.Do(t.Context(),
		client.B().Arbitrary("LATENCY", "HISTOGRAM", "debug").Build()).AsMap()
	if err != nil {
		t.Fatal(err)
	}
	command := of["debug"]
	details, err := command.AsMap()
	if err != nil {
		t.Fatal(err)
	}
	buckets := details["histogram_usec"]
	numbers, err := buckets.AsIntSlice()
	if err != nil || len(numbers) < 20 {
		t.Fatal(numbers, err)
	}
	for i := 0; i < len(numbers); i += 2 {
		if !slices.Contains(latencyBounds.Upper, numbers[i]) {
			t.Errorf("the server has the bound %d, and not we: %v", numbers[i], latencyBounds.Upper)
		}
	}
	if last := numbers[len(numbers)-2]; last != latencyBounds.Upper[len(latencyBounds.Upper)-1] {
		t.Errorf("its last bound is %d", last)
	}
}

// TestTLS: with TLS the values are there; without the section, or for another name, one sentence
// says what to set.
func TestTLS(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	authority := certstest.New(t, "authority")
	authority.Write(t, at("ca.pem"))
	authority.Issue(t, at("cert.pem"), at("key.pem"), "redis", "127.0.0.1")
	server := engines.MustRedis(t, func(c *engines.RedisConfig) {
		c.TLS = &engines.TLS{CertFile: at("cert.pem"), KeyFile: at("key.pem"), CAFile: at("ca.pem")}
	})
	secure := func(c *Config) {
		c.TLS.Enabled = true
		c.TLS.CAFile, c.TLS.CertFile, c.TLS.KeyFile = at("ca.pem"), at("cert.pem"), at("key.pem")
	}
	got, err := reader(t, server.Addr(), Deps{}, secure).Read(t.Context())
	if v, _ := value(got, "redis_memory_used_bytes"); err != nil || v < 1000 {
		t.Error(v, err)
	}
	for _, c := range []struct {
		says   string
		change func(*Config)
	}{
		{"speaks TLS; add the section tls", func(*Config) {}},
		{"tls.server_name", func(c *Config) { secure(c); c.TLS.ServerName = "other" }},
		{"tls.ca_file", func(c *Config) { secure(c); c.TLS.CAFile = "" }},
		{"tls.cert_file", func(c *Config) { secure(c); c.TLS.CertFile, c.TLS.KeyFile = "", "" }},
	} {
		_, err := reader(t, server.Addr(), Deps{Log: slog.New(slog.DiscardHandler)}, c.change).
			Read(t.Context())
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v, want %s", err, c.says)
		}
	}
}

// TestSocket: a path is an address.
func TestSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	engines.MustRedis(t, func(c *engines.RedisConfig) { c.Extra = []string{"--unixsocket", path} })
	got, err := reader(t, path, Deps{}).Read(t.Context())
	if err != nil || got.Facts[0].Value != path {
		t.Error(got.Facts, err)
	}
}

func BenchmarkRead(b *testing.B) {
	server := engines.MustRedis(b)
	c := DefaultConfig()
	c.Cluster, c.Address = "cache", server.Addr()
	r, err := New(c, Deps{})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	series := 0
	for b.Loop() {
		got, err := r.Read(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		series = got.Series()
	}
	b.ReportMetric(float64(series), "series")
}
