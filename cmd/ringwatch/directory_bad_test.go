package main

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/data"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/datadir"
	"github.com/ringwatch/ringwatch/frame/frametest"
)

// fill makes a key and sends frames of two nodes for some minutes up to base. They say so many.
func (d *directory) fill(t *testing.T) (base int64) {
	t.Helper()
	d.fleet = &promFleet{cluster: "bad-prod", load: map[int64][]float64{}, key: d.given}
	if d.given == "" {
		d.fleet.key = d.key(t, "all", account.Read, account.Write)
	}
	for n := range 2 {
		node := frametest.New(d.fleet.cluster, uint64(9100+n), 2)
		node.Interval = pastEvery
		d.fleet.nodes = append(d.fleet.nodes, node)
	}
	base = time.Now().UnixMilli() / pastEvery * pastEvery
	for at := base - 29*pastEvery; at <= base; at += pastEvery {
		d.fleet.send(t, d.ingest, at)
	}
	return base
}

// has asks until the nodes have so many values in the 30 minutes up to a time, one node this many
// and the other that many.
func (d *directory) has(t *testing.T, until int64, this, that int) {
	t.Helper()
	ask := "/api/v1/query?" + url.Values{"query": {"count_over_time(node_load1[30m])"},
		"time": {fmt.Sprint(until / 1000)}}.Encode()
	eventually(t, fmt.Sprint(this, " and ", that, " values"), func(ctx context.Context) error {
		text, err := d.get(ctx, d.fleet.key, ask)
		if err == nil &&
			strings.Count(text, fmt.Sprintf("\"%d\"", this))+
				strings.Count(text, fmt.Sprintf("\"%d\"", that)) < 2 ||
			strings.Count(text, "node_load1") > 2 {
			err = errors.New(text)
		}
		return err
	})
}

// says waits until /-/ready of the API says something.
func (d *directory) says(t *testing.T, want string) {
	t.Helper()
	eventually(t, want, func(ctx context.Context) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, d.api+"/-/ready", nil)
		if err != nil {
			return err
		}
		got, err := http.DefaultClient.Do(r)
		if err != nil {
			return err
		}
		defer got.Body.Close()
		text, err := io.ReadAll(got.Body)
		if err == nil && !strings.Contains(string(text), want) {
			err = fmt.Errorf("it says %s", text)
		}
		return err
	})
}

// Logs reports how often the log has a text.
func (d *directory) logs(t *testing.T, text string) int {
	t.Helper()
	b, err := os.ReadFile(d.log)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(b), text)
}

// PathFlags returns the directory's files whose names end so, the oldest first.
func (d *directory) paths(t *testing.T, ending string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(d.data, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ending) {
			list = append(list, path)
		}
		return err
	})
	if err != nil || len(list) == 0 {
		t.Fatalf("no file ends with %s: %v", ending, err)
	}
	slices.Sort(list)
	return list
}

