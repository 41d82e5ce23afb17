package datadir

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/settings"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/engine"
	"github.com/ringwatch/ringwatch/store"
	"github.com/ringwatch/ringwatch/store/rows"
)

// A directory has one process. While that is ringwatch all, it answers ringwatch key and ringwatch
// data move on a socket in the directory, which is for the directory's owner alone.

// KeyBook is where API keys are written down: the store, or the process that has it.
type KeyBook interface {
	Keys(context.Context) ([]account.StoredKey, error)
	CreateKey(context.Context, account.StoredKey) error
	RevokeKey(ctx context.Context, id string, at int64, by string) error
	Close()
}

const (
	SocketName = "ringwatch.sock"
	// MaxKeyBytes bounds what is asked about one key.
	MaxKeyBytes = 1 << 20
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

// ListenKeys makes the socket. It has its mode before it has its name.
func ListenKeys(dir string) (net.Listener, error) {
	private, err := os.MkdirTemp(dir, "socket-") // for us alone
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(private)
	var l *net.UnixListener
	err = atSocket(private, SocketName, func(path string) error {
		l, err = net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
		return err
	})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	made := filepath.Join(private, SocketName)
	err = os.Chmod(made, 0o600)
	if err == nil {
		err = os.Rename(made, filepath.Join(dir, SocketName))
	}
	if err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// Owner is the process that has a directory, as it answers on the socket.
type Owner struct {
	Config *settings.Config
	Log    *slog.Logger
	GiveUp func() // ends the process for who moves its directory
}

// Serve serves the socket of a directory of rows. Without it ringwatch key has to wait until
// the process ends, and all else works.
func (o Owner) Serve(db KeyBook) func(context.Context) error {
	return func(ctx context.Context) error {
		l, err := ListenKeys(o.Config.Data.Dir)
		if err != nil {
			o.Log.Error("ringwatch key cannot be answered while this process runs",
				"directory", o.Config.Data.Dir, "error", err)
			<-ctx.Done()
			return nil
		}
		defer os.Remove(filepath.Join(o.Config.Data.Dir, SocketName))
		server := &http.Server{Handler: o.SocketHandler(db), ReadTimeout: keyTimeout,
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

// SocketHandler answers for a KeyBook, and ringwatch data move.
func (o Owner) SocketHandler(db KeyBook) http.Handler {
	mux := http.NewServeMux()
	o.answerMove(mux)
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
		err := json.NewDecoder(http.MaxBytesReader(w, r.Body, MaxKeyBytes)).Decode(&said)
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

// Running are the keys of the process that has a directory.
type Running struct{ http.Client }

// AskRunning asks the process that has a directory. It is no error of the directory's if there is
// none.
func AskRunning(dir string) *Running {
	dial := func(ctx context.Context, _, _ string) (conn net.Conn, err error) {
		err = atSocket(dir, SocketName, func(path string) error {
			conn, err = (&net.Dialer{}).DialContext(ctx, "unix", path)
			return err
		})
		return conn, err
	}
	return &Running{http.Client{Transport: &http.Transport{DialContext: dial},
		Timeout: keyTimeout}}
}

func (k *Running) Keys(ctx context.Context) (list []account.StoredKey, err error) {
	return list, k.do(ctx, http.MethodGet, "/keys", nil, &list)
}

func (k *Running) CreateKey(ctx context.Context, key account.StoredKey) error {
	return k.do(ctx, http.MethodPost, "/keys", key, nil)
}

func (k *Running) RevokeKey(ctx context.Context, id string, at int64, by string) error {
	return k.do(ctx, http.MethodPost, "/revocations", revocation{ID: id, At: at, By: by}, nil)
}

func (k *Running) Close() { k.CloseIdleConnections() }

func (k *Running) do(ctx context.Context, method, path string, ask, answer any) error {
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
		b, err := io.ReadAll(io.LimitReader(got.Body, MaxKeyBytes))
		return errors.Join(&keyError{strings.TrimSpace(string(b)),
			got.StatusCode == http.StatusServiceUnavailable}, err)
	}
	if answer == nil {
		return nil
	}
	return json.NewDecoder(got.Body).Decode(answer)
}

// OpenKeys opens where keys are: Cassandra, the directory, or the process that has the directory.
// One that is empty may be that of a process that begins to start, and is left to it.
func OpenKeys(ctx context.Context, c *settings.Config, wait time.Duration) (KeyBook, error) {
	if err := engine.ReachAll(ctx, c.Cassandra.Log, wait, engine.RowsOrDirectory(c)); err != nil {
		return nil, err
	}
	empty := DirectoryThere(c)
	if empty != nil && !Exists(c.Data.Dir) {
		return nil, empty
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for {
		if c.Cassandra.Dir != "" {
			running := AskRunning(c.Data.Dir)
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
			if db, err = OpenRows(ctx, c); err == nil {
				return db, nil
			}
			if !errors.Is(err, store.ErrInUse) {
				return nil, ConnectError(c, err)
			}
		}
		select { // the process that has it starts or ends, or is no ringwatch all
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return nil, ConnectError(c, err)
		}
	}
}

// OpenRows opens Cassandra or the directory.
func OpenRows(ctx context.Context, c *settings.Config) (*store.Store, error) {
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
