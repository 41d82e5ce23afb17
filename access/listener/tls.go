package listener

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"

	"github.com/ringwatch/ringwatch/access/certs"
)

// TLS names the files of a listener's certificate; none: plain HTTP.
type TLS struct {
	CertFile string `yaml:"cert_file"` // PEM, the chain after the certificate
	KeyFile  string `yaml:"key_file"`  // PEM
	// ClientCAFile: only clients with a certificate of these authorities are let in, to health
	// checks and /metrics too. They need an API key all the same.
	ClientCAFile string `yaml:"client_ca_file"`
}

// On reports whether there is a certificate.
func (c TLS) On() bool { return c.CertFile != "" }

// Validate reports what is wrong, but does not read the files: a role that does not listen may
// share a configuration with one that does, on a machine that has them.
func (c TLS) Validate() error {
	if c != (TLS{}) && (c.CertFile == "" || c.KeyFile == "") {
		return errors.New("tls: set both cert_file and key_file, or neither")
	}
	return nil
}

func (c TLS) load() (*tls.Config, error) {
	var errs []error
	certificate, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
	if err != nil {
		errs = append(errs, fmt.Errorf("tls: cert_file %s and key_file %s: %w", c.CertFile,
			c.KeyFile, err))
	}
	config := &tls.Config{Certificates: []tls.Certificate{certificate},
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	if c.ClientCAFile != "" {
		config.ClientAuth = tls.RequireAndVerifyClientCert
		var err error
		if config.ClientCAs, err = certs.ReadAuthorities(c.ClientCAFile); err != nil {
			errs = append(errs, fmt.Errorf("tls: client_ca_file: %w", err))
		}
	}
	return config, errors.Join(errs...)
}

// Listener returns l, with TLS before it if there is a certificate. The error names every file
// that cannot be used. The files are read again when they change. If they cannot be read then, or
// do not belong together, as in the middle of being replaced, that is logged, and what was read
// before stays in use.
func (c TLS) Listener(l net.Listener, log *slog.Logger) (net.Listener, error) {
	if !c.On() {
		return l, nil
	}
	files := c.watched(log)
	if _, err := files.Current(); err != nil {
		return nil, err
	}
	return listener(l, files), nil
}

func (c TLS) watched(log *slog.Logger) *certs.Watched[*tls.Config] {
	return &certs.Watched[*tls.Config]{Files: []string{c.CertFile, c.KeyFile, c.ClientCAFile},
		Load: c.load, Log: log}
}

func listener(l net.Listener, files *certs.Watched[*tls.Config]) net.Listener {
	return tls.NewListener(l, &tls.Config{MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return files.Current()
		}})
}
