package files

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/ringwatch/ringwatch/stream/durable"
)

// format is the version of the directory that this program reads and writes.
const format = 1

const formatText = "Ringwatch rows %d\n"

// open makes the directory ready: its lock, its format, what it has.
func (e *Engine) open() error {
	for _, dir := range []string{e.dir, filepath.Join(e.dir, logDir),
		filepath.Join(e.dir, rowsDir)} {
		if err := durable.Dir(dir); err != nil {
			return fmt.Errorf("rows: cannot make %s: %w", dir, err)
		}
	}
	if err := e.takeLock(); err != nil {
		return err
	}
	if err := e.readFormat(); err != nil {
		return err
	}
	if err := e.readTables(); err != nil {
		return err
	}
	e.metrics = newMetrics(e)
	if err := e.metrics.register(e.config.Registerer); err != nil {
		return err
	}
	kept, err := e.openFiles()
	if err != nil {
		return err
	}
	if err := e.readLogs(kept); err != nil {
		return err
	}
	if ahead := time.Duration(e.stamped.Load()-e.config.Now().UnixMicro()) *
		time.Microsecond; ahead > wrongClock {
		e.log.Warn("rows: the clock is behind what was written last, and new rows count as "+
			"later all the "+
			"same; set it if it is wrong", "by", ahead.Round(time.Second))
	}
	wake(e.wakeKeeper)
	return nil
}

// takeLock makes the directory this process's. The lock ends with the process.
func (e *Engine) takeLock() error {
	path := filepath.Join(e.dir, lockName)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("rows: cannot write in %s: %w", e.dir, err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return fmt.Errorf("rows: cannot lock %s: %w", path, err)
		}
		who, _ := os.ReadFile(path)
		return fmt.Errorf("%w: %s is used by %s", ErrInUse, e.dir, strings.TrimSpace(string(who)))
	}
	e.lock = f
	// On a full disk the lock holds without a name.
	if f.Truncate(0) == nil {
		fmt.Fprintf(f, "process %d (%s)\n", os.Getpid(), strings.Join(os.Args, " "))
	}
	return nil
}

func (e *Engine) readFormat() error {
	path := filepath.Join(e.dir, formatName)
	b, err := e.readSmall(path)
	if err != nil {
		return err
	}
	if b == nil {
		return e.disk.replace(path, fmt.Appendf(nil, formatText, format))
	}
	var n int
	if _, err := fmt.Sscanf(string(b), formatText, &n); err != nil || n > format {
		return fmt.Errorf(
			"%w: %s has format %d, and this program knows %d; use the newer program", ErrVersion,
			e.dir, n, format,
		)
	}
	return nil
}

// readSmall reads a file that says something of the others. If it is damaged it is quarantined, as
// if it had never been.
func (e *Engine) readSmall(path string) ([]byte, error) {
	b, err := read(path)
	if errors.Is(err, errDamaged) {
		e.damages.Add(1)
		return nil, e.quarantine(path, err)
	}
	if err != nil {
		return nil, fmt.Errorf("rows: %w", err)
	}
	return b, nil
}

// list says which files there should be. It is only for telling what is missing: what there is, is
// found by looking.
type list struct {
	Files []string `json:"files"` // names
	Next  int64    `json:"next"`  // a number that no file of rows has had
	Group int64    `json:"group"` // the last group of the log whose rows are all in files
	there bool     // it could be read
}

// openFiles opens the files of rows, removes those that were replaced by others, and tells of those
// that are missing. Only what cannot be read at all is an error.
func (e *Engine) openFiles() (list, error) {
	var should list
	b, err := e.readSmall(filepath.Join(e.dir, filesName))
	if err != nil {
		return should, err
	}
	if b != nil {
		if err := json.Unmarshal(b, &should); err != nil {
			return should, fmt.Errorf("rows: %s: %w", filesName, err)
		}
		should.there = true
	}
	entries, err := os.ReadDir(filepath.Join(e.dir, rowsDir))
	if err != nil {
		return should, fmt.Errorf("rows: %w", err)
	}
	e.nextID.Store(should.Next)
	var paths []string
	there := map[string]bool{}
	for _, entry := range entries {
		path := filepath.Join(e.dir, rowsDir, entry.Name())
		if strings.HasSuffix(path, temporary) {
			os.Remove(path)
		} else if _, id, ok := nameOf(path); ok {
			paths, there[entry.Name()] = append(paths, path), true
			e.nextID.Store(max(e.nextID.Load(), id))
		}
	}
	opened, err := e.openAll(paths)
	if err != nil {
		return should, err
	}
	// Files say themselves which ones they replace. So no list must say which count, and a lost or
	// old one loses nothing.
	replaced := map[int64]bool{}
	for _, f := range opened {
		for _, id := range f.Replaces {
			replaced[id] = true
		}
	}
	for _, f := range opened {
		if replaced[f.id] {
			f.release()
			os.Remove(f.path)
			continue
		}
		e.files[f.Table] = append(e.files[f.Table], f)
		if f.Rows > 0 {
			e.replayStamp(f.Last)
		}
	}
	for _, name := range should.Files {
		_, id, _ := nameOf(name)
		if !there[name] && !replaced[id] {
			e.countDamage("missing")
			e.log.Error("rows: a file is missing, and what was in it is lost", "file",
				filepath.Join(e.dir, rowsDir, name))
		}
	}
	return should, durable.Names(filepath.Join(e.dir, rowsDir))
}

