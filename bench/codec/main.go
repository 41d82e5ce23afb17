// Command codec measures the frame format on recorded frames: ns per value and MB/s for decoding
// and encoding in Go.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/frame"
)

func main() {
	var recordings string
	bench.Recordings(&recordings)
	java := flag.String("java", "agent/target/classes:agent/target/test-classes",
		"class path of the agent's encoder; empty leaves Java out")
	bench.Main("bench-codec", func(ctx context.Context, r *bench.Result) error {
		r.Notes = "Medians of 9 rounds over recorded frames of one real node. A value " +
			"is one cell " +
			"that a frame names; a histogram is one. raw bytes are payloads before compression."
		for _, name := range []string{"idle", "busy"} {
			frames, err := bench.Recording(filepath.Join(recordings, name+".rwf"))
			if err != nil {
				return err
			}
			if err := measure(r, name, frames); err != nil {
				return err
			}
		}
		if *java == "" {
			return nil
		}
		return measureJava(ctx, r, *java, recordings)
	})
}

// kept is one decoded frame and the key frame it needs.
type kept struct{ frame, key *frame.Frame }

func measure(r *bench.Result, name string, frames [][]byte) error {
	var all []kept
	values, wire, raw := 0, 0, 0
	var key *frame.Frame
	for _, b := range frames {
		f, err := frame.Decode(b, key)
		if err != nil {
			return err
		}
		if f.IsKey() {
			key = f
		}
		all = append(all, kept{f, key})
		values += countValues(f, key)
		wire += len(b)
		raw += f.RawLength
	}
	var decode, encode, pack []float64
	for range 9 {
		runtime.GC()
		start := time.Now()
		for i, b := range frames {
			if _, err := frame.Decode(b, all[i].key); err != nil {
				return err
			}
		}
		decode = append(decode, float64(time.Since(start)))
		for _, c := range []frame.Compression{frame.None, frame.Zstd} {
			copies := make([]kept, len(all))
			for i, k := range all {
				f := *k.frame
				f.Compression = c
				copies[i] = kept{&f, k.key}
			}
			var dst []byte
			start = time.Now()
			for _, k := range copies {
				var err error
				if dst, err = k.frame.Append(dst[:0], k.key); err != nil {
					return err
				}
			}
			if c == frame.None {
				encode = append(encode, float64(time.Since(start)))
			} else {
				pack = append(pack, float64(time.Since(start)))
			}
		}
	}
	mb := float64(raw) / 1e6
	d, e, z := bench.Median(decode), bench.Median(encode), bench.Median(pack)
	fmt.Printf("%-5s %d frames, %.1f values and %.0f wire bytes a frame (%.0f raw); decode %.1f "+
		"ns/value %.0f MB/s, encode %.1f ns/value %.0f MB/s, with zstd %.1f ns/value\n",
		name, len(frames), per(values, len(frames)), per(wire, len(frames)), per(raw, len(frames)),
		d/float64(values), mb/(d/1e9), e/float64(values), mb/(e/1e9), z/float64(values))
	r.Add(name+"_wire_bytes_per_frame", per(wire, len(frames)))
	r.Add(name+"_values_per_frame", per(values, len(frames)))
	r.Add("go_"+name+"_decode_ns_per_value", d/float64(values))
	r.Add("go_"+name+"_decode_mb_s", mb/(d/1e9))
	r.Add("go_"+name+"_encode_ns_per_value", e/float64(values))
	r.Add("go_"+name+"_encode_mb_s", mb/(e/1e9))
	return nil
}

func per(n, frames int) float64 { return float64(n) / float64(frames) }

func countValues(f, key *frame.Frame) int {
	n := 0
	for _, g := range f.Values {
		for _, c := range g.Columns {
			n += len(c.Ints) + len(c.Doubles) + len(c.Histograms) + len(c.Strings)
		}
	}
	return n
}

// measureJava runs the agent's encoder over the states of the recorded frames and takes its
// figures over.
func measureJava(ctx context.Context, r *bench.Result, classPath, recordings string) error {
	// In Cassandra the encoder finds zstd-jni on the class path; here the engines bring it.
	if err := engines.Fetch(ctx, bench.Say); err != nil {
		return err
	}
	cache, err := engines.CacheDir()
	if err != nil {
		return err
	}
	jars, err := filepath.Glob(filepath.Join(cache, "cassandra-"+engines.CassandraVersion,
		"zstd-jni-*.jar"))
	if err != nil || len(jars) != 1 {
		return fmt.Errorf("found %d zstd-jni jars beside Cassandra's, expected one (%v)", len(jars),
			err)
	}
	cmd := exec.CommandContext(ctx, "java", "-cp", classPath+":"+jars[0],
		"dev.ringwatch.agent.frame.ReplayBench", recordings+"/idle.rwf", recordings+"/busy.rwf")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%v: %w", cmd, err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		rest, ok := strings.CutPrefix(line, "RESULT ")
		if !ok {
			fmt.Println(line)
			continue
		}
		for _, word := range strings.Fields(rest) {
			k, v, _ := strings.Cut(word, "=")
			var f float64
			if _, err := fmt.Sscan(v, &f); err != nil {
				return fmt.Errorf("the agent's figure %q is no number", word)
			}
			r.Add("java_"+k, f)
		}
	}
	return nil
}
