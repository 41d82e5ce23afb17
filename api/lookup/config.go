package lookup

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/ringwatch/ringwatch/access/certs"
	"github.com/ringwatch/ringwatch/ring"
)

// Everybody, as the only one of Table.Accounts, lets every account read the table.
const Everybody = "*"

// Bulk is the class that a request may always ask for instead of its table's: what it may hold
// back is only the request itself.
const Bulk = "bulk"

// Config says which tables may be looked up, by whom, and in which Cassandra they are.
type Config struct {
	// Hosts are contact points of the Cassandra that has the tables, "host" or "host:port". Empty:
	// the store's, with the store's datacenter, username, password and tls.
	Hosts []string `yaml:"hosts"`
	// Datacenter is the local one; empty: any.
	Datacenter string `yaml:"datacenter"`
	// Username and Password are Cassandra's; empty: no authentication. One that may read the
	// tables below and nothing else is best.
	Username string `yaml:"username"`
	Password string `yaml:"password"`
	// TLS to these Hosts, as store.Config.TLS.
	TLS certs.Client `yaml:"tls"`
	// Timeout is how long one query may take.
	Timeout time.Duration `yaml:"timeout"`

	// MaxKeys bounds the keys of a request.
	MaxKeys int `yaml:"max_keys"`
	// MaxRows bounds the rows of a key, where its table says nothing else.
	MaxRows int `yaml:"max_rows"`

	// Tables are those that may be looked up; none: there is no lookup.
	Tables []Table `yaml:"tables"`
}

// Table is a table that may be looked up.
type Table struct {
	Table    string   `yaml:"table"`    // keyspace.table, as Cassandra has the names
	Columns  []string `yaml:"columns"`  // which may be read; none: all that the table has
	Accounts []string `yaml:"accounts"` // who may read it; "*": everybody
	Class    string   `yaml:"class"`    // of these reads for the throttle; empty: the ring's
	// how old a row from memory may be, in ring.cache_bytes; 0: what ring.cache_ttl says
	CacheTTL time.Duration `yaml:"cache_ttl"`
	MaxKeys  int           `yaml:"max_keys"` // 0: Config.MaxKeys
	MaxRows  int           `yaml:"max_rows"` // 0: Config.MaxRows
}

// DefaultConfig has no tables.
func DefaultConfig() Config {
	return Config{TLS: certs.Section("lookup.tls"), Timeout: 5 * time.Second, MaxKeys: 1000,
		MaxRows: 100}
}

// Bounds of what an operator may set: keys of a request are read at once, rows are held until
// their key is answered.
const (
	mostKeys = 10_000
	mostRows = 100_000
)

var tableName = regexp.MustCompile(`^[A-Za-z0-9_]{1,48}\.[A-Za-z0-9_]{1,222}$`)

// Validate returns everything that is wrong with the configuration, at once.
func (c *Config) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	_, _, err := ring.ContactPoints(c.Hosts)
	errs = append(errs, err)
	if len(c.Hosts) == 0 &&
		(c.Username != "" || c.Password != "" || c.Datacenter != "" || c.TLS.Enabled) {
		bad("hosts: datacenter, username, password and tls need hosts; without hosts the store's " +
			"settings are used")
	}
	if c.Username == "" && c.Password != "" {
		bad("username: it is empty, and a password is set: set both or neither")
	}
	if c.Timeout < 100*time.Millisecond {
		bad("timeout: %s: use at least 100ms", c.Timeout)
	}
	bound := func(where string, value, least, most int) {
		if value < least || value > most {
			bad("%s: %d: use %d to %d", where, value, least, most)
		}
	}
	bound("max_keys", c.MaxKeys, 1, mostKeys)
	bound("max_rows", c.MaxRows, 1, mostRows)
	listed := map[string]bool{}
	for i := range c.Tables {
		t := &c.Tables[i]
		where := fmt.Sprintf("tables[%d]", i)
		if !tableName.MatchString(t.Table) {
			bad("%s.table: %q must have the form keyspace.table", where, t.Table)
		} else if where += " " + t.Table; listed[t.Table] {
			bad("%s: the table is listed twice: put all its accounts and columns into one entry",
				where)
		}
		listed[t.Table] = true
		for j, column := range t.Columns {
			if column == "" || slices.Contains(t.Columns[:j], column) {
				bad("%s.columns: %q is empty or listed twice", where, column)
			}
		}
		switch {
		case len(t.Accounts) == 0:
			bad(`%s.accounts: name the accounts that may read it; "*" is every account`, where)
		case len(t.Accounts) > 1 && slices.Contains(t.Accounts, Everybody):
			bad(`%s.accounts: "*" must stand alone`, where)
		case slices.Contains(t.Accounts, ""):
			bad("%s.accounts: a name is empty", where)
		}
		if t.CacheTTL < 0 {
			bad("%s.cache_ttl: %s: use 0 or more", where, t.CacheTTL)
		}
		bound(where+".max_keys", t.MaxKeys, 0, mostKeys)
		bound(where+".max_rows", t.MaxRows, 0, mostRows)
	}
	return errors.Join(errs...)
}

// On reports whether there is anything to look up.
func (c *Config) On() bool { return len(c.Tables) > 0 }

// allows reports whether an account may read the table.
func (t *Table) allows(account string) bool {
	return slices.Contains(t.Accounts, account) || t.Accounts[0] == Everybody
}
