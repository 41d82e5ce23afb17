// How the figures of tables are asked for.
import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./build.mjs";

const { byNode, figures, listOf, nowOf } = await load("tables.ts");

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
