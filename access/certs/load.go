package certs

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"strings"
)

// material is what a Client's files hold.
type material struct {
	roots *x509.CertPool   // nil: this machine's
	own   *tls.Certificate // nil: none
}

// load reads the files and returns everything that is wrong with them, each with its key.
func (c *Client) load() (*material, error) {
	m := &material{}
	var errs []error
	if c.CAFile != "" {
		roots, err := ReadAuthorities(c.CAFile)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", c.key("ca_file"), err))
		}
		m.roots = roots
	}
	if c.CertFile != "" {
		own, err := readPair(c.CertFile, c.KeyFile, c.key("cert_file"), c.key("key_file"))
		if err != nil {
			errs = append(errs, err)
		}
		m.own = own
	}
	return m, errors.Join(errs...)
}

// ReadAuthorities reads a PEM file of authorities.
func ReadAuthorities(file string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s holds no PEM certificate", file)
	}
	return roots, nil
}

// readPair reads a certificate and its key; the last two are what errors call them.
func readPair(certFile, keyFile, certName, keyName string) (*tls.Certificate, error) {
	cert, certErr := os.ReadFile(certFile)
	key, keyErr := os.ReadFile(keyFile)
	var errs []error
	if certErr != nil {
		errs = append(errs, fmt.Errorf("%s: %w", certName, certErr))
	} else if !hasBlock(cert, "CERTIFICATE") {
		errs = append(errs, fmt.Errorf("%s: %s holds no PEM certificate", certName, certFile))
	}
	if keyErr != nil {
		errs = append(errs, fmt.Errorf("%s: %w", keyName, keyErr))
	} else if bytes.Contains(key, []byte("ENCRYPTED")) {
		errs = append(errs,
			fmt.Errorf("%s: the key in %s has a passphrase: write it without one (openssl pkey)",
				keyName, keyFile))
	} else if !hasBlock(key, "PRIVATE KEY") {
		errs = append(errs, fmt.Errorf("%s: %s holds no PEM private key", keyName, keyFile))
	}
	if errs != nil {
		return nil, errors.Join(errs...)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil && strings.Contains(err.Error(), "does not match") {
		return nil, fmt.Errorf("%s: the key in %s does not belong to the certificate in %s",
			keyName, keyFile, certFile)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %s and %s cannot be used: %w", certName, certFile, keyFile, err)
	}
	return &pair, nil
}

// hasBlock reports whether a PEM text has a block whose type ends so.
func hasBlock(text []byte, of string) bool {
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			return false
		}
		if strings.HasSuffix(block.Type, of) {
			return true
		}
	}
}
