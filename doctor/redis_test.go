package doctor

import (
	"context"
	"testing"

	"github.com/redis/rueidis"

	"github.com/ringwatch/ringwatch/dev/engines"
)

func TestRedis(t *testing.T) {
	good := engines.MustRedis(t, func(c *engines.RedisConfig) { c.MaxMemory = "100mb" })
	r := Redis{Address: good.Addr()}.Examine(t.Context())
	if !r.OK {
		t.Error("a Redis as docs/STORE.md has it fails", r.Results)
	}
	for _, name := range []string{"version", "maxmemory", "maxmemory-policy", "persistence",
		"evictions"} {
		want(t, r.Results, name, OK, "")
	}
	bad := engines.MustRedis(t, func(c *engines.RedisConfig) {
		c.Policy, c.Extra = "noeviction", []string{"--save", "60 1"}
	})
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{bad.Addr()},
		DisableCache: true})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.Do(t.Context(),
		client.B().ConfigSet().ParameterValue().ParameterValue("requirepass",
			"secret").Build()).Error(); err != nil {
		t.Fatal(err)
	}
	r = Redis{Address: bad.Addr(), Password: "secret"}.Examine(t.Context())
	if r.OK {
		t.Error("a Redis without maxmemory passes")
	}
	want(t, r.Results, "maxmemory", Fail, "until the machine kills it")
	want(t, r.Results, "maxmemory-policy", Fail, "refuses new frames")
	want(t, r.Results, "persistence", Warn, "fork")
	want(t, Redis{Address: bad.Addr(), Password: "wrong"}.Examine(t.Context()).Results, "redis",
		Fail, "WRONGPASS")
	if err := bad.Kill(); err != nil {
		t.Fatal(err)
	}
	want(t, Redis{Address: bad.Addr()}.Examine(context.Background()).Results, "redis", Fail,
		"does not answer")
}
