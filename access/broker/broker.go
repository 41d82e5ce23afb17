// Package broker connects to Kafka: the options that all our clients share. Begin with Options. Of
// our packages it imports access/certs.
//
// What it promises: passwords are in no text that it gives.
package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/ringwatch/ringwatch/access/certs"
)

// SASL is how to log in to Kafka. The zero one is no login.
type SASL struct {
	Mechanism string `yaml:"mechanism"` // PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512
	User      string `yaml:"user"`
	Password  string `yaml:"password"`
	// PasswordFile holds the password instead; it is read at each login.
	PasswordFile string `yaml:"password_file"`
}

// String leaves the password out.
func (s SASL) String() string { return fmt.Sprintf("{%s %s (redacted)}", s.Mechanism, s.User) }

// GoString is String: %#v shows no password either.
func (s SASL) GoString() string { return s.String() }

// Validate returns everything that is wrong. It does not read the file.
func (s SASL) Validate() error {
	if s == (SASL{}) {
		return nil
	}
	var errs []error
	if _, err := s.mechanism(); err != nil {
		errs = append(errs, err)
	}
	if s.User == "" || s.Password == "" && s.PasswordFile == "" {
		errs = append(errs, errors.New("sasl needs user and password"))
	}
	if s.Password != "" && s.PasswordFile != "" {
		errs = append(errs, errors.New("sasl has password and password_file: set one of them"))
	}
	return errors.Join(errs...)
}

func (s SASL) mechanism() (sasl.Mechanism, error) {
	switch s.Mechanism {
	case "PLAIN":
		return plain.Plain(func(context.Context) (plain.Auth, error) {
			password, err := s.password()
			return plain.Auth{User: s.User, Pass: password}, err
		}), nil
	case "SCRAM-SHA-256":
		return scram.Sha256(s.scram), nil
	case "SCRAM-SHA-512":
		return scram.Sha512(s.scram), nil
	}
	return nil, fmt.Errorf("sasl mechanism %q: use PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512",
		s.Mechanism)
}

func (s SASL) scram(context.Context) (scram.Auth, error) {
	password, err := s.password()
	return scram.Auth{User: s.User, Pass: password}, err
}

func (s SASL) password() (string, error) {
	if s.PasswordFile == "" {
		return s.Password, nil
	}
	text, err := os.ReadFile(s.PasswordFile)
	if err != nil {
		return "", fmt.Errorf("sasl.password_file: %w", err)
	}
	return strings.TrimRight(string(text), "\r\n"), nil
}

// ValidateAddresses returns an error for each that is not host:port.
func ValidateAddresses(addresses []string) error {
	var errs []error
	for _, a := range addresses {
		_, port, err := net.SplitHostPort(a)
		if n, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || n == 0 {
			errs = append(errs, fmt.Errorf("broker %q is not host:port", a))
		}
	}
	return errors.Join(errs...)
}

// dialTimeout is for a connection to a broker, with its TLS.
const dialTimeout = 3 * time.Second

// Options are what each of our clients needs to reach the brokers. They connect when the client is
// first used.
func Options(addresses []string, secure certs.Client, login SASL, log *slog.Logger) ([]kgo.Opt,
	error) {
	opts := []kgo.Opt{
		kgo.SeedBrokers(addresses...),
		kgo.ClientID("ringwatch"),
		kgo.WithLogger(logger{log}),
		kgo.DisableClientMetrics(),
		// A frozen broker is given up on after this, above what the request itself may take.
		kgo.RequestTimeoutOverhead(5 * time.Second),
		// A broker that comes back is found within this.
		kgo.MetadataMinAge(250 * time.Millisecond),
		// Partitions that an operator adds are found within this.
		kgo.MetadataMaxAge(30 * time.Second),
	}
	if secure.Enabled {
		files, dialer := secure.Dialer(log), &net.Dialer{Timeout: dialTimeout}
		opts = append(opts,
			kgo.Dialer(func(ctx context.Context, network, address string) (net.Conn, error) {
				return files.Over(ctx, dialer, network, address)
			}))
	} else {
		opts = append(opts, kgo.DialTimeout(dialTimeout))
	}
	if login != (SASL{}) {
		m, err := login.mechanism()
		if err != nil {
			return nil, err
		}
		opts = append(opts, kgo.SASL(m))
	}
	return opts, nil
}

// logger hands the client's warnings on. What it logs below that is of no use to an operator.
type logger struct{ log *slog.Logger }

// Level implements kgo.Logger.
func (l logger) Level() kgo.LogLevel {
	if l.log.Enabled(context.Background(), slog.LevelDebug) {
		return kgo.LogLevelInfo
	}
	return kgo.LogLevelWarn
}

// Log implements kgo.Logger.
func (l logger) Log(level kgo.LogLevel, msg string, keyvals ...any) {
	to := slog.LevelDebug
	switch level {
	case kgo.LogLevelError:
		to = slog.LevelError
	case kgo.LogLevelWarn:
		to = slog.LevelWarn
	}
	l.log.Log(context.Background(), to, "kafka: "+msg, keyvals...)
}
