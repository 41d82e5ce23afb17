package doctor

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
)

// readOnlyDir is the environment variable that names a directory for TestReadOnlySpool to mount a
// disk at, which may only be read.
const readOnlyDir = "RINGWATCH_TEST_READ_ONLY"

// TestReadOnlySpool looks at a spool on such a disk, in mounts of its own, which the kernel must
// allow. Who may write there by its mode may not.
func TestReadOnlySpool(t *testing.T) {
	dir := os.Getenv(readOnlyDir)
	if dir == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestReadOnlySpool$")
		cmd.Env = append(os.Environ(), readOnlyDir+"="+t.TempDir())
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	runtime.LockOSThread()
	for _, c := range []struct {
		flags  uintptr
		status Status
		says   string
	}{{0, OK, "free"}, {syscall.MS_REMOUNT | syscall.MS_RDONLY, Fail,
		dir + " is on a disk that is mounted read-only"}} {
		if err := syscall.Mount("none", dir, "tmpfs", c.flags, "size=1m"); err != nil {
			t.Fatal(err)
		}
		for _, spool := range []string{dir, dir + "/not/there/yet"} {
			n := node{agent: agentConfig{spool: spool}}
			n.checkSpool()
			want(t, n.Results, "spool", c.status, c.says)
		}
	}
}
