// How nodes and series are called, and that a line keeps its look.
import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./build.mjs";

const { nameOf } = await load("kinds.ts");
const { nameOfSeries } = await load("watch.ts");
const { seriesName } = await load("share.ts");
const { stylesOf } = await load("strokes.ts");

const id = "0b7c1e5e-2f0e-4a52-9c1a-6d1f0f1f2a3b";
const node = (address, facts = {}) => ({ id, address, facts });
const names = new Map([[id, "db-7 (10.0.0.7:7000)"]]);

test("a node is called by its host, then its address, and by its id if nothing is known", () => {
  const cases = [
    ["db-7 (10.0.0.7:7000)", node("10.0.0.7:7000", { hostname: "db-7" })],
    ["10.0.0.7:7000", node("10.0.0.7:7000")],
    ["cache-1:6379", node("cache-1:6379", { hostname: "cache-1" })],
    ["cache-1 (cache-10:6379)", node("cache-10:6379", { hostname: "cache-1" })],
    ["db-7", node("", { hostname: "db-7" })],
    ["web:9100", node("", { instance: "web:9100" })],
    ["db-7 (web:9100)", node("", { hostname: "db-7", instance: "web:9100" })],
    [id, node("")],
  ];
  for (const [want, of] of cases) assert.equal(nameOf(of), want);
});

test("a series of a node has the node's name where it is known, else the whole id", () => {
  const labels = { __name__: "up", cluster: "shop", node: id };
  assert.equal(nameOfSeries(labels, names), "db-7 (10.0.0.7:7000), shop");
  assert.equal(nameOfSeries(labels), `${id}, shop`);
  assert.equal(seriesName(labels, new Set(["cluster"]), names), 'up{node="db-7 (10.0.0.7:7000)"}');
  assert.equal(seriesName(labels, new Set(["cluster"])), `up{node="${id}"}`);
  assert.equal(seriesName({ other: id }, undefined, names), `{other="${id}"}`);
});

const looks = (list, had, beside) => {
  const styles = stylesOf({ names: list, ...(beside && { beside }) }, had);
  return new Map(list.map((name, i) => [name, styles[i].join(" ")]));
};

test("a line keeps its look while others come and go, and when it comes again", () => {
  const had = new Map();
  const all = Array.from({ length: 12 }, (_, i) => `db-${i} (10.0.0.${i}:7000)`);
  const first = looks(all, had);
  assert.equal(new Set(first.values()).size, 12, "no two have the same");
  for (const some of [all.slice(1), all.slice(6).reverse(), [...all, "db-99"], all]) {
    const now = looks(some, had);
    for (const name of some) if (first.has(name)) assert.equal(now.get(name), first.get(name));
  }
});

test("a line has its look in every chart of the same lines, whatever their order", () => {
  const list = ["reads", "writes", "range reads", "p99"];
  const here = looks(list, new Map());
  assert.deepEqual([...looks([...list].reverse(), new Map())].sort(), [...here].sort());
});

test("of the most lines that are drawn no two look the same, also after many others", () => {
  const had = new Map();
  for (let turn = 0; turn < 5; turn++) {
    const list = Array.from({ length: 24 }, (_, i) => `pod-${turn * 17 + i}`);
    assert.equal(new Set(looks(list, had).values()).size, 24);
  }
});

test("a line beside another one has its colour, also if that one is not there", () => {
  const had = new Map();
  const both = looks(["p50", "p50 · before"], had, [null, "p50"]);
  const [colour, dash] = both.get("p50").split(" ");
  assert.equal(dash, "");
  assert.equal(both.get("p50 · before"), `${colour} 6,4`);
  assert.equal(looks(["p50 · before"], had, ["p50"]).get("p50 · before"), `${colour} 6,4`);
});
