// The names of lanes of events stand whole where there is room, and never squeezed.
import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./build.mjs";

const { roomFor, shortened } = await load("lane.ts");
const measure = (text) => 6 * text.length;

test("lanes that stand alone have room for the longest name", () => {
  assert.equal(roomFor(["stop", "others"], measure, 1200), 64);
  assert.equal(roomFor(["cassandra config changed"], measure, 1200), 6 * 24 + 8);
  assert.equal(roomFor(["x".repeat(100)], measure, 380), 152);
});

test("a name that has no room ends with an ellipsis", () => {
  assert.equal(shortened("tombstones", 60, measure), "tombstones");
  assert.equal(shortened("large partition", 60, measure), "large par…");
  assert.equal(shortened("large partition", 42, measure), "large…");
});
