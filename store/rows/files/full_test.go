package files

import (
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/dev/eventually"
	"github.com/ringwatch/ringwatch/store/rows"
)

// quota is a disk that has so many bytes left.
type quota struct{ left atomic.Int64 }

func (q *quota) room(n int) (int, error) {
	if left := q.left.Add(-int64(n)); left < 0 {
		return max(0, n+int(left)), syscall.ENOSPC // some of it is written
	}
	return n, nil
}

// TestFullDisk: a full disk refuses puts and says so; when there is room again it takes them by
// itself, and all that it ever took is there.
func TestFullDisk(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 5))
	dir := t.TempDir()
	var all []int64
	next := int64(0)
	for range 8 {
		var disk quota
		disk.left.Store(1 << 30)
		e := mustOpen(t, dir,
			Config{MemoryBytes: 1 << 15, Log: (&lines{}).logger(), room: disk.room}, wideTable())
		for range 3 {
			disk.left.Store(random.Int64N(300 << 10))
			var mu sync.Mutex
			var wg sync.WaitGroup
			for range loaders {
				wg.Go(func() {
					for refused := 0; refused < 5; {
						mu.Lock()
						n := next
						next++
						mu.Unlock()
						err := e.Put(t.Context(), rows.Work{}, wideTable(), putOf(n)...)
						if err == nil {
							mu.Lock()
							all = append(all, n)
							mu.Unlock()
							continue
						}
						if !rows.Retryable(err) || !strings.Contains(rows.Explained(err).Error(),
							"full") {
							t.Errorf("a full disk: %v", rows.Explained(err))
							return
						}
						refused++
					}
				})
			}
			wg.Wait()
			if text := e.Warning(t.Context()); !strings.Contains(text, "is full") {
				t.Errorf("on a full disk the warning is %q", text)
			}
			if gone := missing(t, e, all); len(gone) > 0 {
				t.Fatalf("on a full disk %v are not read", gone)
			}
			disk.left.Store(1 << 30)
			eventually.True(t, "puts are taken again", func() bool {
				n := next
				next++
				err := e.Put(t.Context(), rows.Work{}, wideTable(), putOf(n)...)
				if err == nil {
					all = append(all, n)
				}
				return err == nil && e.Warning(t.Context()) == ""
			})
		}
		if random.IntN(2) == 0 {
			disk.left.Store(0) // closed while it is full
		}
		e.Close()
	}
	e := mustOpen(t, dir, Config{}, wideTable())
	if gone := missing(t, e, all); len(gone) > 0 {
		t.Fatalf("of %d puts %v are lost", len(all), gone)
	}
	for n := range next { // those that were refused are there whole or not at all
		look(t, e, n)
	}
	t.Logf("%d of %d puts were taken", len(all), next)
}
