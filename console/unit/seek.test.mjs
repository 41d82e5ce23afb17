// What the search finds.
import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./build.mjs";

globalThis.window ??= globalThis;
globalThis.localStorage ??= { getItem: () => null, setItem: () => {} };

const { hitsOf, tablesLike } = await load("seek.ts");

const known = {
  clusters: [{ cluster: "shop" }, { cluster: "bank" }],
  nodes: [
    {
      ...{ id: "0b7c", address: "10.0.0.7:7000", cluster: "shop", datacenter: "dc1", rack: "r1" },
      facts: { hostname: "db-7" },
    },
  ],
  tables: [{ metric: { cluster: "shop", keyspace: "sales", table: "orders", q: "0" } }],
  metrics: [
    { name: "cassandra_table_live_sstables", type: "gauge", help: "SSTables of the table" },
    { name: "cassandra_client_request_timeouts_total", type: "counter", help: "Requests" },
  ],
};
const names = (text, of = known) => hitsOf(text, of).map((h) => `${h.what}: ${h.name}`);

test("clusters, nodes, tables and metrics are found by parts of their names", () => {
  assert.deepEqual(names("shop"), ["cluster: shop"]);
  assert.deepEqual(names("DB-7"), ["node of shop: db-7 (10.0.0.7:7000)"]);
  assert.deepEqual(names("order"), ["table of shop: sales.orders"]);
  assert.deepEqual(names("sales.or"), ["table of shop: sales.orders"]);
  assert.deepEqual(names("live_sst"), ["metric: cassandra_table_live_sstables"]);
  assert.deepEqual(names("request timeouts"), ["metric: cassandra_client_request_timeouts_total"]);
  const [table] = hitsOf("orders", known);
  assert.deepEqual(table.path, ["tables", "shop", "sales", "orders"]);
  const [metric] = hitsOf("request_timeouts", known);
  assert.deepEqual(metric.path, ["explore"]);
  assert.match(metric.params.expr, /rate\(cassandra_client_request_timeouts_total\[5m\]\)/);
});

test("nothing is found where nothing is like it, and before anything has come", () => {
  assert.deepEqual(names("zebra"), []);
  assert.deepEqual(names("  "), []);
  assert.deepEqual(names("shop", {}), []);
});

test("tables are asked for by what was typed, which is text and no expression", () => {
  assert.equal(tablesLike("o"), null);
  assert.equal(tablesLike("two words"), null);
  assert.match(tablesLike("orders"), /\{table=~"\(\?i\)\.\*orders\.\*"\}/);
  assert.match(tablesLike("sales.or"), /keyspace=~"\(\?i\)\.\*sales",table=~"\(\?i\)or\.\*"/);
  assert.ok(tablesLike('a"}[').includes(String.raw`(?i).*a\"\\}\\[.*`), tablesLike('a"}['));
});
