package compaction

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/ringwatch/ringwatch/store/rows/files/sorted"
)

// NoBound is what Config.Bytes returns as the most if there is no bound.
const NoBound = math.MaxInt64

// underWay is how old rows are at least that are removed because the directory is too large:
// younger ones may still be made into others.
const underWay = 3 * time.Hour

// oldest returns the files that go first and have so many bytes, as far as there are such.
func oldest(all []*sorted.File, bytes int64, now time.Time) (gone []*sorted.File) {
	if bytes <= 0 {
		return nil
	}
	lived := func(f *sorted.File) float64 {
		return (float64(now.UnixMicro()) - float64(f.First)) /
			(float64(f.Expires)*1e6 - float64(f.First))
	}
	list := slices.DeleteFunc(all, func(f *sorted.File) bool {
		return f.NoMeta() || f.Rows == 0 || f.Expires == 0 || f.Width == 0 ||
			now.UnixMicro()-f.Last < underWay.Microseconds()
	})
	slices.SortFunc(list, func(a, b *sorted.File) int { return cmp.Compare(lived(b), lived(a)) })
	for _, f := range list {
		if bytes <= 0 {
			break
		}
		gone, bytes = append(gone, f), bytes-f.Size
	}
	return gone
}
