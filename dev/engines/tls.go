package engines

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"path/filepath"
)

// TLS makes an engine speak nothing but TLS to its clients and demand a certificate of theirs. The
// files are PEM and are read at each start; the certificate is for servers and for clients, since
// the engine is asked with it whether it answers.
type TLS struct {
	CertFile, KeyFile string // without a passphrase
	CAFile            string // who may have signed clients' certificates
}

// dial is for the engine's own probe, which may take any certificate. A nil TLS is none.
func (t *TLS) dial(ctx context.Context, addr string) (net.Conn, error) {
	conn, err := dial(ctx, addr)
	if err != nil || t == nil {
		return conn, err
	}
	config, err := t.config()
	if err != nil {
		conn.Close()
		return nil, err
	}
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	return secure, nil
}

func (t *TLS) config() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("the engine's certificate cannot be used: %w", err)
	}
	return &tls.Config{
		InsecureSkipVerify: true, // it is the engine that we have started
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return &pair, nil
		},
	}, nil
}

// store writes key and certificate into one file of dir, as Java's PEM stores want them, and
// returns its path. A nil TLS has none.
func (t *TLS) store(dir string) (string, error) {
	if t == nil {
		return "", nil
	}
	key, err := os.ReadFile(t.KeyFile)
	if err != nil {
		return "", fmt.Errorf("cannot read the engine's key: %w", err)
	}
	cert, err := os.ReadFile(t.CertFile)
	if err != nil {
		return "", fmt.Errorf("cannot read the engine's certificate: %w", err)
	}
	file := filepath.Join(dir, "tls.pem")
	if err := os.WriteFile(file, bytes.Join([][]byte{key, cert}, []byte("\n")), 0o600); err != nil {
		return "", fmt.Errorf("cannot write the engine's certificate: %w", err)
	}
	return file, nil
}

// kafka are Kafka's settings for it; its listener is called SSL.
func (t *TLS) kafka(dir string) (map[string]string, error) {
	file, err := t.store(dir)
	return map[string]string{
		"listener.security.protocol.map": "CONTROLLER:PLAINTEXT,SSL:SSL",
		"inter.broker.listener.name":     "SSL",
		"ssl.client.auth":                "required",
		"ssl.keystore.type":              "PEM",
		"ssl.keystore.location":          file,
		"ssl.truststore.type":            "PEM",
		"ssl.truststore.location":        t.CAFile,
	}, err
}

// cassandra is Cassandra's client_encryption_options for it.
func (t *TLS) cassandra(dir string) (map[string]any, error) {
	file, err := t.store(dir)
	return map[string]any{
		"enabled": true, "optional": false, "require_client_auth": true,
		"ssl_context_factory": map[string]any{
			"class_name": "org.apache.cassandra.security.PEMBasedSslContextFactory",
		},
		"keystore": file, "truststore": t.CAFile,
	}, err
}

// redis are Redis's arguments for it.
func (t *TLS) redis() []string {
	return []string{"--tls-cert-file", t.CertFile, "--tls-key-file", t.KeyFile,
		"--tls-ca-cert-file", t.CAFile, "--tls-auth-clients", "yes"}
}