// TestNewerDirectory: what a newer version wrote is refused in a sentence, and not touched.
func TestNewerDirectory(t *testing.T) {
	d := newDirectory(t)
	d.begin(t)
	base := d.fill(t)
	if err := d.Kill(); err != nil {
		t.Fatal(err)
	}
	format := "Ringwatch rows 2\n"
	format += fmt.Sprintf("crc32c %08x\n",
		crc32.Checksum([]byte(format), crc32.MakeTable(crc32.Castagnoli)))
	for path, newer := range map[string]string{
		filepath.Join(d.data, "rows", "FORMAT"):                    format,
		d.paths(t, "commits/0000000000000001.segment")[0]:          "RWS2",
		d.paths(t, "ringwatch.frames/0000000000000001.segment")[0]: "RWS2",
	} {
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		after := slices.Clone(before)
		copy(after, newer)
		if err := os.WriteFile(path, after[:max(len(newer), len(after))], 0o600); err != nil {
			t.Fatal(err)
		}
		d.refused(t, "newer version", "all")
		if now, err := os.ReadFile(path); err != nil || string(now) != string(after) {
			t.Errorf("%s was changed: %v", path, err)
		}
		if err := os.WriteFile(path, before, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d.begin(t)
	d.has(t, base, 30, 30)
}

// TestOtherAccounts: a directory of other accounts is refused; of some that are gone it is said.
func TestOtherAccounts(t *testing.T) {
	d := newDirectory(t)
	d.begin(t)
	base := d.fill(t)
	if err := d.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(d.config)
	if err != nil {
		t.Fatal(err)
	}
	accounts := func(names string) {
		t.Helper()
		now := strings.Replace(string(text), "{name: alone}", names, 1)
		if err := os.WriteFile(d.config, []byte(now), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	accounts("{name: other}")
	d.refused(t,
		d.data+" has things of the account alone, and the configuration names other alone: name "+
			"another directory", "all")
	accounts("{name: other}, {name: alone}")
	d.begin(t)
	d.has(t, base, 30, 30)
	if err := d.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	accounts("{name: alone}")
	copied := filepath.Join(t.TempDir(), "copy")
	backup := data.DataBackupCmd{Dir: d.data, To: copied}
	if err := backup.RunTo(io.Discard); err != nil {
		t.Fatal(err)
	}
	const gone = "has things of accounts that the configuration does not name"
	for i, dir := range []string{d.data, copied} {
		d.data = dir
		d.begin(t)
		d.has(t, base, 30, 30)
		if n := d.logs(t, gone); n != i+1 {
			t.Errorf("it was said %d times that accounts are gone, want %d", n, i+1)
		}
		if err := d.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(d.data, datadir.AccountsName)
	if err := os.WriteFile(file, []byte("mallory\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	check := data.DataCheckCmd{Dir: d.data}
	if err := check.RunTo(io.Discard); err == nil {
		t.Error("ringwatch data check says nothing of " + file)
	}
	d.begin(t)
	d.has(t, base, 30, 30)
	if list, err := datadir.ReadAccounts(d.data); err != nil ||
		!slices.Equal(list, []string{"alone"}) {
		t.Errorf("%v, %v", list, err)
	}
}

// TestDamagedDirectory: whatever file is damaged or gone, it is named, and the rest is served.
func TestDamagedDirectory(t *testing.T) {
	d := newDirectory(t)
	d.begin(t, littleRows)
	base := d.fill(t)
	d.has(t, base, 30, 30)
	if err := d.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(d.data, datadir.SocketName)); err != nil {
		t.Fatal(err)
	}
	whole := d.data
	files := append(d.paths(t, ".rows"), d.paths(t, "ringwatch.frames/0000000000000001.segment")...)
	files = append(files, d.paths(t, "TABLES")...)
	for i, path := range files {
		d.data = filepath.Join(t.TempDir(), "data")
		if err := os.CopyFS(d.data, os.DirFS(whole)); err != nil {
			t.Fatal(err)
		}
		path = filepath.Join(d.data, strings.TrimPrefix(path, whole))
		b, err := os.ReadFile(path)
		switch {
		case err != nil:
		case !strings.HasSuffix(path, ".rows") || i%3 == 0:
			b[len(b)/2] ^= 16
			err = os.WriteFile(path, b, 0o600)
		case i%3 == 1:
			err = os.Truncate(path, int64(len(b)/2))
		default:
			err = os.Remove(path)
		}
		if err != nil {
			t.Fatal(err)
		}
		d.begin(t)
		base += pastEvery
		for _, node := range d.fleet.nodes {
			node.Restart(base) // a key frame: the last one may be in another copy
		}
		d.fleet.send(t, d.ingest, base)
		eventually(t, "new frames", func(ctx context.Context) error {
			text, err := d.get(ctx, d.fleet.key,
				"/api/v1/query?"+
					url.Values{"query": {"node_load1"}, "time": {fmt.Sprint(base / 1000)}}.Encode())
			if err == nil && strings.Count(text, "node_load1") != 2 {
				err = errors.New(text)
			}
			return err
		})
		if strings.HasSuffix(path, ".rows") || filepath.Base(path) == "TABLES" {
			d.says(t, "were found damaged or missing")
			if d.logs(t, filepath.Base(path)) == 0 {
				t.Errorf("the log does not name %s", path)
			}
		}
		if err := d.Kill(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestClockOfDirectoryWentBack: it is said, what was written is served, and new frames are taken.
func TestClockOfDirectoryWentBack(t *testing.T) {
	d := newDirectory(t)
	shift := filepath.Join(t.TempDir(), "shift")
	env := clockFile + "=" + shift
	if err := os.WriteFile(shift, []byte("2h"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.begin(t, env)
	base := d.fill(t)
	if err := d.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(shift, []byte("0s"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.begin(t, env)
	d.has(t, base, 30, 30)
	d.fleet.send(t, d.ingest, base+pastEvery)
	d.has(t, base+pastEvery, 31, 31)
	if d.logs(t, "the clock is behind what was written last") == 0 {
		t.Error("nothing is said of the clock")
	}
}

// TestFullDirectory: on a full disk agents get 503 and questions are answered, also after a start;
// when there is room frames are taken again, and none is lost. A disk that can only be read is
// refused in a sentence, and can be copied.
func TestFullDirectory(t *testing.T) {
	d := newDirectory(t)
	d.given = "rw_full_directory_0123456789abcdef"
	text, err := os.ReadFile(d.config)
	if err != nil {
		t.Fatal(err)
	}
	keyed := strings.Replace(string(text), "{name: alone}", fmt.Sprintf(
		"{name: alone, keys: [{name: all, sha256: %s, scopes: [read, write]}]}",
		account.Hash(d.given)), 1)
	if err := os.WriteFile(d.config, []byte(keyed), 0o600); err != nil {
		t.Fatal(err)
	}
	own := mustDisk(t, d.data)
	start := []string{"start", d.log, "all", "--config", d.config, "--data", d.data}
	own.do(t, start...)
	base := d.fill(t)
	d.has(t, base, 30, 30)
	at, taken, node := base, [2]int{30, 30}, 0
	full := func() (refused []byte, of int) {
		t.Helper()
		eventually(t, "503", func(ctx context.Context) error {
			at, node = at+1000, 1-node
			d.fleet.nodes[node].Step()
			refused = d.fleet.nodes[node].Frame(at)
			err := d.fleet.post(ctx, d.ingest, refused)
			if err == nil { // there was room in a block
				taken[node]++
				return errors.New("it is taken")
			}
			if !strings.Contains(err.Error(), "503") {
				return err
			}
			return nil
		})
		return refused, node
	}
	again := func(b []byte, of int) {
		t.Helper()
		eventually(t, "a frame to be taken", func(ctx context.Context) error {
			return d.fleet.post(ctx, d.ingest, b)
		})
		taken[of]++
	}
	own.do(t, "fill")
	refused, of := full()
	d.says(t, "no space left")
	d.has(t, base, 30, 30)
	own.do(t, "free")
	again(refused, of)
	d.has(t, at, taken[0], taken[1])
	own.do(t, "fill")
	refused, of = full()
	own.do(t, "kill")
	own.do(t, start...)
	d.has(t, base, 30, 30) // what is later waits in the stream, and the answer says so
	full()
	own.do(t, "free")
	again(refused, of)
	d.has(t, at, taken[0], taken[1])
	own.do(t, "kill")
	own.do(t, "readonly")
	own.do(t, start...)
	own.do(t, "ended")
	if d.logs(t, "read-only file system: make it writable, or copy it with ringwatch data backup "+
		"and name the copy") != 1 {
		t.Error("nothing is said of a disk that can only be read")
	}
}
