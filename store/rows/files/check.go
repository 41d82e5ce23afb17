package files

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Check reads each file of a directory that no process has, whole, and calls damaged for those that
// are damaged or missing. It changes nothing. The error wraps ErrInUse if a process has the
// directory, and ErrVersion if a newer program wrote it.
func Check(dir string, damaged func(path, what string)) error {
	lock, err := os.Open(filepath.Join(dir, lockName))
	if err != nil {
		return fmt.Errorf("rows: %s is no directory of rows: %w", dir, err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return fmt.Errorf("%w: %s", ErrInUse, dir)
	}
	small := func(name string) ([]byte, error) {
		b, err := read(filepath.Join(dir, name))
		if errors.Is(err, errDamaged) {
			damaged(filepath.Join(dir, name), err.Error())
			return nil, nil
		}
		return b, err
	}
	b, err := small(formatName)
	if err != nil {
		return fmt.Errorf("rows: %w", err)
	}
	var n int
	if _, err := fmt.Sscanf(string(b), formatText, &n); err == nil && n > format {
		return fmt.Errorf("%w: %s has format %d, and this program knows %d", ErrVersion, dir,
			n, format)
	}
	if _, err := small(tablesName); err != nil {
		return fmt.Errorf("rows: %w", err)
	}
	if b, err = small(filesName); err != nil {
		return fmt.Errorf("rows: %w", err)
	}
	var should list
	if b != nil {
		if err := json.Unmarshal(b, &should); err != nil {
			damaged(filepath.Join(dir, filesName), err.Error())
		}
	}
	if err := checkRows(filepath.Join(dir, rowsDir), should, damaged); err != nil {
		return fmt.Errorf("rows: %w", err)
	}
	if err := checkLogs(dir, damaged); err != nil {
		return fmt.Errorf("rows: %w", err)
	}
	return nil
}

func checkRows(dir string, should list, damaged func(path, what string)) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	there, replaced := map[string]bool{}, map[int64]bool{}
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		if _, _, ok := nameOf(path); !ok {
			continue
		}
		there[entry.Name()] = true
		f, err := openFile(path)
		if f == nil {
			return err
		}
		if err != nil {
			damaged(path, err.Error())
		} else if lost := f.lost(); lost > 0 {
			damaged(path, fmt.Sprintf("%d of %d bytes cannot be read", lost, f.size))
		}
		for _, id := range f.Replaces {
			replaced[id] = true
		}
		f.release()
	}
	for _, name := range should.Files {
		if _, id, _ := nameOf(name); !there[name] && !replaced[id] {
			damaged(filepath.Join(dir, name), "it is missing")
		}
	}
	return nil
}

// lost reads the file whole and returns how many of its bytes are in blocks that cannot be read.
func (f *file) lost() (lost int64) {
	for at := int64(0); at < f.size-tailSize; {
		kind, content, next, err := readBlock(f.f, at, f.size)
		if err == nil && kind == dataBlock {
			rows := rowReader{rest: content}
			for more := true; more && err == nil; {
				more, err = rows.next()
			}
		}
		if err == nil {
			at = next
			continue
		}
		if next = nextBlock(f.f, at+1, f.size); next < 0 {
			next = f.size - tailSize
		}
		lost += next - at
		at = next
	}
	return lost
}

func checkLogs(dir string, damaged func(path, what string)) error {
	numbers, err := logsIn(filepath.Join(dir, logDir))
	if err != nil {
		return err
	}
	for _, n := range numbers {
		path := logPath(dir, n)
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var wrong []string
		broken := 0
		for _, h := range readLog(b, func(_ int64, list [][]byte) {
			for _, m := range list {
				if _, err := decodeMutation(m); err != nil {
					broken++
				}
			}
		}) {
			wrong = append(wrong, fmt.Sprintf("%d bytes at %d cannot be read", h.size, h.at))
		}
		if broken > 0 {
			wrong = append(wrong, fmt.Sprintf("%d mutations cannot be read", broken))
		}
		if len(wrong) > 0 {
			damaged(path, strings.Join(wrong, ", "))
		}
	}
	return nil
}
