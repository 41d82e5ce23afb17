// The time in which Ringwatch itself was away is drawn as that, on every chart.
import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./build.mjs";

const { awayIn, awayMarks, awayText, saidAt } = await load("away.ts");

const at = (secs) => new Date(secs * 1000).toISOString();
const list = [{ from: at(100), to: at(200) }, { from: at(950), to: at(1330) }, { from: at(1900) }];

test("only the times within the range are drawn", () => {
  const range = { from: 1000, to: 2000 };
  assert.deepEqual(awayMarks(awayIn(list, range), range), [
    { at: 1000, until: 1330, kind: "away", text: "Ringwatch was away for 6 min 20 s" },
    { at: 1900, until: 2000, kind: "away", text: "Ringwatch is away" },
  ]);
  assert.deepEqual(awayIn(list, { from: 300, to: 900 }), []);
});

test("who points at such a time is told", () => {
  const range = { from: 0, to: 2000 };
  const marks = [
    { at: 1000, kind: "restart", text: "a was started" },
    ...awayMarks(awayIn(list, range), range),
  ];
  assert.equal(saidAt(marks, 150), "Ringwatch was away for 1 min 40 s");
  assert.equal(saidAt(marks, 1000), "Ringwatch was away for 6 min 20 s");
  assert.equal(saidAt(marks, 1950), "Ringwatch is away");
  assert.equal(saidAt(marks, 500), "");
  assert.equal(awayText({ from: 0, to: null }), "Ringwatch is away");
});
