// Which nodes of the fleet stand first.
import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./build.mjs";

globalThis.window ??= globalThis;
globalThis.localStorage ??= { getItem: () => null, setItem: () => {} };
globalThis.location ??= { hash: "", origin: "", protocol: "http:", hostname: "" };
globalThis.addEventListener ??= () => {};
globalThis.document ??= { addEventListener: () => {}, documentElement: { dataset: {} } };
globalThis.matchMedia ??= () => ({ matches: false, addEventListener: () => {} });

const { worthOf, cellOf, firingOf } = await load("node-rows.ts");
const { stateOf, Values } = await load("head.tsx");
const { newNodes } = await load("pages/add.tsx");
const { lastOf } = await load("kinds.ts");
const { readFindings } = await load("reads.ts");

const alert = (state, severity) => ({ state, labels: { severity } });
const row = (more = {}, node = {}) => ({
  node: { state: "up", facts: {}, ...node },
  kind: "cassandra",
  alerts: [],
  ...{ read: NaN, write: NaN, disk: NaN, cpu: NaN, value: NaN },
  ...more,
});

test("pending alerts stand above nothing, and limits never above what fires", () => {
  const pending = Array.from({ length: 200 }, () => alert("pending", "critical"));
  assert.equal(worthOf(row({ alerts: pending })), worthOf(row()));
  assert.equal(firingOf(pending).length, 0);
  const fires = row({ alerts: [alert("firing", "info")] });
  const full = row({ disk: 100, cpu: 100, read: 9, write: 9, alerts: pending });
  assert.ok(worthOf(fires) > worthOf(full));
  assert.ok(worthOf(full) > worthOf(row()));
});

test("the last value of a silent node is dated, and not said to be ill", () => {
  const values = { value: 99 };
  const healthy = { max: 90 };
  const last = { last_seen: "2026-11-27T10:00:00Z", state: "down" };
  const { text } = cellOf(row(values, last), "CPU", "percent", healthy);
  assert.equal(text, "down, CPU 99 % as of 2026-11-27 10:00:00");
  assert.match(cellOf(row(values), "CPU", "percent", healthy).text, /not healthy/);
  // What does not answer its reader, while the reader sends, is not silent.
  const read = { ...last, facts: { job: "x" }, age_seconds: 3 };
  assert.match(cellOf(row(values, read), "CPU", "percent", healthy).text, /not healthy/);
});

test("a paused node stands behind what is late, and before those that are well", () => {
  const of = (state) => worthOf(row({}, { state }));
  assert.ok(of("down") > of("late") && of("late") > of("paused") && of("paused") > of("up"));
  const limits = worthOf(row({ disk: 100, cpu: 100, read: 9, write: 9 }));
  assert.ok(of("paused") > limits);
});

test("a paused node says so, since when, and that no alert is about it", () => {
  const node = { ...row().node, state: "paused", paused_since: "2026-11-28T08:15:00.000Z" };
  const [finding, ...more] = stateOf(node);
  assert.equal(more.length, 0);
  assert.equal(finding.severity, "warning");
  assert.match(finding.text, /since 2026-11-28 08:15:00.*no alert is about it/);
  // Nothing is missing of it: it is no news on the page that waits for a new node.
  assert.equal(
    newNodes(new Map([["a", "paused"]]), [{ id: "a", state: "up", last_seen: "x" }]).length,
    0,
  );
});

test("of a silent node the last values are dated, and what was read last is no finding", () => {
  const node = (more) => ({ id: "n", address: "r1:6379", facts: { job: "redis" }, ...more });
  const gone = node({ state: "down", last_seen: "2026-11-27T10:00:00Z", age_seconds: 600 });
  const unread = node({ state: "down", last_seen: "2026-11-27T10:00:00Z", age_seconds: 4 });
  assert.equal(lastOf(gone), "as of 2026-11-27 10:00:00");
  assert.equal(lastOf(unread), "");
  assert.equal(lastOf(node({ state: "up" })), "");
  const paused = node({ state: "paused", paused_since: "2026-11-28T08:15:00Z", age_seconds: 2 });
  assert.equal(lastOf(paused), "as of 2026-11-28 08:15:00");
  const reads = new Map([["n", { up: 0, took: 1, samples: 1, errors: ["It refuses."] }]]);
  assert.equal(readFindings(reads, [gone]).length, 0);
  assert.equal(readFindings(reads, [unread])[0].name, "r1:6379 does not answer");
  const text = (of) => JSON.stringify(Values({ of, children: "7 keys" }));
  assert.match(text(gone), /as of 2026-11-27 10:00:00/);
  assert.doesNotMatch(text(unread), /as of/);
});
