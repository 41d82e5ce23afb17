package redis

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/ringwatch/ringwatch/access/certs"
	"github.com/ringwatch/ringwatch/watch/reading"
)

// Config is one entry of watch.redis: servers that are alike.
type Config struct {
	// Cluster, Datacenter and Rack are where the servers appear.
	Cluster    string `yaml:"cluster"`
	Datacenter string `yaml:"datacenter"`
	Rack       string `yaml:"rack"`
	Job        string `yaml:"job"` // Prometheus's label; every address is an instance of it
	// Address is host:port, or the path of a socket.
	Address   string   `yaml:"address"`
	Addresses []string `yaml:"addresses"` // more of them

	Username     string       `yaml:"username"`      // of an ACL; empty: the default user
	Password     string       `yaml:"password"`      // empty: none
	PasswordFile string       `yaml:"password_file"` // read again with each connection
	TLS          certs.Client `yaml:"tls"`

	// Interval, Timeout and MaxSeries are of one reading, the connection included; 0: what the role
	// says.
	Interval  time.Duration `yaml:"interval"`
	Timeout   time.Duration `yaml:"timeout"`
	MaxSeries int           `yaml:"max_series"`
	// SlowLog has the length of the slow log and its newest entry read, without the command.
	SlowLog bool `yaml:"slow_log"`
}

// DefaultConfig returns no server.
func DefaultConfig() Config {
	return Config{Job: "redis", TLS: certs.Section("tls"), SlowLog: true}
}

// Present is what a reader of YAML calls for each entry of the list: what it does not say is as in
// DefaultConfig.
func (c *Config) Present() { *c = DefaultConfig() }

// all returns every address.
func (c *Config) all() []string {
	if c.Address == "" {
		return c.Addresses
	}
	return append([]string{c.Address}, c.Addresses...)
}

// Each returns the entry once for each of its addresses, as New takes it.
func (c *Config) Each() []Config {
	var list []Config
	for _, address := range c.all() {
		one := *c
		one.Address, one.Addresses = address, nil
		list = append(list, one)
	}
	return list
}

// Targets returns what the entry has read, in the order of Each.
func (c *Config) Targets() []reading.Target {
	var list []reading.Target
	for _, address := range c.all() {
		list = append(list, reading.Target{Kind: reading.Redis, Cluster: c.Cluster,
			Datacenter: c.Datacenter, Rack: c.Rack, Job: c.Job, Instance: address,
			Interval: c.Interval})
	}
	return list
}

// Validate returns everything that is wrong with the entry, at once.
func (c *Config) Validate() error {
	var wrong []error
	check := func(right bool, format string, args ...any) {
		if !right {
			wrong = append(wrong, fmt.Errorf(format, args...))
		}
	}
	check(c.Cluster != "" && len(c.Cluster) <= 255 && c.Cluster != "*" &&
		!strings.ContainsFunc(c.Cluster, unicode.IsControl),
		"cluster is %q: set the name under which the servers appear, of 1 to 255 bytes", c.Cluster)
	check(c.Job != "", "job is empty: set a name, or leave it out for redis")
	addresses := c.all()
	check(len(addresses) > 0, "address is empty: set host:port, or the path of a socket")
	for i, address := range addresses {
		_, port, err := net.SplitHostPort(address)
		number, notOne := strconv.ParseUint(port, 10, 16)
		check(isSocket(address) || err == nil && notOne == nil && number > 0,
			"address: %q is neither host:port nor the path of a socket, which begins with /; "+
				"write it without redis://", address)
		check(!slices.Contains(addresses[:i], address), "address: %q is there twice", address)
		check(!isSocket(address) || !c.TLS.Enabled, "address: a socket, %s, speaks no TLS: give "+
			"it an entry without tls", address)
	}
	check(c.Password == "" || c.PasswordFile == "",
		"password and password_file are both set: set one")
	check(c.Interval == 0 || c.Interval >= 5*time.Second && c.Interval <= time.Minute,
		"interval is %v: use 5s to 1m", c.Interval)
	check(c.Timeout >= 0 && (c.Interval == 0 || c.Timeout <= c.Interval),
		"timeout is %v: use 1s to the interval, which is %v", c.Timeout, c.Interval)
	check(c.MaxSeries >= 0, "max_series is %d: use 0 for the role's, or more", c.MaxSeries)
	return errors.Join(append(wrong, c.TLS.Validate())...)
}

func isSocket(address string) bool { return strings.HasPrefix(address, "/") }

// password returns the password as it is now.
func (c *Config) password() (string, error) {
	if c.PasswordFile == "" {
		return c.Password, nil
	}
	text, err := os.ReadFile(c.PasswordFile)
	if err != nil {
		return "", fmt.Errorf("the password of %s cannot be read: %w; see password_file", c.Address,
			err)
	}
	return strings.TrimRight(string(text), "\r\n"), nil
}
