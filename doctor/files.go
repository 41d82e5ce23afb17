package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

// owner is the user who runs Cassandra.
type owner struct {
	name   string
	uid    uint32
	groups []uint32
}

// findUser takes the owner of the data for the one who runs Cassandra.
func (n *node) findUser() {
	for _, data := range n.data {
		info, err := os.Stat(data)
		if err != nil {
			continue
		}
		stat, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			continue
		}
		o := &owner{name: strconv.Itoa(int(stat.Uid)), uid: stat.Uid, groups: []uint32{stat.Gid}}
		if u, err := user.LookupId(o.name); err == nil {
			o.name = u.Username
			ids, _ := u.GroupIds() // without them only fewer files look readable
			for _, id := range ids {
				if g, err := strconv.ParseUint(id, 10, 32); err == nil {
					o.groups = append(o.groups, uint32(g))
				}
			}
		}
		n.user = o
		return
	}
}

// may reports whether the mode of a file gives the user these rights: 4 to read, 2 to write, 1 to
// pass. Access lists are not looked at.
func (o *owner) may(info os.FileInfo, rights os.FileMode) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok || o.uid == 0:
		return true
	case stat.Uid == o.uid:
		return info.Mode()>>6&rights == rights
	case slices.Contains(o.groups, stat.Gid):
		return info.Mode()>>3&rights == rights
	}
	return info.Mode()&rights == rights
}

// mayReach reports the first thing on the way to path that the user may not pass, and path itself
// if the user has not these rights on it.
func (o *owner) mayReach(path string, rights os.FileMode) (stop string) {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && !o.may(info, 1) {
			stop = dir
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	if info, err := os.Stat(path); stop == "" && (err != nil || !o.may(info, rights)) {
		stop = path
	}
	return stop
}

// checkFiles looks who may read what: Cassandra's user all of it, others no secret.
func (n *node) checkFiles() {
	a := n.agent
	bad := false
	if n.user == nil {
		n.add("files", Warn, "name --cassandra-conf, whose data directories tell",
			"doctor does not know which user runs Cassandra, so it cannot tell whether that user "+
				"may read the agent's files")
		bad = true
	} else {
		for _, file := range []string{n.Jar, n.AgentConfig, a.keyFile, a.caFile, a.certFile,
			a.certKeyFile} {
			if file == "" {
				continue
			}
			stop := n.user.mayReach(file, 4)
			if stop == "" {
				continue
			}
			bad = true
			problem := fmt.Sprintf("Cassandra's user %s may not read %s", n.user.name, stop)
			remedy := "let that user read it (chown, chmod)"
			if _, err := os.Stat(file); stop == file && errors.Is(err, fs.ErrNotExist) {
				problem = file + " is not there"
				remedy = fmt.Sprintf("create it, for user %s to read", n.user.name)
			}
			switch file {
			case n.Jar:
				remedy += ", or Cassandra does not start"
			case n.AgentConfig:
				remedy += ", or the agent stays off"
			default:
				remedy += "; the agent sends nothing until then, and needs no restart"
			}
			n.add("files", Fail, remedy, "%s", problem)
		}
	}
	secret := []string{a.keyFile, a.certKeyFile}
	if a.key != "" {
		secret = append(secret, n.AgentConfig)
	}
	for _, file := range secret {
		if info, err := os.Stat(file); file != "" && err == nil && info.Mode()&4 != 0 {
			bad = true
			n.add("files", Warn, "chmod o-r "+file, "%s holds a secret and everyone may read it",
				file)
		}
	}
	if !bad {
		n.add("files", OK, "", "user %s, who runs Cassandra, may read what the agent needs",
			n.user.name)
	}
}

// readOnly is the kernel's ST_RDONLY, which an immutable root and a bind mount have, too.
const readOnly = 1

// checkSpool looks for room on the disk that frames wait on.
func (n *node) checkSpool() {
	if n.agent.spool == "" {
		if len(n.agent.urls) > 0 {
			n.add("spool", OK, "", "none: frames that cannot be sent wait in memory, at most %s",
				megabytes(int(n.agent.queueBytes)))
		}
		return
	}
	dir := n.agent.spool
	for !exists(dir) && dir != filepath.Dir(dir) { // the agent makes what is missing
		dir = filepath.Dir(dir)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		n.add("spool", Fail, "make it a directory, or frames wait in memory only",
			"%s is not a directory", dir)
		return
	}
	if n.user != nil {
		if stop := n.user.mayReach(dir, 3); stop != "" {
			n.add("spool", Fail, "let that user write there (chown), or frames wait in memory only",
				"Cassandra's user %s may not write %s", n.user.name, stop)
			return
		}
	}
	var disk syscall.Statfs_t
	if err := syscall.Statfs(dir, &disk); err != nil {
		n.add("spool", Warn, "check it with df", "the free space on %s is unknown: %v", dir, err)
		return
	}
	if disk.Flags&readOnly != 0 {
		n.add("spool", Fail, "mount it writable, or name another spool.directory: until then "+
			"frames wait in memory only", "%s is on a disk that is mounted read-only", dir)
		return
	}
	free := int64(disk.Bavail) * disk.Bsize
	where := ""
	for _, data := range n.data {
		if sameDisk(dir, data) {
			where = ", a disk that holds Cassandra's data too"
		}
	}
	if free < 2*n.agent.spoolSize {
		n.add("spool", Warn, "lower spool.bytes, or free some space",
			"%s has %s free and the spool may take %s%s", dir, megabytes(int(free)),
			megabytes(int(n.agent.spoolSize)), where)
		return
	}
	n.add("spool", OK, "", "%s has %s free and the spool takes at most %s%s", dir,
		megabytes(int(free)), megabytes(int(n.agent.spoolSize)), where)
}

func sameDisk(a, b string) bool {
	var as, bs syscall.Stat_t
	return syscall.Stat(a, &as) == nil && syscall.Stat(b, &bs) == nil && as.Dev == bs.Dev
}
