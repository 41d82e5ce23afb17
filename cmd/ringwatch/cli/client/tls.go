package client

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"

	"github.com/ringwatch/ringwatch/access/certs"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
)

// TLSFlags is for an API whose certificate this machine does not know, or that asks for one.
type TLSFlags struct {
	CAFile      string `help:"PEM file of the authorities that may sign the API's certificate. Without it: those of this machine." env:"RINGWATCH_CA_FILE"`
	CertFile    string `help:"PEM file of the client certificate, for an API that asks for one." env:"RINGWATCH_CERT_FILE"`
	CertKeyFile string `help:"PEM file of the key of --cert-file." env:"RINGWATCH_CERT_KEY_FILE"`
}

// Transport returns nil where nothing is set.
func (f *TLSFlags) Transport() (http.RoundTripper, error) {
	if *f == (TLSFlags{}) {
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if f.CAFile != "" {
		var err error
		if config.RootCAs, err = certs.ReadAuthorities(f.CAFile); err != nil {
			return nil, exit.Usage(fmt.Errorf("--ca-file: %w", err))
		}
	}
	if (f.CertFile == "") != (f.CertKeyFile == "") {
		return nil,
			exit.Usage(errors.New("--cert-file and --cert-key-file belong together: set both"))
	}
	if f.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(f.CertFile, f.CertKeyFile)
		if err != nil {
			return nil, exit.Usage(fmt.Errorf("--cert-file: %w", err))
		}
		config.Certificates = []tls.Certificate{pair}
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = config
	return transport, nil
}
