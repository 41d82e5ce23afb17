package engines

import (
	"errors"
	"testing"

	"github.com/redis/rueidis"
)

func TestRedis(t *testing.T) {
	server := MustRedis(t, func(c *RedisConfig) { c.MaxMemory = "32mb" })
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{server.Addr()},
		DisableCache: true})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.Do(t.Context(), client.B().Set().Key("k").Value("v").Build()).Error(); err !=
		nil {
		t.Fatal(err)
	}
	if v, err := client.Do(t.Context(), client.B().Get().Key("k").Build()).ToString(); err != nil ||
		v != "v" {
		t.Errorf("GET is %q, %v", v, err)
	}
	settings, err := client.Do(t.Context(), client.B().ConfigGet().Parameter("maxmemory", "save",
		"appendonly").Build()).AsStrMap()
	if err != nil || settings["maxmemory"] != "33554432" || settings["save"] != "" ||
		settings["appendonly"] != "no" {
		t.Errorf("the settings are %v, %v", settings, err)
	}

	t.Run("port taken", func(t *testing.T) {
		_, err := StartRedis(t.Context(), RedisConfig{Dir: t.TempDir(), Port: server.Port})
		if !errors.Is(err, ErrPortTaken) {
			t.Errorf("the error is not ErrPortTaken")
		}
		oneSentence(t, err, itoa(server.Port), "Redis needs it")
	})

	pid := server.Pid()
	if err := server.Pause(); err != nil {
		t.Fatal(err)
	}
	if err := server.Stop(t.Context()); err != nil { // a paused server must obey too
		t.Fatal(err)
	}
	gone(t, pid)
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := server.Ready(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestRedisThatCannotStart(t *testing.T) {
	Needed(t, "Redis")
	_, err := StartRedis(t.Context(), RedisConfig{Dir: t.TempDir(), MaxMemory: "lots"})
	oneSentence(t, err, "Redis ended while starting", "redis.log")
	t.Setenv("PATH", "")
	_, err = StartRedis(t.Context(), RedisConfig{Dir: t.TempDir()})
	oneSentence(t, err, "apt-get install redis-server")
}
