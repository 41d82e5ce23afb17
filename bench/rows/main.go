// Command rows measures what keeps rows of a fleet best in a directory: our own files (package
// store/rows/files) or Pebble. Each gets the same rows of some nodes over some days, as fast
// as it takes them, a sync a minute of their time; then it is killed and started again.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/ringwatch/ringwatch/bench"
)

func main() {
	var sides []string
	bench.List(&sides, "sides", "files,pebble", "what is measured")
	nodes := flag.Int("nodes", 10, "nodes")
	days := flag.Int("days", 14, "days")
	own := flag.String("serve", "", "keep rows in this directory as standard input says")
	bench.Main("bench-rows", func(_ context.Context, r *bench.Result) error {
		if *own != "" {
			return serve(*own)
		}
		r.Notes = "Rows as store's tables have them, of a frame each 20 s a node; a sync a " +
			"minute of their time, as fast as each takes them; each_: a sync for each frame, of " +
			"3 nodes over 36 hours. write_amp is bytes given to write(2) by bytes of keys and " +
			"values. read is one metric of a node over a day, from page cache; rss is anonymous " +
			"memory at most; start is from the start of the process to its first read, after " +
			"kill -9."
		r.Add("nodes", *nodes)
		r.Add("days", *days)
		for _, side := range sides {
			cmd, err := command(side, r.Dir)
			if err == nil {
				err = measure(r, side, cmd, *nodes, *days)
			}
			if err == nil {
				err = measureEach(r, side, cmd)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", side, err)
			}
		}
		return nil
	}, func() error {
		if *days < 3 {
			return errors.New("-days: use at least 3")
		}
		return nil
	})
}

// command returns what starts a side, but for its directory.
func command(side, work string) ([]string, error) {
	if side == "files" {
		self, err := os.Executable()
		return []string{self, "-serve"}, err
	}
	program := filepath.Join(work, "peers")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir = filepath.Join("bench", "rows", "peers")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building: %w\n%s", err, out)
	}
	return []string{program}, nil
}

// process is a side that runs.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out answers
}

func start(command []string, dir string) (*process, error) {
	p := &process{cmd: exec.Command(command[0], append(command[1:], dir)...)}
	p.cmd.Stderr = os.Stderr
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.in, p.out = in, answers{bufio.NewReader(out)}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	_, err = p.out.line() // ready
	return p, err
}

func (p *process) kill() *syscall.Rusage {
	p.cmd.Process.Kill()
	p.cmd.Wait()
	usage, _ := p.cmd.ProcessState.SysUsage().(*syscall.Rusage)
	return usage
}

// quiet waits until a side has done all that it was told.
func (p *process) quiet(l *load) error {
	l.out.WriteByte('Q')
	if err := l.out.Flush(); err != nil {
		return err
	}
	_, err := p.out.line()
	return err
}

// field is a number in a file of the process's in /proc.
func (p *process) field(file, name string) int64 {
	return bench.Number(fmt.Sprintf("/proc/%d/%s", p.cmd.Process.Pid, file), name)
}

func measure(r *bench.Result, side string, cmd []string, nodes, days int) error {
	dir, err := os.MkdirTemp(r.Dir, side)
	if err != nil {
		return err
	}
	p, err := start(cmd, dir)
	if err != nil {
		return err
	}
	defer func() { p.kill() }()
	l := newLoad(p.in, nodes)
	begun, rss := time.Now(), int64(0)
	now := begin
	for ; now < begin+uint64(days)*86400; now += 60 {
		l.minute(now)
		if now%3600 == 0 {
			if err := p.quiet(l); err != nil {
				return err
			}
			rss = max(rss, p.field("status", "RssAnon"))
		}
	}
	if err := p.quiet(l); err != nil {
		return err
	}
	took := time.Since(begun)
	written := p.field("io", "wchar")
	size := sizeOf(dir)
	var us []float64
	for i := range 400 {
		day := begin/86400 + 1 + uint64(
			l.random.IntN(days-2),
		) // the first has begun to expire, the last has not ended
		l.read(l.random.IntN(nodes), day, byte(1+l.random.IntN(partsOfHour-1)))
		n, _, t, err := p.out.rows()
		if err != nil {
			return err
		}
		if n != 24 {
			return fmt.Errorf("reading %d of a day found %d rows", i, n)
		}
		us = append(us, t)
	}
	rss = max(rss, p.field("status", "RssAnon"))
	for end := now + 1800; now < end; now += 60 { // more of it under way
		l.minute(now)
	}
	l.out.Flush()
	usage := p.kill()
	again := time.Now()
	if p, err = start(cmd, dir); err != nil {
		return err
	}
	after := newLoad(p.in, nodes)
	after.parts = l.parts
	after.tell(begin + uint64(days)*86400)
	after.read(0, begin/86400+uint64(days)-1, 1)
	n, _, _, err := p.out.rows()
	if err != nil {
		return err
	}
	if n != 24 {
		return fmt.Errorf("after kill -9 a day has %d rows", n)
	}
	started := time.Since(again)
	for _, v := range []bench.Value{
		{Key: "logical_mb", Value: float64(l.bytes) / 1e6},
		{Key: "write_amp", Value: float64(written) / float64(l.bytes)},
		{Key: "disk_mb", Value: float64(size) / 1e6},
		{Key: "read_day_p50_us", Value: bench.Median(us)},
		{Key: "read_day_p99_us", Value: bench.Quantile(us, 0.99)},
		{Key: "rss_mb", Value: float64(rss) / 1e3},
		{Key: "cpu_s", Value: cpu(usage)},
		{Key: "load_s", Value: took.Seconds()},
		{Key: "start_ms", Value: float64(started.Microseconds()) / 1e3},
	} {
		r.Add(side+"_"+v.Key, v.Value)
	}
	fmt.Printf("%s: %d rows, %.0f MB in %.0f s\n", side, l.rows, float64(l.bytes)/1e6,
		took.Seconds())
	return nil
}

// measureEach measures what is written when each frame is made durable alone, as of a small fleet.
func measureEach(r *bench.Result, side string, cmd []string) error {
	const nodes, hours = 3, 36
	dir, err := os.MkdirTemp(r.Dir, side)
	if err != nil {
		return err
	}
	p, err := start(cmd, dir)
	if err != nil {
		return err
	}
	defer func() { p.kill() }()
	l := newLoad(p.in, nodes)
	l.each = true
	begun := time.Now()
	for now := begin; now < begin+hours*3600; now += 60 {
		l.minute(now)
	}
	if err := p.quiet(l); err != nil {
		return err
	}
	r.Add(side+"_each_write_amp", float64(p.field("io", "wchar"))/float64(l.bytes))
	r.Add(side+"_each_load_s", time.Since(begun).Seconds())
	return nil
}

func cpu(u *syscall.Rusage) float64 {
	if u == nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// sizeOf returns what a directory's files take on the disk.
func sizeOf(dir string) (n int64) {
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			var s syscall.Stat_t
			if syscall.Stat(path, &s) == nil {
				n += s.Blocks * 512
			}
		}
		return nil
	})
	return n
}
