package datadir

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/settings"
)

// MoveName is the file in a directory that says how far its move is.
const MoveName = "move.json"

// Move is what is known of a directory's move.
type Move struct {
	ID     string    `json:"id"`     // of the directory, as the keyspace has it
	To     string    `json:"to"`     // where it is moved, for people
	Copied []string  `json:"copied"` // parts of the rows that are there
	Stream bool      `json:"stream"` // the topics have something of the directory
	Done   time.Time `json:"done"`   // zero: not yet

	dir string
}

// ReadMove reads what is known of a directory's move.
func ReadMove(dir string) (*Move, error) {
	s := &Move{dir: dir}
	b, err := os.ReadFile(filepath.Join(dir, MoveName))
	if errors.Is(err, fs.ErrNotExist) {
		s.ID = uuid.NewString()
		return s, nil
	}
	if err == nil {
		err = json.Unmarshal(b, s)
	}
	if err != nil {
		return nil, exit.Usage(
			fmt.Errorf("%s cannot be read: %w: delete it if no move has ended", filepath.Join(dir,
				MoveName), err))
	}
	return s, nil
}

// Save writes the state as a whole.
func (s *Move) Save() error {
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	name := filepath.Join(s.dir, MoveName)
	f, err := os.OpenFile(name+".tmp", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(name+".tmp", name)
}

// Lock keeps other movers away until it is called.
func (s *Move) Lock() (unlock func(), err error) {
	dir, err := os.Open(s.dir)
	if err != nil {
		return nil, exit.Usage(err)
	}
	if err := syscall.Flock(int(dir.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		dir.Close()
		return nil, exit.Usage(
			fmt.Errorf("another ringwatch data move of %s runs: let it end, or stop it", s.dir))
	}
	return func() { dir.Close() }, nil
}

// DirectoryMoved returns an error for who would keep anything in a directory that was moved:
// frames that it took would be missing where the others are.
func DirectoryMoved(c *settings.Config) error {
	if len(c.Kafka.Brokers) > 0 && c.Cassandra.Dir == "" {
		return nil
	}
	s, err := ReadMove(c.Data.Dir)
	if err != nil {
		return err
	}
	return s.Ended()
}

// Ended returns an error if the move has ended.
func (s *Move) Ended() error {
	if s.Done.IsZero() {
		return nil
	}
	return exit.Usage(
		fmt.Errorf("%s was moved to %s at %s: run ringwatch all with the configuration that "+
			"names those, or name another directory", s.dir, s.To,
			s.Done.UTC().Format(time.RFC3339)))
}

// moving is what the process that has a directory tells who moves that.
type moving struct {
	Accounts []account.Account
	Topic    string // of frames
}

// answerMove tells who moves the directory what must be alike elsewhere, and ends the process when
// that asks for it.
func (o Owner) answerMove(mux *http.ServeMux) {
	mux.HandleFunc("GET /move", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(moving{Accounts: hashed(o.Config.Accounts),
			Topic: o.Config.Kafka.Topic})
	})
	mux.HandleFunc("POST /move", func(w http.ResponseWriter, _ *http.Request) {
		o.Log.Info(
			"ringwatch data move takes the directory over; this process ends",
			"directory",
			o.Config.Data.Dir,
		)
		_ = http.NewResponseController(w).Flush() // the answer, before the socket goes
		o.GiveUp()
	})
}

// hashed returns accounts with keys of which only hashes are told.
func hashed(list []account.Account) []account.Account {
	list = slices.Clone(list)
	for i := range list {
		list[i].Keys = slices.Clone(list[i].Keys)
		for k := range list[i].Keys {
			if key := &list[i].Keys[k]; key.Key != "" {
				key.SHA256, key.Key = account.Hash(key.Key), ""
			}
		}
	}
	return list
}

// Alike returns an error if the configuration does not have an account or a key of those that a
// process has: who sends with that key would be refused.
func (m *moving) Alike(c *settings.Config) error {
	var errs []error
	own := hashed(c.Accounts)
	for _, a := range m.Accounts {
		i := slices.IndexFunc(own, func(o account.Account) bool { return o.Name == a.Name })
		if i < 0 {
			errs = append(
				errs,
				fmt.Errorf(
					"accounts: %s is missing: the process that has %s has it",
					a.Name,
					c.Data.Dir,
				),
			)
			continue
		}
		for _, k := range a.Keys {
			if !slices.ContainsFunc(
				own[i].Keys,
				func(o account.Key) bool { return o.SHA256 == k.SHA256 },
			) {
				errs = append(
					errs,
					fmt.Errorf(
						"accounts: key %s of %s is missing: the process that has %s has it",
						k.Name,
						a.Name,
						c.Data.Dir,
					),
				)
			}
		}
	}
	if m.Topic != c.Kafka.Topic {
		errs = append(
			errs,
			fmt.Errorf(
				"kafka.topic is %s: the process that has %s has %s",
				c.Kafka.Topic,
				c.Data.Dir,
				m.Topic,
			),
		)
	}
	return errors.Join(errs...)
}

// Move asks the process what must be alike elsewhere.
func (k *Running) Move(ctx context.Context) (m moving, err error) {
	return m, k.do(ctx, http.MethodGet, "/move", nil, &m)
}

// GiveUp asks the process to end.
func (k *Running) GiveUp(ctx context.Context) error {
	return k.do(ctx, http.MethodPost, "/move", nil, nil)
}
