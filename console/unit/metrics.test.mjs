// Metrics by group, how each is plotted, and names that are near one.
import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./build.mjs";

const { found, groupsOf, metricsOf, plotOf } = await load("metrics.ts");
const { nearest, selectorsOf, withName, withValue } = await load("near.ts");

const list = metricsOf({
  up: [{ type: "gauge", help: "Whether the node sends.", unit: "" }],
  cassandra_table_reads_total: [{ type: "counter", help: "Rows read.", unit: "" }],
  cassandra_client_request_latency_seconds: [{ type: "histogram", help: "", unit: "seconds" }],
  cassandra_table_partition_size_bytes: [{ type: "gaugehistogram", help: "", unit: "bytes" }],
  "cluster:up:sum": [{ type: "gauge", help: "", unit: "" }],
  jvm_start_time_seconds: [{ type: "gauge", help: "", unit: "seconds" }],
  my_own: [],
});
const plot = (name) => plotOf(list.find((m) => m.name === name));

test("each metric has a group, and groups have an order", () => {
  assert.deepEqual(groupsOf(list), [
    ["Client requests", 1],
    ["Tables", 2],
    ["JVM", 1],
    ["Agent", 1],
    ["Recorded by rules", 1],
    ["Others", 1],
  ]);
});

test("a search looks into names first, then into descriptions", () => {
  const names = (text) => found(list, text).map((m) => m.name);
  assert.deepEqual(names("READ"), ["cassandra_table_reads_total"]);
  assert.deepEqual(names("sends whether"), ["up"]);
  assert.deepEqual(names("up"), ["up", "cluster:up:sum"]);
  assert.deepEqual(names("no such thing"), []);
  assert.equal(names(" ").length, list.length);
});

test("a metric is plotted by its type", () => {
  assert.equal(plot("up"), "up");
  assert.equal(plot("my_own"), "my_own");
  assert.equal(plot("jvm_start_time_seconds"), "time() - jvm_start_time_seconds");
  assert.equal(
    plot("cassandra_table_reads_total"),
    "sum by (cluster, keyspace, table) (rate(cassandra_table_reads_total[5m]))",
  );
  assert.equal(
    plot("cassandra_table_partition_size_bytes"),
    "histogram_quantile(0.99, " +
      "sum by (cluster, keyspace, table) (cassandra_table_partition_size_bytes))",
  );
});

test("what is near comes first, and what is far does not come", () => {
  const names = ["os_load1", "os_load15", "os_load5", "jvm_threads", "os_disk_read_bytes_total"];
  assert.equal(nearest("node_load1", names)[0], "os_load1");
  assert.deepEqual(nearest("jvm_thread", names), ["jvm_threads"]);
  assert.deepEqual(nearest("xyzzy", names), []);
  assert.deepEqual(nearest("ordrs", ["orders", "users"]), ["orders"]);
});

test("a near name stands where the wrong one stood, and nowhere else", () => {
  assert.equal(
    withName(`rate(a[5m]) / a_total{x="a"} + sum by (b) (a)`, "a", "z"),
    `rate(z[5m]) / a_total{x="a"} + sum by (b) (z)`,
  );
  assert.equal(
    withValue(`a{x="b", y = 'b', xx="b", x="c"} or "x='b'"`, "x", "b", `q"`),
    `a{x="q\\"", y = 'b', xx="b", x="c"} or "x='b'"`,
  );
});

test("selectors are found wherever they stand in a tree", () => {
  const matchers = [
    { name: "a", type: "=", value: "b" },
    { name: "c", type: "=~", value: "d" },
    { name: "__name__", type: "=", value: "x" },
  ];
  const tree = { lhs: { args: [{ type: "matrixSelector", name: "", matchers }] }, rhs: null };
  assert.deepEqual(selectorsOf(tree), [{ metric: "x", labels: [["a", "b"]] }]);
});
