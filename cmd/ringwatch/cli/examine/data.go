package examine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/settings"
	"github.com/ringwatch/ringwatch/doctor"
)

// littleRoom is how many bytes are too few for a day of some nodes.
const littleRoom = 1 << 30

// examineData looks at the directories that the configuration names, for what has no engine and for
// all else.
func examineData(c *settings.Config) (results []doctor.Result) {
	if c.Keeps() {
		results = append(results, ExamineDirectory("data.dir", c.Data.Dir, littleRoom,
			"make room: on a full disk agents keep their frames, until their own spools are full"))
	}
	if c.Watch.Targets() && c.Watch.Spool.Directory != "" {
		results = append(results, ExamineDirectory("watch.spool.directory",
			c.Watch.Spool.Directory, c.Watch.Spool.MaxBytes,
			"make room, or lower watch.spool.max_bytes: what finds none is lost"))
	}
	if dir := c.Report.Directory; dir != "" {
		results = append(results, ExamineDirectory("report.directory", dir, 0, ""))
	}
	if dir := c.Query.ActiveDir; dir != "" {
		results = append(results, ExamineDirectory("query.active_dir", dir, 0, ""))
	}
	return results
}

// ExamineDirectory says whether a directory can be written. With fewer bytes left than enough it
// says what to do about it.
func ExamineDirectory(key, dir string, enough int64, remedy string) doctor.Result {
	r := doctor.Result{Name: key, Status: doctor.OK}
	var disk unix.Statfs_t
	info, err := os.Stat(dir)
	there := dir
	for errors.Is(err, fs.ErrNotExist) && there != filepath.Dir(there) {
		there = filepath.Dir(there)
		_, err = os.Stat(there)
	}
	if err == nil {
		err = settings.NamesDirectory(there)
	}
	if err == nil {
		err = unix.Statfs(there, &disk)
	}
	switch {
	case err != nil:
	case disk.Flags&unix.ST_RDONLY != 0:
		err = fmt.Errorf("%s is on a disk that is mounted read-only", dir)
	case info == nil:
		r.Message = dir + " is not there yet: Ringwatch makes it"
		return r
	default:
		if err = unix.Access(dir, unix.W_OK|unix.X_OK); err != nil {
			err = fmt.Errorf("%s: %w", dir, err)
		}
	}
	if err != nil {
		r.Status, r.Message = doctor.Fail, err.Error()
		r.Remedy = "name a directory that Ringwatch's user may write to"
		return r
	}
	free := int64(disk.Bavail) * disk.Bsize
	r.Message = fmt.Sprintf("%s can be written; its disk has %d MiB left", dir, free>>20)
	if free < enough {
		r.Status, r.Remedy = doctor.Warn, remedy
	}
	return r
}