// openAll opens files, several at once: on a cold disk each takes a reading or two.
func (e *Engine) openAll(paths []string) ([]*file, error) {
	opened := make([]*file, len(paths))
	errs := make([]error, len(paths))
	var wg sync.WaitGroup
	places := make(chan struct{}, 8*runtime.NumCPU())
	for i, path := range paths {
		places <- struct{}{}
		wg.Go(func() {
			defer func() { <-places }()
			opened[i], errs[i] = openFile(path)
		})
	}
	wg.Wait()
	out := opened[:0]
	var failed error
	for i, f := range opened {
		switch {
		case f == nil:
			failed = errors.Join(failed, fmt.Errorf("rows: %w", errs[i]))
		case errs[i] != nil:
			e.reportDamage(f, errs[i])
			out = append(out, f)
		default:
			out = append(out, f)
		}
	}
	if failed != nil {
		for _, f := range out {
			f.release()
		}
	}
	return out, failed
}

// readLogs brings back what was in memory.
func (e *Engine) readLogs(kept list) error {
	flushed := kept.Group
	e.flushed = flushed
	e.group.Store(flushed)
	numbers, err := logsIn(filepath.Join(e.dir, logDir))
	if err != nil {
		return fmt.Errorf("rows: %w", err)
	}
	last := int64(-1) // the last group that was read
	for _, n := range numbers {
		e.logID = n
		path := logPath(e.dir, n)
		b, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("rows: %w", err)
		}
		groups, broken := 0, 0
		holes := readLog(b, func(number int64, list [][]byte) {
			if groups++; last >= 0 && number > last+1 ||
				last < 0 && kept.there && number > flushed+1 {
				e.countDamage("missing")
				e.log.Error("rows: a part of the log is missing, and what was in it is lost",
					"before", path, "groups", number-max(last, flushed)-1)
			}
			last = max(last, number)
			e.group.Store(max(e.group.Load(), number))
			for _, m := range list {
				u, err := decodeMutation(m)
				if err != nil {
					broken++
					continue
				}
				e.replay(u)
			}
		})
		if len(holes) > 0 || broken > 0 {
			e.countDamage("log")
			e.log.Error(
				"rows: a log file is damaged; a copy is set aside, and what is good of it is used",
				"file", path, "holes", fmt.Sprint(holes), "mutations", broken,
			)
			e.quarantineCopy(path, b)
		}
		if groups == 0 && len(holes) == 0 {
			os.Remove(path)
			continue
		}
		e.active.logs = append(e.active.logs, path)
	}
	return nil
}

// replay applies a mutation of the log. Write times that are given from now on are later than its.
func (e *Engine) replay(u mutation) {
	e.active.apply(u)
	for i := range u.rows {
		e.replayStamp(u.rows[i].cells[0].stamp)
	}
}

func (e *Engine) replayStamp(s int64) {
	if s < e.config.Now().UnixMicro()+aheadMicros {
		e.stamped.Store(max(e.stamped.Load(), s))
	}
}

// wrongClock is how far the clock may be behind the last write time, and no more is said.
const wrongClock = time.Minute

// aheadMicros is how far a write time may be ahead of the clock to be taken for one that the clock
// gave before it went back.
const aheadMicros = int64(366 * 24 * 3600 * 1e6)

// quarantine moves a damaged file out of the way, and says so.
func (e *Engine) quarantine(path string, why error) error {
	aside := filepath.Join(e.dir, quarantineDir)
	err := os.MkdirAll(aside, 0o700)
	if err == nil {
		err = os.Rename(path, filepath.Join(aside, filepath.Base(path)))
	}
	if err != nil {
		return fmt.Errorf("rows: %s is damaged and cannot be set aside: %w", path, err)
	}
	e.log.Error("rows: a damaged file is set aside", "file", path, "in", aside, "error", why)
	return nil
}

// quarantineCopy keeps a copy of a damaged log file, if there is room: the file itself is still
// needed.
func (e *Engine) quarantineCopy(path string, b []byte) {
	aside := filepath.Join(e.dir, quarantineDir)
	if err := os.MkdirAll(aside, 0o700); err == nil {
		os.WriteFile(filepath.Join(aside, filepath.Base(path)), b, 0o600)
	}
}
