package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/store"
	"github.com/ringwatch/ringwatch/store/rows"
)

// A directory has one process. While that is ringwatch all, it answers ringwatch key and ringwatch
// data move on a socket in the directory, which is for the directory's owner alone.

// keyBook is where API keys are written down: the store, or the process that has it.
type keyBook interface {
	Keys(context.Context) ([]account.StoredKey, error)
	CreateKey(context.Context, account.StoredKey) error
	RevokeKey(ctx context.Context, id string, at int64, by string) error
	Close()
}

const (
	socketName = "ringwatch.sock"
	// maxKeyBytes bounds what is asked about one key.
	maxKeyBytes = 1 << 20
	// keyTimeout bounds a question and its answer.
	keyTimeout = 10 * time.Second
)

// atSocket calls f with a short path to a name in a directory, whose own may be longer than a
// socket's address.
func atSocket(dir, name string, f func(path string) error) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return f(fmt.Sprintf("/proc/self/fd/%d/%s", d.Fd(), name))
}

// listenKeys makes the socket. It has its mode before it has its name.
func listenKeys(dir string) (net.Listener, error) {
	private, err := os.MkdirTemp(dir, "socket-") // for us alone
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(private)
	var l *net.UnixListener
	err = atSocket(private, socketName, func(path string) error {
		l, err = net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
		return err
	})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	made := filepath.Join(private, socketName)
	err = os.Chmod(made, 0o600)
	if err == nil {
		err = os.Rename(made, filepath.Join(dir, socketName))
	}
	if err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// keySocket serves the socket of a directory of rows. Without it ringwatch key has to wait until
// the process ends, and all else works.
func (p *process) keySocket(db keyBook) part {
	return func(ctx context.Context) error {
		l, err := listenKeys(p.Data.Dir)
		if err != nil {
			p.log.Error("ringwatch key cannot be answered while this process runs",
				"directory", p.Data.Dir, "error", err)
			<-ctx.Done()
			return nil
		}
		defer os.Remove(filepath.Join(p.Data.Dir, socketName))
		server := &http.Server{Handler: p.answer(db), ReadTimeout: keyTimeout,
			WriteTimeout: keyTimeout}
		stop := context.AfterFunc(ctx, func() { server.Close() })
		defer stop()
		if err := server.Serve(l); ctx.Err() == nil {
			return err
		}
		return nil
	}
}

// revocation is that a key is revoked.
type revocation struct {
	ID string
	At int64 // ms since the Unix epoch
	By string
}

// answer answers for a keyBook, and ringwatch data move.
func (p *process) answer(db keyBook) http.Handler {
	mux := http.NewServeMux()
	p.answerMove(mux)
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, r *http.Request) {
		list, err := db.Keys(r.Context())
		if err != nil {
			refuseKey(w, err)
			return
		}
		_ = json.NewEncoder(w).Encode(list) // a caller that went away misses nothing
	})
	mux.HandleFunc("POST /keys", told(db.CreateKey))
	mux.HandleFunc("POST /revocations", told(func(ctx context.Context, r revocation) error {
		return db.RevokeKey(ctx, r.ID, r.At, r.By)
	}))
	return mux
}

// told does with what a request says.
func told[T any](do func(context.Context, T) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var said T
		err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxKeyBytes)).Decode(&said)
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		} else if err != nil {
			http.Error(w, "this is no request of ringwatch key: "+err.Error(),
				http.StatusBadRequest)
		} else if err := do(r.Context(), said); err != nil {
			refuseKey(w, err)
		}
	}
}

// refuseKey answers that keys cannot be read or written: not now, as on a full disk, or not at
// all.
func refuseKey(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	if store.Retryable(err) || errors.Is(err, context.DeadlineExceeded) {
		status = http.StatusServiceUnavailable
	}
	http.Error(w, rows.Explained(err).Error(), status)
}

// keyError is what the process that has the directory answered.
type keyError struct {
	text  string
	later bool // the same may succeed later
}

func (e *keyError) Error() string { return e.text }

// runningKeys are the keys of the process that has a directory.
type runningKeys struct{ http.Client }

