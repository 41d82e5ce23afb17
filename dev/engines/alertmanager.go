package engines

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// AlertmanagerConfig says how to run one Alertmanager, which tests of alerts ask. Dir and Config
// are needed. It keeps its silences and its log of notifications in Dir, so a Restart goes on with
// them; its alerts are in its memory only.
type AlertmanagerConfig struct {
	Dir    string // holds its configuration, its data and, unless Log is set, its log
	Config string // its configuration, the text of alertmanager.yml
	Web    string // the text of its --web.config.file (TLS, basic auth); empty: neither

	ListenAddress string // 127.0.0.1 by default
	Port          int    // 0: a free one

	Log   string // Dir/alertmanager.log by default
	Debug bool   // its log says each step
}

// Alertmanager is a running server that has answered.
type Alertmanager struct {
	Engine
	Host string
	Port int
}

// Addr returns host:port for clients.
func (a *Alertmanager) Addr() string { return net.JoinHostPort(a.Host, strconv.Itoa(a.Port)) }

// StartAlertmanager starts Debian's prometheus-alertmanager, alone and not as a member of a
// cluster, and waits until it answers.
func StartAlertmanager(ctx context.Context, c AlertmanagerConfig) (*Alertmanager, error) {
	program, err := exec.LookPath("prometheus-alertmanager")
	if err != nil {
		return nil, ErrNoAlertmanager
	}
	if c.Dir == "" || c.Config == "" {
		return nil, errors.New("an Alertmanager needs a directory and a configuration: " +
			"set AlertmanagerConfig.Dir and Config")
	}
	setDefault(&c.ListenAddress, "127.0.0.1")
	setDefault(&c.Log, filepath.Join(c.Dir, "alertmanager.log"))
	if err := makeDir(c.Dir); err != nil {
		return nil, err
	}
	for name, text := range map[string]string{"alertmanager.yml": c.Config, "web.yml": c.Web} {
		if err := os.WriteFile(filepath.Join(c.Dir, name), []byte(text), 0o600); err != nil {
			return nil, fmt.Errorf("cannot write Alertmanager's configuration: %w", err)
		}
	}
	return startOnFreePorts(c.Port != 0, func() (*Alertmanager, error) {
		return startAlertmanager(ctx, c, program)
	})
}

func startAlertmanager(
	ctx context.Context, c AlertmanagerConfig, program string,
) (*Alertmanager, error) {
	var hold portHold
	defer hold.release()
	if err := hold.take(c.ListenAddress, &c.Port, "Alertmanager"); err != nil {
		return nil, err
	}
	server := &Alertmanager{Host: c.ListenAddress, Port: c.Port}
	args := []string{
		"--config.file", filepath.Join(c.Dir, "alertmanager.yml"),
		"--storage.path", filepath.Join(c.Dir, "data"),
		"--web.listen-address", server.Addr(), "--web.external-url", "http://" + server.Addr(),
		"--cluster.listen-address=", // alone
	}
	if c.Web != "" {
		args = append(args, "--web.config.file", filepath.Join(c.Dir, "web.yml"))
	}
	if c.Debug {
		args = append(args, "--log.level=debug")
	}
	server.name = "Alertmanager"
	server.probe = func(ctx context.Context) error {
		return alertmanagerAnswers(ctx, server.Addr())
	}
	server.launch = func() (*Process, error) {
		hold.release()
		return StartProcess(ProcessConfig{
			Name: server.name, Path: program, Args: args, Log: c.Log,
		})
	}
	var err error
	if server.proc, err = startReady(ctx, server.name, server.launch, server.probe); err != nil {
		return nil, err
	}
	return server, nil
}

// alertmanagerAnswers returns nil when the server at addr is ready, or refuses who has no password.
func alertmanagerAnswers(ctx context.Context, addr string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/-/ready", nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<10))
	switch answer.StatusCode {
	case http.StatusOK, http.StatusUnauthorized:
		return nil
	case http.StatusBadRequest: // plain HTTP to a server with TLS: it listens
		return nil
	}
	return fmt.Errorf("%s answered %s to /-/ready", addr, answer.Status)
}
