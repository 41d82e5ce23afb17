package bench

import (
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
)

// TestDriver: a result is kept with the command that gives it again, less what is this machine's.
func TestDriver(t *testing.T) {
	usual := flag.CommandLine
	defer func() { flag.CommandLine = usual }()
	flag.CommandLine = flag.NewFlagSet("x", flag.ContinueOnError)
	flag.CommandLine.SetOutput(io.Discard)
	var sides []string
	var hosts []int
	r := &Result{Name: "x", target: "bench-x"}
	flag.StringVar(&r.dir, "results", "", "")
	List(&sides, "sides", "a,b", "")
	Numbers(&hosts, "hosts", []int{3, 6}, "")
	flag.Bool("paused", false, "")
	if got := r.Command(); got != "make bench-x" {
		t.Errorf("without flags it is %s", got)
	}
	if err := flag.CommandLine.Parse([]string{"-hosts", "3,x"}); err == nil {
		t.Error("x is a number")
	}
	args := []string{"-results", t.TempDir(), "-hosts", "4", "-paused", "-sides", "c,d"}
	if err := flag.CommandLine.Parse(args); err != nil {
		t.Fatal(err)
	}
	if len(hosts) != 1 || hosts[0] != 4 || len(sides) != 2 || sides[1] != "d" {
		t.Errorf("the flags give %v and %v", hosts, sides)
	}
	r.Add("p99_ms", 1.5)
	if err := r.Keep(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(r.File())
	if err != nil {
		t.Fatal(err)
	}
	var kept struct {
		Command, Date string
		Machine       map[string]any
		Values        map[string]float64
	}
	if err := json.Unmarshal(text, &kept); err != nil {
		t.Fatal(err)
	}
	if kept.Command != "make bench-x ARGS='-hosts 4 -paused=true -sides c,d'" || kept.Date == "" ||
		kept.Machine == nil || kept.Values["p99_ms"] != 1.5 {
		t.Errorf("kept is %s", text)
	}
}

func TestMedians(t *testing.T) {
	itself := func(v float64) float64 { return v }
	values := []float64{3, 1, 2}
	if got := MedianOf(values, itself); got != 2 || values[0] != 3 {
		t.Errorf("the median is %g, of %v", got, values)
	}
	if got := RatioOf([]float64{2, 9, 4}, []float64{1, 3, 4}, itself); got != 2 {
		t.Errorf("the ratio is %g", got)
	}
}

// TestBytes: the files of all folders below one.
func TestBytes(t *testing.T) {
	dir := t.TempDir()
	files := fstest.MapFS{"a": {Data: []byte("abc")}, "b/c": {Data: []byte("de")}}
	if err := os.CopyFS(dir, files); err != nil {
		t.Fatal(err)
	}
	if n, err := Bytes(dir); n != 5 || err != nil {
		t.Errorf("they have %d bytes, %v", n, err)
	}
	if n, err := Bytes(filepath.Join(dir, "gone")); n != 0 || err != nil {
		t.Errorf("what is gone has %d bytes, %v", n, err)
	}
}
