package roster

import (
	"reflect"
	"testing"

	"github.com/google/uuid"
)

// TestNewerCounts: in whatever order two records come, the newer one is known in the end; and what
// is known of one account says nothing of another's node of the same id.
func TestNewerCounts(t *testing.T) {
	var writer Roster
	id := uuid.UUID{7}
	first := writer.Changed("a", "north", id, 100, func(r *Record) { r.Since = 90 })
	writer.Take(first)
	end := &End{Why: Forgotten, At: 50, By: "me"}
	// a clock behind
	second := writer.Changed("a", "north", id, 20, func(r *Record) { r.End = end })
	for _, order := range [][]Record{{first, second}, {second, first}, {second, second, first}} {
		var r Roster
		for _, rec := range order {
			b, err := rec.Pack()
			if err != nil {
				t.Fatal(err)
			}
			again, err := Unpack("a", "north", id.String(), b)
			if err != nil || !reflect.DeepEqual(again, rec) {
				t.Fatalf("%+v became %+v: %v", rec, again, err)
			}
			r.Take(again)
		}
		rec, known := r.Get("a", "north", id)
		if !known || !reflect.DeepEqual(rec, second) || rec.Since != 90 ||
			r.End("a", "north", id) == nil {
			t.Errorf("%v: %+v", order, rec)
		}
		if r.End("b", "north", id) != nil || r.End("a", "south", id) != nil ||
			len(r.Left("b", Forgotten)) > 0 || len(r.Gone("b", "north")) > 0 ||
			len(r.Gone("a", "south")) > 0 {
			t.Error("another's node has left, too")
		}
		if len(r.Left("a", Forgotten)) != 1 || len(r.Gone("a", "north")) != 1 ||
			len(r.Left("a", Moved)) > 0 || len(r.Before(50)) > 0 || len(r.Before(51)) != 1 {
			t.Errorf("%+v", r.Before(51))
		}
		nothing := Record{Account: "a", Cluster: "north", Node: id, Nothing: true}
		if b, err := nothing.Pack(); b != nil || err != nil {
			t.Error(b, err)
		}
		r.Take(nothing)
		r.Take(nothing)
		if _, known := r.Get("a", "north", id); known {
			t.Error("it is known still")
		}
	}
}

// TestBoundOfAnAccount: an account's records end at the bound, what is known can still change, and
// another account has its own.
func TestBoundOfAnAccount(t *testing.T) {
	var r Roster
	for i := range MaxRecords + 10 {
		r.Take(Record{Account: "a", Cluster: "c",
			Node: uuid.UUID{byte(i), byte(i >> 8), byte(i >> 16)}, Stamp: 1})
	}
	if n := r.of["a"].count; n != MaxRecords {
		t.Errorf("%d records", n)
	}
	r.Take(Record{Account: "a", Cluster: "c", Stamp: 2, Since: 5})
	r.Take(Record{Account: "b", Cluster: "c", Stamp: 2, Since: 6})
	if a, _ := r.Get("a", "c", uuid.Nil); a.Since != 5 {
		t.Errorf("%+v", a)
	}
	if b, _ := r.Get("b", "c", uuid.Nil); b.Since != 6 {
		t.Errorf("%+v", b)
	}
	for _, text := range []string{"", "{", "[]", `{"stamp":"x"}`} {
		if _, err := Unpack("a", "c", uuid.Nil.String(), []byte(text)); err == nil {
			t.Errorf("%q was read", text)
		}
	}
	if _, err := Unpack("a", "c", "x", nil); err == nil {
		t.Error("x is a node")
	}
}
