// When charts ask again.
import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./build.mjs";

const { same } = await load("data.ts");

test("a chart asks again for a new step, for what was missing, and after a minute", () => {
  const drawn = (warnings = []) => ({
    answer: { result: [], warnings },
    range: { from: 0, to: 3600, step: 10, live: true },
    at: 3601_000,
  });
  assert.equal(same(drawn(), 3600, 3606_000), true);
  assert.equal(same(drawn(), 3610, 3611_000), false);
  assert.equal(same(drawn(["a node was not read"]), 3600, 3606_000), false);
  assert.equal(same(drawn(), 3600, 3661_000), false);
});
