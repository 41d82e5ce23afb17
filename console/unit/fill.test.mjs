// Runbooks' commands come filled in.
import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./build.mjs";

const { filled, shared } = await load("fill.ts");

const labels = {
  ...{ alertname: "X", cluster: "Test Cluster", node: "0b7c1e5e-2f0e-4a52-9c1a-6d1f0f1f2a3b" },
  ...{ keyspace: "shop", table: "orders", group: "billing", topic: "paid", instance: "r1:6380" },
};

test("commands and expressions of a runbook have the alert's labels", () => {
  const cases = [
    [
      'rate(a{cluster="CLUSTER",node="NODE"}[5m])',
      `rate(a{cluster="Test Cluster",node="${labels.node}"}[5m])`,
    ],
    ["nodetool tablestats KEYSPACE.TABLE", "nodetool tablestats shop.orders"],
    ["ringwatch safe --cluster CLUSTER", "ringwatch safe --cluster 'Test Cluster'"],
    ["ringwatch node forget ADDRESS", `ringwatch node forget ${labels.node}`],
    [
      "k.sh --bootstrap-server ADDRESS --group GROUP",
      "k.sh --bootstrap-server ADDRESS --group billing",
    ],
    ["redis-cli -h HOST CLIENT LIST", "redis-cli -h r1 -p 6380 CLIENT LIST"],
    ["redis-cli -h HOST -p 26379 SENTINEL X", "redis-cli -h r1 -p 26379 SENTINEL X"],
    ["redis-cli --cluster check HOST:6379", "redis-cli --cluster check r1:6380"],
    ["curl -s http://INSTANCE/-/ready", "curl -s http://r1:6380/-/ready"],
    ["ALTER KEYSPACE system_distributed", "ALTER KEYSPACE system_distributed"],
    ["nodetool removenode HOST_ID", "nodetool removenode HOST_ID"],
    ["kafka-log-dirs.sh --broker-list BROKER", "kafka-log-dirs.sh --broker-list BROKER"],
  ];
  for (const [code, want] of cases) assert.equal(filled(code, labels), want);
});

test("a label that a shell would obey fills nothing in", () => {
  for (const bad of ["a'; rm -rf /", "$(id)", "`id`", 'x"} or up{a="', "a\nb", "a\\", "--help"]) {
    for (const code of ["safe --cluster CLUSTER", 'up{cluster="CLUSTER"}', "node forget ADDRESS"]) {
      assert.equal(filled(code, { cluster: bad, node: bad }), code);
    }
    assert.equal(
      filled("redis-cli -h HOST INFO", { instance: `${bad}:1` }),
      "redis-cli -h HOST INFO",
    );
  }
});

test("of several alerts the labels count that all of them have", () => {
  assert.deepEqual(
    shared([
      { a: "1", b: "2" },
      { a: "1", b: "3" },
    ]),
    { a: "1" },
  );
  assert.deepEqual(shared([]), {});
});
