package engines

import (
	"errors"
	"testing"
)

const quietAlertmanager = "route: {receiver: nobody}\nreceivers: [{name: nobody}]\n"

func TestAlertmanager(t *testing.T) {
	server := MustAlertmanager(t, quietAlertmanager)
	pid := server.Pid()
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	gone(t, pid)
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := server.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	_, err := StartAlertmanager(t.Context(), AlertmanagerConfig{
		Dir: t.TempDir(), Config: quietAlertmanager, Port: server.Port,
	})
	if !errors.Is(err, ErrPortTaken) {
		t.Error("the error is not ErrPortTaken")
	}
	oneSentence(t, err, itoa(server.Port), "Alertmanager needs it")
}

func TestAlertmanagerThatCannotStart(t *testing.T) {
	Needed(t, "Alertmanager")
	_, err := StartAlertmanager(t.Context(), AlertmanagerConfig{
		Dir: t.TempDir(), Config: "route: {receiver: somebody}\n",
	})
	oneSentence(t, err, "Alertmanager ended while starting", "alertmanager.log")
	t.Setenv("PATH", "")
	_, err = StartAlertmanager(t.Context(), AlertmanagerConfig{Dir: t.TempDir(), Config: "x"})
	oneSentence(t, err, "apt-get install prometheus-alertmanager")
}
