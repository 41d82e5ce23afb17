package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/ringwatch/ringwatch/doctor"
)

// littleRoom is how many bytes are too few for a day of some nodes.
const littleRoom = 1 << 30

// examineData looks at the directory of ringwatch all, if there is anything that has no engine.
func (c *config) examineData() []doctor.Result {
	if !c.keeps() {
		return nil
	}
	r := doctor.Result{Name: "data.dir", Status: doctor.OK}
	var disk unix.Statfs_t
	info, err := os.Stat(c.Data.Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.Message = c.Data.Dir + " is not there yet: ringwatch all makes it"
		return []doctor.Result{r}
	case err == nil && !info.IsDir():
		err = fmt.Errorf("%s is no directory", c.Data.Dir)
	case err == nil:
		if err = unix.Access(c.Data.Dir, unix.W_OK|unix.X_OK); err != nil {
			err = fmt.Errorf("%s: %w", c.Data.Dir, err)
		} else {
			err = unix.Statfs(c.Data.Dir, &disk)
		}
	}
	if err != nil {
		r.Status, r.Message = doctor.Fail, err.Error()
		r.Remedy = "name a directory that the user of ringwatch all may write to"
		return []doctor.Result{r}
	}
	free := int64(disk.Bavail) * disk.Bsize
	r.Message = fmt.Sprintf("%s can be written; its disk has %d MiB left", c.Data.Dir, free>>20)
	if free < littleRoom {
		r.Status = doctor.Warn
		r.Remedy = "make room: on a full disk agents keep their frames, until their own " +
			"spools are full"
	}
	return []doctor.Result{r}
}
