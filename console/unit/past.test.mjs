// What fired in the last days and whom it woke, by alert and day.
import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./build.mjs";

globalThis.window ??= globalThis;
globalThis.localStorage ??= { getItem: () => null, setItem: () => {} };
globalThis.location ??= { hash: "", href: "http://ringwatch:9470/" };

const past = await load("past.ts");
const at = (text) => Date.parse(text) / 1000;
const now = at("2026-11-28T17:30:00Z");

test("the last 30 days, of UTC and of a clock that changes", () => {
  const days = past.lastDays(now, true);
  assert.equal(days.length, 30);
  assert.deepEqual(days.at(-1), {
    begin: at("2026-11-28T00:00:00Z"),
    end: at("2026-11-29T00:00:00Z"),
    date: "2026-11-28",
  });
  assert.equal(days[0].date, "2026-10-30");
  for (let i = 1; i < days.length; i++) assert.equal(days[i].begin, days[i - 1].end);
  // In Berlin the clock was put back on October 25th, which has 25 hours.
  process.env.TZ = "Europe/Berlin";
  const local = past.lastDays(at("2026-11-10T23:30:00Z"), false);
  assert.equal(local.at(-1).date, "2026-11-11");
  const long = local.find((d) => d.date === "2026-10-25");
  assert.equal(long.end - long.begin, 25 * 3600);
  process.env.TZ = "UTC";
});

test("a night is from 22:00 to 7:00", () => {
  for (const [time, night] of [
    ["21:59:59", false],
    ["22:00:00", true],
    ["06:59:59", true],
    ["07:00:00", false],
  ]) {
    assert.equal(past.isNight(at(`2026-11-28T${time}Z`), true), night, time);
  }
});

const message = (time, status, names, more = {}) => ({
  at: time,
  receiver: "on-call",
  integration: "email",
  status,
  group: {},
  alerts: names.map((alertname) => ({ status, labels: { alertname, cluster: "shop" } })),
  tries: 1,
  ...more,
});

test("hours and messages are counted by alert and day", () => {
  const days = past.lastDays(now, true);
  const hour = (text) => [at(text), "1"];
  const series = [
    {
      metric: { alertname: "NodeDown", severity: "warning", cluster: "shop" },
      // the hour that ends at midnight belongs to the day before
      values: [hour("2026-11-28T00:00:00Z"), hour("2026-11-28T01:00:00Z")],
    },
    {
      metric: { alertname: "NodeDown", severity: "critical", cluster: "bank" },
      values: [hour("2026-11-28T01:00:00Z"), hour("2026-11-28T02:00:00Z")],
    },
  ];
  const messages = [
    message("2026-11-28T02:00:00Z", "firing", ["NodeDown", "NodeDown"]),
    message("2026-11-28T09:00:00Z", "firing", ["NodeDown", "Slow"]),
    message("2026-11-28T10:00:00Z", "resolved", ["NodeDown"]),
    message("2026-11-28T11:00:00Z", "firing", ["NodeDown"], { error: "status 500" }),
    message("2026-10-01T11:00:00Z", "firing", ["NodeDown"]),
  ];
  const [down, slow, ...rest] = past.calendarOf(series, messages, days, true);
  assert.equal(rest.length, 0);
  assert.deepEqual(
    [down.alert, down.severity, down.hours, down.told, down.night],
    ["NodeDown", "critical", 3, 2, 1],
  );
  assert.deepEqual(down.cells.at(-2), { hours: 1, told: 0, night: 0 });
  assert.deepEqual(down.cells.at(-1), { hours: 2, told: 2, night: 1 });
  assert.deepEqual([slow.alert, slow.hours, slow.told], ["Slow", 0, 1]);
  const [bank] = past.calendarOf(series, messages, days, true, "bank");
  assert.deepEqual([bank.hours, bank.told], [2, 0]);
});

test("spells: pending, fired, again", () => {
  const labels = { __name__: "ALERTS", alertname: "Slow", node: "a" };
  const values = (...list) => list.map((t) => [t, "1"]);
  const spells = past.spellsOf(
    [
      { metric: { ...labels, alertstate: "pending" }, values: values(60, 120, 600) },
      { metric: { ...labels, alertstate: "firing" }, values: values(180, 240) },
    ],
    60,
  );
  const named = { alertname: "Slow", node: "a" };
  assert.deepEqual(spells, [
    { labels: named, since: 600, fired: NaN, until: 600 },
    { labels: named, since: 60, fired: 180, until: 240 },
  ]);
});
