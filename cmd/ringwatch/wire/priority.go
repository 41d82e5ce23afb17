package wire

import (
	"log/slog"
	"os"
	"strconv"
	"syscall"
)

// Lowered is the niceness of rules and api. On a full machine the frames come first: readers can
// wait, rules catch up, and what both need has to be kept before. On a machine that is not full it
// changes nothing.
const Lowered = 5

// stepBack gives this process the niceness lowered, if it has a higher priority. Linux has a
// priority for each thread, and a new thread has that of the one that makes it; so it is to be
// called at the start.
func stepBack(log *slog.Logger) {
	// a thread may begin meanwhile, as a child of one that is not done
	for changed := true; changed; {
		changed = false
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return // no Linux
		}
		for _, t := range threads {
			id, err := strconv.Atoi(t.Name())
			if err != nil {
				continue
			}
			// The call says 20 less the niceness, since an answer below 0 would be an error.
			if now, err := syscall.Getpriority(syscall.PRIO_PROCESS, id); err != nil ||
				20-now >= Lowered {
				continue
			}
			if err := syscall.Setpriority(syscall.PRIO_PROCESS, id, Lowered); err != nil {
				log.Debug("cannot lower the priority of a thread", "error", err)
				return
			}
			changed = true
		}
	}
}
