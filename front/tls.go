package front

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"
)

// TLS names the files of a listener's certificate; none: plain HTTP.
type TLS struct {
	CertFile string `yaml:"cert_file"` // PEM, the chain after the certificate
	KeyFile  string `yaml:"key_file"`  // PEM
	// ClientCAFile: only clients with a certificate of these authorities are let in, to health checks and /metrics too. They need an API key all the same.
	ClientCAFile string `yaml:"client_ca_file"`
}

// On reports whether there is a certificate.
func (c TLS) On() bool { return c.CertFile != "" }

// Validate reports what is wrong, but does not read the files: a role that does not listen may share a configuration with one that does, on a machine that has them.
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
		errs = append(errs, fmt.Errorf("tls: cert_file %s and key_file %s: %w", c.CertFile, c.KeyFile, err))
	}
	config := &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	if c.ClientCAFile != "" {
		config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
		pem, err := os.ReadFile(c.ClientCAFile)
		if err == nil && !config.ClientCAs.AppendCertsFromPEM(pem) {
			err = errors.New("it holds no PEM certificate")
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("tls: client_ca_file %s: %w", c.ClientCAFile, err))
		}
	}
	return config, errors.Join(errs...)
}

// recheck is how long files are not looked at again. A renewed certificate serves connections that begin that much later.
const recheck = time.Second

// files is a TLS whose files are read again when they change.
type files struct {
	TLS
	log *slog.Logger
	now func() time.Time

	mu      sync.Mutex
	config  *tls.Config
	state   string // of the files that config was read from
	tried   string // of the files that could not be read
	checked time.Time
}

// Listener returns l, with TLS before it if there is a certificate. The error names every file that cannot be used. The files are read again when they change; files that cannot be read, or do not belong together, as in the middle of
// being replaced, leave what there was, and are logged.
func (c TLS) Listener(l net.Listener, log *slog.Logger) (net.Listener, error) {
	if !c.On() {
		return l, nil
	}
	f := &files{TLS: c, log: log, now: time.Now}
	f.state = f.stat()
	config, err := c.load()
	if err != nil {
		return nil, err
	}
	f.config = config
	return f.listener(l), nil
}

func (f *files) listener(l net.Listener) net.Listener {
	return tls.NewListener(l, &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return f.current(), nil }})
}

// stat tells by times and sizes whether files have changed.
func (f *files) stat() string {
	state := ""
	for _, name := range []string{f.CertFile, f.KeyFile, f.ClientCAFile} {
		if name == "" {
			continue
		}
		info, err := os.Stat(name)
		if err != nil {
			state += err.Error()
			continue
		}
		state += fmt.Sprint(info.ModTime().UnixNano(), " ", info.Size(), ";")
	}
	return state
}

func (f *files) current() *tls.Config {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	if since := now.Sub(f.checked); since >= 0 && since < recheck {
		return f.config
	}
	f.checked = now
	state := f.stat()
	if state == f.state {
		return f.config
	}
	config, err := f.load()
	switch {
	case err == nil:
		f.config, f.state, f.tried = config, state, ""
		f.log.Info("reloaded the TLS certificate", "cert_file", f.CertFile)
	case state != f.tried:
		f.tried = state
		f.log.Warn("the changed TLS files cannot be used; the earlier ones stay in use", "error", err)
	}
	return f.config
}
