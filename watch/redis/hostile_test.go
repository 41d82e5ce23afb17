package redis

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/ringwatch/ringwatch/watch/reading"
)

// fake answers commands, by the two first words, in capitals, or the first; others get OK.
type fake map[string]func(io.Writer)

// says answers with a text as it is.
func says(text string) func(io.Writer) {
	return func(w io.Writer) { io.WriteString(w, text) }
}

func bulk(text string) func(io.Writer) {
	return says(fmt.Sprintf("$%d\r\n%s\r\n", len(text), text))
}

// hangs answers nothing.
func hangs(io.Writer) {}

// mustFake starts the server and returns its address.
func mustFake(t *testing.T, f fake) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var conns []net.Conn
	wg.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, conn)
			mu.Unlock()
			wg.Go(func() { f.serve(conn) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		mu.Lock()
		for _, conn := range conns {
			conn.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return listener.Addr().String()
}

func (f fake) serve(conn net.Conn) {
	defer conn.Close()
	r := bufio.NewReader(conn)
	number := func() int {
		line, err := r.ReadString('\n')
		if err != nil {
			return 0
		}
		n, _ := strconv.Atoi(strings.TrimSpace(line[1:]))
		return n
	}
	for {
		words := make([]string, number())
		for i := range words {
			b := make([]byte, number()+2)
			if _, err := io.ReadFull(r, b); err != nil {
				return
			}
			words[i] = strings.ToUpper(string(b[:len(b)-2]))
		}
		if len(words) == 0 {
			return
		}
		answer := f[strings.Join(words[:min(2, len(words))], " ")]
		if answer == nil {
			answer = f[words[0]]
		}
		if answer == nil {
			answer = says("+OK\r\n")
			if words[0] == "HELLO" {
				answer = says("*2\r\n$5\r\nproto\r\n:2\r\n")
			}
		}
		answer(conn)
	}
}

func reader(t *testing.T, address string, deps Deps, change ...func(*Config)) *Reader {
	t.Helper()
	c := DefaultConfig()
	c.Cluster, c.Address, c.Timeout = "cache", address, 10*time.Second
	for _, f := range change {
		f(&c)
	}
	r, err := New(c, deps)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func endless(chunk string) func(io.Writer) {
	return func(w io.Writer) {
		for {
			if _, err := io.WriteString(w, chunk); err != nil {
				return
			}
		}
	}
}

// TestHostile: whatever the server does, the reading ends with one sentence, soon and in bounded
// memory.
func TestHostile(t *testing.T) {
	random := make([]byte, 1<<20)
	source := rand.NewChaCha8([32]byte{7})
	source.Read(random)
	half := time.Second
	for name, c := range map[string]struct {
		server  fake
		timeout time.Duration
		says    string
		partly  bool // INFO was answered
	}{
		"500 MB of INFO": {server: fake{"INFO": func(w io.Writer) {
			io.WriteString(w, "$500000000\r\n")
			endless(strings.Repeat("used_memory:1\r\n", 1000))(w)
		}}, says: "was asked INFO, and its answer has more than 4 MiB"},
		"a simple string without end": {server: fake{"INFO": func(w io.Writer) {
			io.WriteString(w, "+")
			endless(strings.Repeat("a", 1000))(w)
		}}, says: "more than 4 MiB"},
		"values without end": {server: fake{"INFO": endless("*1000\r\n" +
			strings.Repeat(":1\r\n", 1000))}, says: "redis"},
		"a length that no memory has": {server: fake{"INFO": says("$9000000000000000000\r\n")},
			says: "more than 4 MiB"},
		"a list that no memory has": {server: fake{"INFO": says("*4000000000000\r\n")},
			says: "more than 262144 values"},
		"many big lists":     {server: fake{"INFO": endless("*200000\r\n")}, says: "values"},
		"a negative list":    {server: fake{"INFO": says("*-5\r\n")}, says: "does not speak"},
		"a negative map":     {server: fake{"INFO": says("%-1\r\n")}, says: "does not speak"},
		"lists in lists":     {server: fake{"INFO": endless("*1\r\n")}, says: "lists in lists"},
		"random bytes":       {server: fake{"INFO": says(string(random))}, says: "does not speak"},
		"random from HELLO":  {server: fake{"HELLO": says(string(random))}, says: "does not speak"},
		"HTTP":               {server: fake{"HELLO": says("HTTP/1.1 400\r\n")}, says: "not speak"},
		"random in a string": {server: fake{"INFO": bulk(string(random))}, says: "without redis_"},
		"a list for INFO":    {server: fake{"INFO": says("*1\r\n:5\r\n")}, says: "INFO"},
		"a number for INFO":  {server: fake{"INFO": says(":5\r\n")}, says: "INFO"},
		"nothing for INFO":   {server: fake{"INFO": says("$-1\r\n")}, says: "INFO"},
		"an empty INFO":      {server: fake{"INFO": bulk("")}, says: "without redis_version"},
		"it hangs at INFO": {server: fake{"INFO": hangs}, timeout: half,
			says: "has not answered INFO within 1s; see whether"},
		"it hangs at once": {server: fake{"HELLO": hangs}, timeout: half,
			says: "has not answered the greeting within 1s"},
		"it drips": {server: fake{"INFO": func(w io.Writer) {
			io.WriteString(w, "$100000\r\n")
			for {
				if _, err := io.WriteString(w, "a"); err != nil {
					return
				}
				time.Sleep(10 * time.Millisecond)
			}
		}}, timeout: half, says: "has not answered INFO within 1s"},
		"it refuses INFO": {server: fake{"INFO": says("-NOPERM this user has no permissions " +
			"to run the 'info' command\r\n")}, says: "not allow INFO to the user \"\"; see"},
		"a wrong password": {server: fake{"HELLO": says("-WRONGPASS invalid\r\n")},
			says: "does not take the user's password"},
		"no password": {server: fake{"INFO": says("-NOAUTH Authentication required.\r\n")},
			says: "wants a password; set"},
		"an answer too many": {server: fake{"INFO": says("$0\r\n\r\n+OK\r\n")},
			says: "does not speak Redis's"},
		"an answer too many at once": {server: fake{"HELLO": says("-ERR unknown command 'HELLO'" +
			"\r\n+OK\r\n+OK\r\n")}, says: "does not speak Redis's"},
		"a long refusal": {server: fake{"INFO": says("-ERR " + strings.Repeat("x\x1b", 1<<20) +
			"\r\n")}, says: "refuses INFO: x?x?"},
		"too much of the slow log": {server: fake{"INFO": bulk("redis_version:7.0.0\r\n"),
			"SLOWLOG GET": func(w io.Writer) {
				io.WriteString(w, "*1\r\n*6\r\n")
				endless("$1000000\r\n" + strings.Repeat("a", 1000000) + "\r\n")(w)
			}}, says: "was asked SLOWLOG GET, and its answer has more than 4 MiB", partly: true},
	} {
		t.Run(name, func(t *testing.T) {
			if c.timeout == 0 {
				c.timeout = 30 * time.Second
			}
			r := reader(t, mustFake(t, c.server), Deps{}, func(config *Config) {
				config.Interval, config.Timeout = time.Minute, c.timeout
			})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			begun := time.Now()
			got, err := r.Read(t.Context())
			took := time.Since(begun)
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("%v, want %q", err, c.says)
			}
			if len(err.Error()) > 400 || strings.ContainsAny(err.Error(), "\r\n\x1b") {
				t.Errorf("no sentence: %q", err)
			}
			if (got != nil) != c.partly {
				t.Errorf("%+v", got)
			}
			// An answer is read into buffers that grow by doubling.
			if took > 20*time.Second || after.TotalAlloc-before.TotalAlloc > 64<<20 {
				t.Errorf("it took %v and %d MiB", took, (after.TotalAlloc-before.TotalAlloc)>>20)
			}
		})
	}
}

// TestNobody: a server that is not there, a socket that is none, and a caller who gives up.
func TestNobody(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	for address, want := range map[string]string{
		listener.Addr().String():    "cannot be reached: dial tcp",
		t.TempDir() + "/redis.sock": "cannot be reached: dial unix",
	} {
		if _, err := reader(t, address, Deps{}).Read(t.Context()); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v", err)
		}
	}
	for _, server := range []fake{{"INFO": hangs}, {"HELLO": hangs}} {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		begun := time.Now()
		_, err := reader(t, mustFake(t, server), Deps{}).Read(ctx)
		if !errors.Is(err, context.Canceled) || time.Since(begun) > 5*time.Second {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
	}
}

// TestRefused: a refused command leaves its metrics out, is counted, said once and tried again
// after an hour.
func TestRefused(t *testing.T) {
	asked := 0
	allowed := false
	server := fake{"INFO": bulk("# Server\r\nredis_version:7.0.0\r\nuptime_in_seconds:5\r\n"),
		"SLOWLOG LEN": func(w io.Writer) {
			if asked++; allowed {
				io.WriteString(w, ":3\r\n")
				return
			}
			io.WriteString(w, "-NOPERM this user has no permissions to run 'slowlog|len'\r\n")
		},
		"SLOWLOG GET":       says("*0\r\n"),
		"LATENCY HISTOGRAM": says("-LOADING Redis is loading the dataset in memory\r\n"),
		"LATENCY LATEST":    says("-ERR unknown command 'LATENCY'\r\n")}
	var log bytes.Buffer
	now := time.UnixMilli(1_700_000_000_000)
	counted := map[string]int{}
	r := reader(t, mustFake(t, server), Deps{Log: slog.New(slog.NewTextHandler(&log, nil)),
		Now: func() time.Time { return now }, Refused: func(command string) { counted[command]++ }})
	for i := range 3 {
		got, err := r.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if v, found := value(got, "redis_slowlog_length"); found {
			t.Errorf("reading %d: %v", i, v)
		}
		if v, _ := value(got, "redis_slowlog_last_id"); v != 0 {
			t.Errorf("reading %d: %v", i, v)
		}
		if v, _ := value(got, "redis_start_time_seconds"); v != 1_699_999_995 {
			t.Errorf("reading %d: %v", i, v)
		}
	}
	if asked != 1 || counted["SLOWLOG LEN"] != 1 || counted["LATENCY LATEST"] != 1 ||
		len(counted) != 2 {
		t.Errorf("asked %d times, %v", asked, counted)
	}
	now = now.Add(refusedFor)
	if _, err := r.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	allowed = true
	now = now.Add(refusedFor)
	got, err := r.Read(t.Context())
	if v, _ := value(got, "redis_slowlog_length"); err != nil || v != 3 {
		t.Error(v, err)
	}
	if n := strings.Count(log.String(), "SLOWLOG LEN"); n != 1 || counted["SLOWLOG LEN"] != 2 {
		t.Errorf("said %d times, %v: %s", n, counted, log.String())
	}
}

// TestMany: tables have bounds, and what is odd in INFO is ignored.
func TestMany(t *testing.T) {
	var text strings.Builder
	text.WriteString("# Server\r\nredis_version:6.2.0\r\nredis_mode:standalone\r\nrole:master\r\n" +
		"role:slave\r\nuptime_in_seconds:-\r\n# Memory\r\nused_memory:12\r\nused_memory:13\r\n" +
		"used_memory_rss:1.5\r\nused_memory_peak:99999999999999999999\r\n" +
		"mem_fragmentation_ratio:nan\r\n" +
		"allocator_frag_ratio:inf\r\nallocator_rss_ratio:1.25\r\nof_tomorrow:5\r\nno colon\r\n" +
		":\r\n" +
		"evicted_keys:-5\r\nused_cpu_sys:1.5\r\nused_cpu_user:0.1234567\r\n")
	text.WriteString("# Keyspace\r\ndb0:keys=1,expires=x,avg_ttl=1500\r\ndb0:keys=2\r\ndbx\r\n" +
		"db\xff\x00:keys=5\r\n# Replication\r\nslave0:ip=::1,port=1,state=online,offset=5," +
		"lag=1\r\n" +
		"slave1:,,,=,=\r\nslave_priority:100\r\nmaster_link_status:up\r\n# Commandstats\r\n")
	for i := range 3000 {
		fmt.Fprintf(&text, "cmdstat_c%d:calls=%d,usec=5,rejected_calls=1\r\n", i, i)
	}
	text.WriteString("cmdstat_bad:calls=-1,usec=5\r\ncmdstat_" + strings.Repeat("y", 3000) +
		":calls=1,usec=1\r\n# Latencystats\r\nlatency_percentiles_usec_c5:p50=1.5,pNaN=1,p=," +
		"p101=3,p99.9=-2\r\nlatency_percentiles_usec_none:p50=1\r\n# Errorstats\r\n" +
		"errorstat_:count=\r\n")
	var log bytes.Buffer
	r := reader(t, mustFake(t, fake{"INFO": bulk(text.String())}),
		Deps{Log: slog.New(slog.NewTextHandler(&log, nil))})
	for range 2 {
		got, err := r.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		mustHold(t, got)
		for name, want := range map[string]float64{"redis_memory_used_bytes": 12,
			"redis_allocator_rss_ratio": 1.25, "redis_cpu_sys_seconds_total": 1.5,
			"redis_cpu_user_seconds_total": 0.123456, "redis_slave_priority": 100,
			`redis_db_keys{db="db0"}`: 2, `redis_db_avg_ttl_seconds{db="db0"}`: 1.5,
			`redis_latency_percentiles_usec{cmd="c5",quantile="50"}`: 1.5,
			`redis_connected_slave_lag_seconds{slave_ip="::1",slave_port="1",` +
				`slave_state="online"}`: 1} {
			if v, found := value(got, name); !found || v != want {
				t.Errorf("%s is %v", name, v)
			}
		}
		for _, name := range []string{"redis_memory_used_rss_bytes", "redis_memory_used_peak_bytes",
			"redis_mem_fragmentation_ratio", "redis_allocator_frag_ratio",
			"redis_evicted_keys_total", "redis_of_tomorrow", `redis_commands_total{cmd="bad"}`} {
			if v, found := value(got, name); found {
				t.Errorf("%s is %v", name, v)
			}
		}
	}
	if n := strings.Count(log.String(), "the rest is left out"); n != 1 {
		t.Errorf("said %d times: %s", n, log.String())
	}
}

// TestHistogram: counts of each bucket, whatever bounds the server has.
func TestHistogram(t *testing.T) {
	for _, c := range []struct {
		numbers []int64
		total   int64
		want    map[int]int64 // nil: none
	}{
		{[]int64{1, 2, 33, 5}, 5, map[int]int64{0: 2, 5: 3}},
		{[]int64{32, 1, 1073742, 3}, 4, map[int]int64{5: 1, 21: 3}},
		{nil, 4, map[int]int64{21: 4}},
		{[]int64{1, 5, 2, 3}, 5, nil},
		{[]int64{1, -5}, 5, nil},
		{[]int64{1, 5}, 4, nil},
		{[]int64{1}, 0, map[int]int64{}},
	} {
		got, ok := parted(c.numbers, c.total)
		if ok != (c.want != nil) {
			t.Errorf("%v: %v", c.numbers, ok)
		}
		for i, n := range got {
			if n != c.want[i] {
				t.Errorf("%v: bucket %d has %d", c.numbers, i, n)
			}
		}
	}
}

// TestAnswers: no answer makes the library panic once the guard has let it through, and what comes
// of it keeps the promises of a reading. The answers are bytes changed, left out and put twice in
// some that are well-formed. It is no fuzz target: to build the library for one takes minutes.
func TestAnswers(t *testing.T) {
	seeds := []string{":1\r\n", "$3\r\nabc\r\n", "*2\r\n*1\r\n$-1\r\n:5\r\n",
		"-ERR x\r\n", "+OK\r\n", "*0\r\n", "$0\r\n\r\n", "_X\r$9999999999\r\n", "%1\r\n+a\r\n",
		"|1\r\n+a\r\n+b\r\n:1\r\n",
		"$?\r\n;4\r\nabcd\r\n;0\r\n", ">2\r\n+a\r\n+b\r\n", "+\n", ":\r\n",
		"$12\r\nused_memory:\r\n",
		"*4\r\n$3\r\nget\r\n*4\r\n$5\r\ncalls\r\n:3\r\n$14\r\nhistogram_usec\r\n*2\r\n:1\r\n" +
			":3\r\n"}
	random := rand.New(rand.NewPCG(3, 5))
	for i := range answersTried {
		answer := []byte(seeds[i%len(seeds)])
		for range random.IntN(4) * min(i/len(seeds), 1) { // first as they are
			at := random.IntN(len(answer) + 1)
			switch random.IntN(3) {
			case 0:
				const of = "+-:$*%_|>?0159\r\n=,a\x00"
				answer = slices.Insert(answer, at, of[random.IntN(len(of))])
			case 1:
				answer = slices.Insert(answer, at, answer[:at]...)
			default:
				answer = slices.Delete(answer, at/2, at)
			}
		}
		answers(t, answer, i%2 == 0)
		if t.Failed() {
			t.Fatalf("%q", answer)
		}
	}
}

// answersTried is how many answers TestAnswers tries.
const answersTried = 400

// answers gives a reader an answer as INFO's text, or as the bytes for another command.
func answers(t *testing.T, answer []byte, ofInfo bool) {
	server := fake{"INFO": bulk("redis_version:7.0.0\r\ncluster_enabled:1\r\n")}
	if ofInfo {
		server["INFO"] = bulk("# Server\r\nredis_version:7.0.0\r\n" + string(answer))
	} else {
		server["SLOWLOG GET"] = func(w io.Writer) {
			w.Write(answer)
			w.(net.Conn).Close()
		}
	}
	got, err := reader(t, mustFake(t, server), Deps{Log: slog.New(slog.DiscardHandler)}).
		Read(t.Context())
	if err != nil && strings.Contains(err.Error(), "answers what no Redis does") {
		t.Error(err)
	}
	if got != nil {
		mustHold(t, got)
	}
	g, h := guard{pending: 2, bytes: maxBytes}, guard{pending: 2, bytes: maxBytes}
	g.said.values, h.said.values = maxValues, maxValues
	h.Conn = pipe{iotest.OneByteReader(bytes.NewReader(answer))}
	whole := g.take(answer)
	_, single := io.Copy(io.Discard, struct{ io.Reader }{&h})
	if (whole == nil) != (single == nil) {
		t.Errorf("at once %v, byte by byte %v", whole, single)
	}
}

type pipe struct{ io.Reader }

func (pipe) Write(b []byte) (int, error)      { return len(b), nil }
func (pipe) Close() error                     { return nil }
func (pipe) LocalAddr() net.Addr              { return nil }
func (pipe) RemoteAddr() net.Addr             { return nil }
func (pipe) SetDeadline(time.Time) error      { return nil }
func (pipe) SetReadDeadline(time.Time) error  { return nil }
func (pipe) SetWriteDeadline(time.Time) error { return nil }

// mustHold holds a reading to what package reading says of it.
func mustHold(t *testing.T, r *reading.Reading) {
	t.Helper()
	names := map[string]bool{}
	for _, table := range r.Tables {
		if len(table.Rows) > maxRows || len(table.Columns) == 0 {
			t.Errorf("%s has %d rows, %d columns", table.Type, len(table.Rows), len(table.Columns))
		}
		rows := map[string]bool{}
		for _, row := range table.Rows {
			key := strings.Join(row, "\x00")
			if len(row) != len(table.Labels) || rows[key] || strings.ToValidUTF8(key, "") != key {
				t.Errorf("%s has a row %q", table.Type, row)
			}
			rows[key] = true
			for _, v := range row {
				if len(v) > maxLabel+8 {
					t.Errorf("a label of %d bytes", len(v))
				}
			}
		}
		for _, c := range table.Columns {
			if names[c.Name] || len(c.Ints)+len(c.Doubles)+len(c.Histograms) != len(table.Rows) {
				t.Errorf("%s has %d values of %d", c.Name, len(c.Ints), len(table.Rows))
			}
			names[c.Name] = true
		}
	}
}
