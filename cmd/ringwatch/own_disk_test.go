package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/examine"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
)

// ownDisk is the environment variable that makes this test binary hold a small disk at a
// directory, which it alone sees, and do what it reads on standard input.
const ownDisk = "RINGWATCH_TEST_OWN_DISK"

// disk is a small disk with a ringwatch all on it, in a process that has both.
type disk struct {
	in  io.Writer
	out *bufio.Reader
}

// mustDisk makes a disk at a directory. It takes a user namespace, which the kernel must allow.
func mustDisk(t *testing.T, dir string) *disk {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	holder := exec.Command(os.Args[0])
	holder.Env = append(os.Environ(), ownDisk+"="+dir)
	holder.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	holder.Stderr = os.Stderr
	in, err := holder.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := holder.Wait(); err != nil {
			t.Error(err)
		}
	})
	return &disk{in, bufio.NewReader(out)}
}

// Do has the holder do something; see holdDisk.
func (d *disk) do(t *testing.T, order ...string) {
	t.Helper()
	fmt.Fprintln(d.in, strings.Join(order, "\t"))
	if answer, err := d.out.ReadString('\n'); err != nil || answer != "ok\n" {
		t.Fatalf("%v: %v %s", order, err, answer)
	}
}

// holdDisk is the holder's process. Its orders: start LOG ARGS… starts ringwatch, kill kills it,
// fill leaves no room on the disk and free makes it again, readonly makes the disk one that can
// only be read, examine NAME STATUS WORDS has doctor look at a directory of that name there, and
// ended waits until ringwatch has refused its command line.
func holdDisk(dir string) {
	runtime.LockOSThread() // the kernel kills ringwatch when the thread that started it ends
	err := syscall.Mount("none", dir, "tmpfs", 0, "size=96m")
	if err != nil {
		panic(err)
	}
	var p *exec.Cmd
	filler := filepath.Join(dir, "filler")
	for orders := bufio.NewScanner(os.Stdin); orders.Scan(); {
		words := strings.Split(orders.Text(), "\t")
		switch words[0] {
		case "start":
			log, failed := os.OpenFile(words[1], os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
			if failed != nil {
				panic(failed)
			}
			p = exec.Command(os.Args[0], words[2:]...)
			p.Env = append(os.Environ(), asRingwatch, ownDisk+"=")
			p.Stdout, p.Stderr = log, log
			p.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
			err = p.Start()
		case "kill":
			err = p.Process.Kill()
			_ = p.Wait() // it was killed
		case "fill":
			f, failed := os.Create(filler)
			for some := make([]byte, 4<<10); failed == nil; {
				_, failed = f.Write(some)
			}
			f.Close()
			if !errors.Is(failed, syscall.ENOSPC) {
				err = failed
			}
		case "free":
			err = os.Remove(filler)
		case "readonly":
			err = syscall.Mount("none", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, "")
		case "examine":
			r := examine.ExamineDirectory("it", filepath.Join(dir, words[1]), 0, "")
			if string(r.Status) != words[2] || !strings.Contains(r.Message, words[3]) {
				err = fmt.Errorf("%+v", r)
			}
		case "ended":
			if failed := p.Wait(); failed == nil || p.ProcessState.ExitCode() != exit.Misused {
				err = fmt.Errorf("it ended with %v", failed)
			}
		}
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println("ok")
	}
	os.Exit(0)
}
