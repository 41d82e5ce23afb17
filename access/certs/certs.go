// Package certs is TLS from files: certificates, keys and authorities that are read again when they
// change, and what a client says when a server's certificate, or its own, is not accepted. Begin
// with Client. It imports none of our packages.
//
// What it promises:
//   - A connection that begins a second after its files changed uses the new ones. Files that
//     cannot be used leave the earlier ones in use, and are logged once.
//   - No connection is made to a server whose certificate is not checked: its authority, its time
//     and its name.
//   - A refusal for a certificate's sake is one sentence, with the key of the configuration to set.
//
// What bites: an open connection keeps the certificates with which it began, even after those have
// expired.
package certs

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
)

// Client is how we speak TLS to an engine, under the names of Prometheus's tls_config. Without
// CAFile this machine's authorities count; without CertFile we show no certificate.
type Client struct {
	// Enabled is true as soon as a file has the section. False switches TLS off, and the rest of
	// the section can stay.
	Enabled bool `yaml:"enabled"`
	// CAFile is PEM: who may have signed the server's certificate.
	CAFile string `yaml:"ca_file"`
	// CertFile and KeyFile are PEM: our own certificate with its chain, and its key, for a server
	// that demands one.
	CertFile string `yaml:"cert_file"`
	KeyFile  string `yaml:"key_file"`
	// ServerName is the name that every server's certificate must have, instead of the name by
	// which the server is called.
	ServerName string `yaml:"server_name"`

	section string
}

// Section returns a Client that names itself so in errors: "kafka.tls".
func Section(name string) Client { return Client{section: name} }

// Present implements what a reader of YAML calls when the section is there.
func (c *Client) Present() { c.Enabled = true }

// key is a key of the section with the section's name.
func (c *Client) key(name string) string {
	if c.section == "" {
		return "tls." + name
	}
	return c.section + "." + name
}

// Validate returns everything that is wrong, each with its key. It does not read the files, which
// may be on other machines only: see Check.
func (c *Client) Validate() error {
	var errs []error
	for _, pair := range [][4]string{
		{"cert_file", c.CertFile, "key_file", c.KeyFile},
		{"key_file", c.KeyFile, "cert_file", c.CertFile},
	} {
		if pair[1] != "" && pair[3] == "" {
			errs = append(errs, fmt.Errorf("%s: it needs %s: set both or neither", c.key(pair[0]),
				c.key(pair[2])))
		}
	}
	if name := c.ServerName; net.ParseIP(name) == nil && strings.ContainsAny(name, ":/* ") {
		errs = append(errs,
			fmt.Errorf("%s: %q is no host name: write it without scheme, port and stars",
				c.key("server_name"), name))
	}
	return errors.Join(errs...)
}

// Check reads the files and returns what is wrong with each, with its key. TLS that is off reads
// none.
func (c *Client) Check() error {
	if !c.Enabled {
		return nil
	}
	if err := c.Validate(); err != nil {
		return err
	}
	_, err := c.load()
	return err
}

// Own returns our certificate; nil: there is none.
func (c *Client) Own() (*x509.Certificate, error) {
	m, err := c.load()
	if err != nil || m.own == nil {
		return nil, err
	}
	return m.own.Leaf, nil
}
