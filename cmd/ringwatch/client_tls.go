package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
)

// clientTLS is for an API whose certificate this machine does not know, or that asks for one.
type clientTLS struct {
	CAFile      string `help:"Certificates, PEM, that the API's certificate may be signed by, instead of this machine's." env:"RINGWATCH_CA_FILE"`
	CertFile    string `help:"Our certificate, PEM, for an API that asks for one." env:"RINGWATCH_CERT_FILE"`
	CertKeyFile string `help:"The key of --cert-file, PEM." env:"RINGWATCH_CERT_KEY_FILE"`
}

// transport returns nil where nothing is set.
func (f *clientTLS) transport() (http.RoundTripper, error) {
	if *f == (clientTLS{}) {
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if f.CAFile != "" {
		pem, err := os.ReadFile(f.CAFile)
		if err != nil {
			return nil, usageError{fmt.Errorf("--ca-file: %w", err)}
		}
		if config.RootCAs = x509.NewCertPool(); !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, usageError{fmt.Errorf("--ca-file: %s has no certificate in PEM", f.CAFile)}
		}
	}
	if (f.CertFile == "") != (f.CertKeyFile == "") {
		return nil, usageError{errors.New("--cert-file and --cert-key-file belong together: set both")}
	}
	if f.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(f.CertFile, f.CertKeyFile)
		if err != nil {
			return nil, usageError{fmt.Errorf("--cert-file: %w", err)}
		}
		config.Certificates = []tls.Certificate{pair}
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = config
	return transport, nil
}
