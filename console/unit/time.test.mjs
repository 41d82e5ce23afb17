// Times that people choose, and links that keep them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./build.mjs";

globalThis.window ??= globalThis;
globalThis.localStorage ??= { getItem: () => null, setItem: () => {} };
globalThis.location ??= { hash: "", href: "http://ringwatch:9470/#/explore?range=1h&expr=up" };

const { fieldOf, linkOf, rangeOf, secondsOf } = await load("time.ts");
const { place } = await load("place.ts");

test("a copied link shows the time that was shown, whenever it is opened", () => {
  globalThis.location = {
    hash: "#/explore?range=1h&expr=up%7Ba%3D%22%23%22%7D&expr=down",
    href: "http://ringwatch:9470/#/explore?range=1h&expr=up%7Ba%3D%22%23%22%7D&expr=down",
  };
  const at = place();
  const now = 1_764_288_007;
  const { from, to } = rangeOf(at, now);
  const link = linkOf(at, now);
  assert.ok(link.startsWith("http://ringwatch:9470/#/explore?"), link);
  const params = new URLSearchParams(link.split("?")[1]);
  assert.equal(params.get("range"), null);
  assert.deepEqual(params.getAll("expr"), ['up{a="#"}', "down"]);
  const later = rangeOf({ path: [], params }, now + 86_400);
  assert.deepEqual([later.from, later.to, later.live], [from, to, false]);
});

test("a time goes through a form's field and comes back, in UTC and in local time", () => {
  assert.equal(fieldOf(1_764_288_007, true), "2025-11-28T00:00:07");
  for (const isUTC of [true, false]) {
    assert.equal(secondsOf(fieldOf(1_764_288_007, isUTC), isUTC), 1_764_288_007);
    assert.ok(Number.isNaN(secondsOf("", isUTC)));
  }
});
