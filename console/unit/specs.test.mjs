// What the charts of a cluster ask, and what their captions say of it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./build.mjs";

globalThis.window ??= globalThis;
globalThis.localStorage ??= { getItem: () => null, setItem: () => {} };
globalThis.location ??= { hash: "" };

const { clusterSpecs } = await load("specs.ts");
const { intervalOf, overOf, rangeOf, stepText, stepTitle, windowOf } = await load("time.ts");

const latency = "cassandra_client_request_latency_seconds";
const recorded = new Set(
  ["rate5m", "p50_5m", "p95_5m", "p99_5m"].map((op) => `cluster_request:${latency}:${op}`),
);
const rangeFor = (name) => rangeOf({ path: [], params: new URLSearchParams({ range: name }) });
const specsOf = (range, nodes = 3) => clusterSpecs(recorded, nodes, rangeFor(range), 5, "");
const ofRules = (spec) => spec.asks.some(([expr]) => expr.includes("cluster_request:"));

test("charts of now ask the nodes, also where rules have recorded rates over five minutes", () => {
  for (const range of ["15m", "1h", "6h"]) {
    for (const spec of specsOf(range)) {
      assert.ok(!ofRules(spec), `${spec.title} over ${range}`);
      assert.doesNotMatch(spec.note ?? "", /record/);
    }
  }
});

test("what comes from recorded rates says so, and what a p99 is over", () => {
  const notes = { "24h": /recorded over 5 min each/, "30d": /recorded 5 min/ };
  for (const [range, note] of Object.entries(notes)) {
    const specs = specsOf(range).filter(ofRules);
    const titles = specs.map((s) => s.title);
    assert.deepEqual(titles, ["Requests", "Read latency", "Write latency"]);
    for (const spec of specs) assert.match(spec.note, note);
  }
  // So many nodes are not asked one by one.
  assert.ok(specsOf("1h", 1000).some(ofRules));
  assert.match(specsOf("1h", 1000).find(ofRules).note, /recorded over 5 min each/);
});

test("a rate is over four frames at least, and over the step where that is longer", () => {
  const nodes = (...seconds) => seconds.map((s) => ({ state: "up", interval_ms: 1000 * s }));
  assert.equal(windowOf(rangeFor("15m"), intervalOf(nodes(5))), 20);
  assert.equal(windowOf(rangeFor("15m"), intervalOf(nodes(5, 60))), 240);
  assert.equal(windowOf(rangeFor("15m"), intervalOf([])), 80);
  const paused = [...nodes(5), { state: "paused", interval_ms: 60_000 }];
  assert.equal(windowOf(rangeFor("15m"), intervalOf(paused)), 20);
  assert.equal(windowOf(rangeFor("30d"), intervalOf(nodes(5))), rangeFor("30d").step);
});

test("a caption says how far points are apart, and over what each is", () => {
  assert.equal(overOf("sum(rate(a[20s])) / sum(rate(b[80s]))"), 80);
  assert.equal(overOf("sum(a)"), undefined);
  assert.equal(stepText(10, 20), "10 s, over 20 s");
  assert.equal(stepText(10), "10 s");
  assert.equal(stepText(600, 600), "10 min");
  assert.equal(stepTitle("point", 600, 600), "A point each 10 min, of the 10 min before it");
});
