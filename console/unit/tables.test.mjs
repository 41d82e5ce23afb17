// How the figures of tables are asked for.
import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./build.mjs";

globalThis.localStorage ??= { getItem: () => null, setItem: () => {} };

const { byNode, figures, listOf, mostYoung, nowOf, ofYounger, youngOf } = await load("tables.ts");

const reads = figures.find((f) => f.id === "reads");
const counted = 'cassandra_table_read_latency_seconds_count{cluster="c"}[300s]';

test("a rate of now is over a table's own time if that is shorter than five minutes", () => {
  assert.equal(
    nowOf(reads, 'cluster="c"', "keyspace, table"),
    `sum by (keyspace, table) (increase(${counted})) / ` +
      `clamp_max(time() - min by (keyspace, table) (ts_of_first_over_time(${counted})) + 5, 300)`,
  );
  for (const asked of [listOf("c", 3, false), listOf("c", 3, true)]) {
    for (const [i, f] of figures.entries()) {
      assert.equal(asked[i].includes("ts_of_first"), ["reads", "writes"].includes(f.id), f.id);
    }
  }
});

test("what rules recorded answers of large clusters; a chart's rates are over its window", () => {
  assert.match(listOf("c", 51, false)[0], /^max by \(keyspace, table\) \(table:/);
  assert.ok(!byNode(reads, 'cluster="c"', 300, 3, 20).includes("ts_of_first"));
});

test("a large cluster: a table younger than recorded rates is asked of its nodes", () => {
  const name = "table:cassandra_table_read_latency_seconds:rate5m";
  const by = "max by (keyspace, table)";
  assert.equal(
    youngOf("c"),
    `${by} (${name}{cluster="c"}) unless ${by} (${name}{cluster="c"} offset 300s)`,
  );
  const young = [
    { keyspace: "shop", table: "orders" },
    { keyspace: "shop", table: "a.b" },
  ];
  for (const system of [false, true]) {
    const asked = listOf("c", 51, system, young);
    const where = 'cluster="c",node!="",keyspace=~"shop",table=~"a\\\\.b|orders"';
    const own = nowOf(reads, 'cluster="c",node!="",keyspace=~"system(_.*)?"', "keyspace, table");
    assert.equal(
      asked[0],
      `(${nowOf(reads, where, "keyspace, table")} or ${by} (${name}{cluster="c"})` +
        `${system ? ` or ${own}` : ""})`,
    );
    // Quantiles of few requests are no lower for that.
    for (const [i, f] of figures.entries()) {
      assert.equal(asked[i].includes("orders"), ["reads", "writes"].includes(f.id), f.id);
    }
  }
  const many = Array.from({ length: mostYoung + 1 }, (_, i) => ({ keyspace: "k", table: `t${i}` }));
  assert.deepEqual(listOf("c", 51, false, many), listOf("c", 51, false));
  assert.deepEqual(listOf("c", 50, false, young), listOf("c", 50, false));
});

test("the page says which rates are too low, and since when", () => {
  assert.equal(ofYounger(mostYoung), "of a younger table, over its own time");
  assert.match(ofYounger(1200, 1_800_000_000), /^1,200 tables .* after \d\d:5\d:\d\d, .* too low/);
});