// askRunning asks the process that has a directory. It is no error of the directory's if there is
// none.
func askRunning(dir string) *runningKeys {
	dial := func(ctx context.Context, _, _ string) (conn net.Conn, err error) {
		err = atSocket(dir, socketName, func(path string) error {
			conn, err = (&net.Dialer{}).DialContext(ctx, "unix", path)
			return err
		})
		return conn, err
	}
	return &runningKeys{http.Client{Transport: &http.Transport{DialContext: dial},
		Timeout: keyTimeout}}
}

func (k *runningKeys) Keys(ctx context.Context) (list []account.StoredKey, err error) {
	return list, k.do(ctx, http.MethodGet, "/keys", nil, &list)
}

func (k *runningKeys) CreateKey(ctx context.Context, key account.StoredKey) error {
	return k.do(ctx, http.MethodPost, "/keys", key, nil)
}

func (k *runningKeys) RevokeKey(ctx context.Context, id string, at int64, by string) error {
	return k.do(ctx, http.MethodPost, "/revocations", revocation{ID: id, At: at, By: by}, nil)
}

func (k *runningKeys) Close() { k.CloseIdleConnections() }

func (k *runningKeys) do(ctx context.Context, method, path string, ask, answer any) error {
	b, err := json.Marshal(ask)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://ringwatch"+path, bytes.NewReader(b))
	if err != nil {
		return err
	}
	got, err := k.Client.Do(r)
	if err != nil {
		return err
	}
	defer got.Body.Close()
	if got.StatusCode != http.StatusOK {
		b, err := io.ReadAll(io.LimitReader(got.Body, maxKeyBytes))
		return errors.Join(&keyError{strings.TrimSpace(string(b)),
			got.StatusCode == http.StatusServiceUnavailable}, err)
	}
	if answer == nil {
		return nil
	}
	return json.NewDecoder(got.Body).Decode(answer)
}

// openKeys opens where keys are: Cassandra, the directory, or the process that has the directory.
// One that is empty may be that of a process that begins to start, and is left to it.
func (c *config) openKeys(ctx context.Context, wait time.Duration) (keyBook, error) {
	if err := reach(ctx, c.Cassandra.Log, wait, c.rows()); err != nil {
		return nil, err
	}
	empty := c.directoryThere()
	if empty != nil && !isThere(c.Data.Dir) {
		return nil, empty
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for {
		if c.Cassandra.Dir != "" {
			running := askRunning(c.Data.Dir)
			_, err := running.Keys(ctx)
			if err == nil {
				return running, nil
			}
			if said, is := errors.AsType[*keyError](err); is && !said.later {
				return nil, said
			}
		}
		err := empty
		if err == nil {
			var db *store.Store
			if db, err = c.openStore(ctx); err == nil {
				return db, nil
			}
			if !errors.Is(err, store.ErrInUse) {
				return nil, c.connectError(err)
			}
		}
		select { // the process that has it starts or ends, or is no ringwatch all
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return nil, c.connectError(err)
		}
	}
}

// openStore opens Cassandra or the directory.
func (c *config) openStore(ctx context.Context) (*store.Store, error) {
	if c.Cassandra.Dir != "" {
		if err := asOwner(c.Cassandra.Dir); err != nil {
			return nil, err
		}
	}
	db, err := store.New(c.Cassandra, nil)
	if err != nil {
		return nil, err
	}
	if err = db.Connect(ctx); err == nil && c.Cassandra.Dir != "" {
		if err = db.Apply(ctx); err != nil {
			db.Close()
		}
	}
	return db, err
}

// asOwner makes root the owner of a directory before it writes there: files of root's own would be
// closed to ringwatch all.
func asOwner(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	owner, is := info.Sys().(*syscall.Stat_t)
	if !is || os.Geteuid() != 0 || owner.Uid == 0 {
		return nil
	}
	err = syscall.Setgroups([]int{int(owner.Gid)})
	if err == nil {
		err = syscall.Setgid(int(owner.Gid))
	}
	if err == nil {
		err = syscall.Setuid(int(owner.Uid))
	}
	return err
}
