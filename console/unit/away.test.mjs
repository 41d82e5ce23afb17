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

test("charts that ask within a minute share one answer; a failure is not shared", async () => {
  const { installation } = await load("api.ts");
  let asked = 0;
  let answer = () => new Response(JSON.stringify({ away: [] }));
  globalThis.fetch = async () => {
    asked++;
    return answer();
  };
  const [one, other] = await Promise.all([installation(), installation()]);
  assert.equal(one, other);
  assert.equal(await installation(), one);
  assert.equal(asked, 1);
  const real = Date.now;
  Date.now = () => real() + 60_000;
  try {
    assert.notEqual(await installation(), one);
    assert.equal(asked, 2);
    Date.now = () => real() + 120_000;
    answer = () => new Response("{}", { status: 503 });
    await assert.rejects(installation());
    answer = () => new Response(JSON.stringify({ away: [] }));
    await installation();
    assert.equal(asked, 4);
  } finally {
    Date.now = real;
  }
});
