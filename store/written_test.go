package store

import (
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/dictionaries"
	"github.com/ringwatch/ringwatch/window"
)

// TestDictionariesAreWrittenOnce: by whomever windows are closed, and however much is forgotten,
// each dictionary is written once a partition; and again if what is known of it is not certain.
func TestDictionariesAreWrittenOnce(t *testing.T) {
	day := calendar.Day(base) // six hours of one day and one half-day
	s := mustCassandra(t, newClock(day+8*window.HourMillis))
	node := frametest.New("cluster", 1, 2)
	at := day
	closeNext := func(s *Store) {
		t.Helper()
		for i := range int64(2) {
			node.Step()
			if err := writing(s).WriteFrame(t.Context(), "acme",
				node.Frame(at+i*5000)); err != nil {
				t.Fatal(err)
			}
		}
		if err := writing(s).CloseWindow(t.Context(), memory.Unbounded(), "acme", node.ID,
			at); err != nil {
			t.Fatal(err)
		}
		if err := writing(s).MakeHour(t.Context(), memory.Unbounded(), "acme", node.ID,
			at); err != nil {
			t.Fatal(err)
		}
		at += window.HourMillis
	}
	check := func(what string, s *Store, written, known, found float64) {
		t.Helper()
		m := s.metrics
		if w, k, f := number(m.dictionaries.Written), number(m.dictionaries.Known),
			number(m.dictionaries.Receipts.WithLabelValues("found")); w != written || k != known ||
			f != found {
			t.Errorf("%s: %v dictionaries written, %v known, %v receipts; want %v, %v, %v", what, w,
				k, f, written, known, found)
		}
	}
	// Three types, in series and in the rollups of 5 minutes. The first key frame that a process
	// sees announces those of series.
	closeNext(s)
	check("first", s, 6, 6, 0)
	closeNext(s)
	check("second", s, 6, 15, 0)
	restarted := mustOpen(t, s.config)
	closeNext(restarted)
	check("restarted", restarted, 0, 12, 2)
	forgetful := mustOpen(t, s.config)
	forgetful.series.Remembers(1)
	closeNext(forgetful)
	closeNext(forgetful)
	check("forgetful", forgetful, 0, 21, 7)
	// Dictionaries without a receipt may be on one replica, and those of a shorter time to live end
	// too early.
	if err := s.exec(t.Context(),
		"DELETE FROM "+s.table(dictionaries.TableName)+
			" WHERE account = 'acme' AND node = ? AND day = ? AND entity_type = '' AND hash = ?",
		node.ID.String(), day, []byte("receipt")); err != nil {
		t.Fatal(err)
	}
	longer := s.config
	longer.FiveMinutesTTL += time.Hour
	uncertain := mustOpen(t, longer)
	closeNext(uncertain)
	check("uncertain", uncertain, 6, 6, 0)
	list, err := answers(s).DictionariesOf(t.Context(), "acme", node.ID, day)
	if err != nil || len(list) != 3 {
		t.Errorf("%d dictionaries, %v", len(list), err)
	}
	if told, err := answers(s).DictionariesWritten(t.Context(), "acme", day); err != nil ||
		len(told) != 6 {
		t.Errorf("told of %d dictionaries, %v", len(told), err)
	}
}
