// Lanes of events, outdated clients, and events of several answers.
import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./build.mjs";

const { lanesOf, moved, summary } = await load("lane.ts");
const { outdated, versions } = await load("outdated.ts");
const { merged, sinceOf } = await load("log.ts");

const event = (id, secs, kind, severity = "info") => ({
  ...{ id: String(id), kind, severity, text: "", cluster: "c", node: "n", name: "" },
  at: new Date(secs * 1000).toISOString(),
});

test("lanes: the most severe on top, few of them, nothing outside of the time", () => {
  const list = [
    event(1, 10, "start"),
    event(2, 20, "slow_query", "warning"),
    event(3, 30, "error", "error"),
    event(4, 40, "unheard_of"),
    event(5, 50, "schema"),
    event(6, 101, "stop", "error"),
  ];
  const lanes = lanesOf(list, { from: 0, to: 100 }, 50, 4);
  assert.deepEqual(
    lanes.map((l) => l.name),
    ["error", "slow query", "start", "others"],
  );
  assert.deepEqual(lanes[3].kinds, ["schema", "unheard_of"]);
  assert.deepEqual([...lanes[0].bars.keys()], [15]);
  assert.match(summary(lanes), /^Events: error 1, slow query 1, start 1, others 2\./);
});

test("keys go through bars and lanes, and stay at the ends", () => {
  const list = [
    event(1, 10, "error", "error"),
    event(2, 90, "error", "error"),
    event(3, 80, "stop"),
  ];
  const lanes = lanesOf(list, { from: 0, to: 100 }, 100);
  assert.deepEqual(moved(lanes, null, "End"), { lane: 0, at: 90 });
  assert.deepEqual(moved(lanes, { lane: 0, at: 90 }, "ArrowLeft"), { lane: 0, at: 10 });
  assert.deepEqual(moved(lanes, { lane: 0, at: 10 }, "ArrowLeft"), { lane: 0, at: 10 });
  assert.deepEqual(moved(lanes, { lane: 0, at: 90 }, "ArrowDown"), { lane: 1, at: 80 });
  assert.equal(moved([], null, "End"), null);
});

test("versions are in the order of their numbers", () => {
  const list = ["4.10.0", "4.0.0", "4.9.1", "4.0.0-beta2", "4.10.0-rc1", "v3.2"];
  assert.deepEqual(list.sort(versions), [
    ...["v3.2", "4.0.0-beta2", "4.0.0", "4.9.1", "4.10.0-rc1", "4.10.0"],
  ]);
});

test("a client is outdated beside a newer one of its driver, or by its protocol", () => {
  const client = (driver, driver_version, protocol = "5") => ({ driver, driver_version, protocol });
  const list = [
    client("java", "4.9.0"),
    client("java", "4.17.0"),
    client("go", "1.0.0", "4"),
    client("python", "3.29.0"),
    client("odd", "of no number"),
    client("odd", "1"),
    client("", ""),
  ];
  const found = outdated(list);
  assert.deepEqual(found.get(list[0]), ["others use version 4.17.0 of this driver"]);
  assert.deepEqual(found.get(list[2]), ["Cassandra speaks protocol 5"]);
  assert.equal(found.size, 2);
});

test("an event that comes twice is one, and one that comes late stands at its time", () => {
  const list = [event("c", 30, "start"), event("a", 10, "start")];
  assert.equal(merged(list, [event("c", 30, "start")]), list);
  const ids = merged(list, [event("b", 20, "start"), event("d", 40, "stop")]).map((e) => e.id);
  assert.deepEqual(ids, ["d", "c", "b", "a"]);
  const twice = merged(list, [event("e", 50, "stop"), event("e", 50, "stop")]).map((e) => e.id);
  assert.deepEqual(twice, ["e", "c", "a"]);
});

test("a change of the schema is one line, whatever the answers know of it", () => {
  const by = (at, ...ids) => {
    const [id, ...also] = ids;
    return { ...event(id, at, "schema"), nodes: ids.length, ...(also.length > 0 && { also }) };
  };
  const shown = (list) => list.map((e) => [e.id, e.nodes, ...(e.also ?? [])].join(" "));
  const list = [by(30, "b", "c")];
  assert.equal(merged(list, [by(45, "c")]), list); // b is not in the answer any more
  assert.deepEqual(shown(merged(list, [by(45, "c", "d")])), ["b 3 c d"]);
  assert.deepEqual(shown(merged(list, [by(20, "a", "b", "c")])), ["a 3 b c"]);
  assert.deepEqual(shown(merged(list, [by(30, "b", "c"), by(60, "e")])), ["e 1", "b 2 c"]);
  // of two changes neither becomes the other's
  const two = [by(40, "d", "e"), by(30, "b", "c")];
  assert.equal(merged(two, [by(35, "c", "d")]), two);
});

test("newer events are asked for from far enough back for late ones, not before a list", () => {
  const now = 1_000_000;
  const since = (list, older) => Date.parse(sinceOf(list, older, now * 1000)) / 1000 - now;
  const ago = (secs) => event("x", now - secs, "start");
  assert.equal(since([], false), -300);
  assert.equal(since([ago(3600)], false), -3900);
  assert.equal(since([ago(-600), ago(7200)], false), -300); // a clock is ahead
  assert.equal(since([ago(60), ago(120)], true), -120);
  assert.equal(since([ago(60), ago(3600)], true), -360);
});
