package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ringwatch/ringwatch/bench"
)

// task is what the client process is to do.
type task struct {
	Address, Path, Key string
	Clients            int
	Seconds            float64
}

// taken is what came of it.
type taken struct {
	Milliseconds []float64 // of each request
	Bytes        int64     // of bodies as they came
	Took         float64   // s, to the last byte
	CPU          float64   // s, of the clients
}

// clientProcess does the task and prints what came of it.
func clientProcess(ctx context.Context, text string) error {
	var t task
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		return err
	}
	before := bench.CPU()
	var mu sync.Mutex
	var all taken
	var failed error
	var clients sync.WaitGroup
	start := time.Now()
	for range t.Clients {
		clients.Go(func() {
			one, err := t.client(ctx, start.Add(time.Duration(t.Seconds*float64(time.Second))))
			mu.Lock()
			defer mu.Unlock()
			all.Milliseconds = append(all.Milliseconds, one.Milliseconds...)
			all.Bytes += one.Bytes
			if err != nil {
				failed = err
			}
		})
	}
	clients.Wait()
	all.Took = time.Since(start).Seconds()
	all.CPU = (bench.CPU() - before).Seconds()
	slices.Sort(all.Milliseconds)
	if failed != nil {
		return failed
	}
	return json.NewEncoder(os.Stdout).Encode(all)
}

// client asks again and again on one connection until end.
func (t *task) client(ctx context.Context, end time.Time) (all taken, err error) {
	conn, err := net.Dial("tcp", t.Address)
	if err != nil {
		return all, err
	}
	defer conn.Close()
	request := []byte("GET " + t.Path + " HTTP/1.1\r\nHost: " + t.Address +
		"\r\nAuthorization: Bearer " + t.Key + "\r\nAccept-Encoding: gzip\r\n\r\n")
	in := bufio.NewReaderSize(conn, 256<<10)
	for time.Now().Before(end) && ctx.Err() == nil {
		began := time.Now()
		if _, err := conn.Write(request); err != nil {
			return all, err
		}
		n, err := skipAnswer(in)
		if err != nil {
			return all, err
		}
		all.Milliseconds = append(all.Milliseconds, float64(time.Since(began).Microseconds())/1000)
		all.Bytes += n
	}
	return all, nil
}

// skipAnswer reads an answer to its end and returns its body's bytes, as they are packed.
// Anything but a 200 is an error. It takes no longer than the kernel's copying: what http.Client
// does beside that would be time of the two cores that are measured.
func skipAnswer(in *bufio.Reader) (n int64, err error) {
	status, err := in.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	ok := bytes.HasPrefix(status, []byte("HTTP/1.1 200 "))
	said := string(status)
	length, chunked := int64(-1), false
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		name, value, _ := strings.Cut(strings.TrimSpace(string(line)), ":")
		if name == "" {
			break
		}
		switch value = strings.TrimSpace(value); strings.ToLower(name) {
		case "content-length":
			if length, err = strconv.ParseInt(value, 10, 64); err != nil {
				return 0, err
			}
		case "transfer-encoding":
			chunked = value == "chunked"
		}
	}
	if !ok {
		return 0, fmt.Errorf("the API answered %s", strings.TrimSpace(said))
	}
	if !chunked {
		_, err := in.Discard(int(length))
		return length, err
	}
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return n, err
		}
		size, err := strconv.ParseInt(strings.TrimSpace(string(line)), 16, 64)
		if err != nil {
			return n, err
		}
		if size == 0 {
			break
		}
		if _, err := in.Discard(int(size) + 2); err != nil {
			return n, err
		}
		n += size
	}
	for { // trailers
		line, err := in.ReadSlice('\n')
		if err != nil || len(bytes.TrimSpace(line)) == 0 {
			return n, err
		}
	}
}
