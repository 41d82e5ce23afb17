// How it stands with the repairs of a table.
import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./build.mjs";

globalThis.window ??= globalThis;
globalThis.localStorage ??= { getItem: () => null, setItem: () => {} };
globalThis.location ??= { hash: "", origin: "", protocol: "http:", hostname: "" };
globalThis.addEventListener ??= () => {};
globalThis.document ??= { addEventListener: () => {}, documentElement: { dataset: {} } };
globalThis.matchMedia ??= () => ({ matches: false, addEventListener: () => {} });

const { rowOf, sentenceOf } = await load("repairs.tsx");

const now = Date.parse("2026-11-20T08:00:00Z") / 1000;
const row = (more) => rowOf({ cluster: "c", keyspace: "shop", table: "t", ...more }, now);

test("a table that was repaired incrementally alone was repaired", () => {
  assert.equal(row({}).state, "never");
  const incremental = row({
    last_incremental: "2026-11-19T08:00:00Z",
    due: "2026-11-29T08:00:00Z",
  });
  assert.equal(incremental.state, "well");
  assert.match(sentenceOf(incremental, now), /^shop\.t was repaired incrementally on 2026-11-19/);
  assert.equal(row({ last_incremental: "2026-11-19T08:00:00Z" }).state, "partly");
});
