// Silences in words, their times, and what they are about.
import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./build.mjs";

globalThis.window ??= globalThis;
globalThis.localStorage ??= { getItem: () => null, setItem: () => {} };
globalThis.location ??= { hash: "", href: "http://ringwatch:9470/" };

const quiet = await load("quiet.ts");
const { maintenanceOf } = await load("maintenance.ts");
const is = (name, value) => ({ name, value, isRegex: false, isEqual: true });
const like = (name, value) => ({ name, value, isRegex: true, isEqual: true });
const not = (m) => ({ ...m, isEqual: false });

test("conditions in words", () => {
  const names = new Map([["a1", "db-3"]]);
  const words = (...list) => quiet.inWords(list, names);
  assert.equal(words(), "all alerts");
  assert.equal(words(is("cluster", "shop")), "all alerts in cluster shop");
  assert.equal(
    words(is("cluster", "shop"), is("node", "a1"), is("alertname", "NodeDiskFull")),
    "NodeDiskFull of node db-3 in cluster shop",
  );
  assert.equal(words(is("node", "b2")), "all alerts of node b2");
  assert.equal(
    words(not(is("severity", "critical")), like("cluster", "shop|till"), is("rack", "")),
    "all alerts whose severity is not critical and whose cluster is like shop|till " +
      "and whose rack is empty",
  );
  assert.equal(words({ name: "node", value: "a1", isRegex: false }), "all alerts of node db-3");
});

test("a target's conditions leave out what it has not", () => {
  assert.deepEqual(quiet.matchersOf({ cluster: "shop", node: "", alert: "A" }), [
    is("alertname", "A"),
    is("cluster", "shop"),
  ]);
  assert.deepEqual(quiet.matchersOf({}), []);
});

test("conditions hold as Alertmanager's do", () => {
  const labels = { cluster: "shop", node: "a1" };
  assert.ok(quiet.holds(is("cluster", "shop"), labels));
  assert.ok(quiet.holds({ name: "cluster", value: "shop", isRegex: false }, labels));
  assert.ok(!quiet.holds(not(is("cluster", "shop")), labels));
  assert.ok(quiet.holds(is("rack", ""), labels), "no label is an empty one");
  assert.ok(quiet.holds(like("node", "a."), labels));
  assert.ok(!quiet.holds(like("cluster", "sho"), labels), "a pattern is of the whole value");
  assert.ok(!quiet.holds(like("cluster", "("), labels));
});

test("what nothing narrows is wide", () => {
  for (const list of [
    [],
    [is("rack", "")],
    [like("alertname", ".*")],
    [like("alertname", ".+"), not(is("cluster", "shop"))],
    [not(like("node", "a.*"))],
  ]) {
    assert.ok(quiet.isWide(list), JSON.stringify(list));
  }
  for (const list of [[is("cluster", "shop")], [like("node", "a.*")], [like("x", "(?i)a")]]) {
    assert.ok(!quiet.isWide(list), JSON.stringify(list));
  }
});

test("comparisons go to words and back", () => {
  for (const m of [is("a", "b"), like("a", "b"), not(is("a", "b")), not(like("a", "b"))]) {
    assert.deepEqual(quiet.comparing(is("a", "b"), quiet.comparisonOf(m)), m);
  }
});

test("a length ends where it says, tomorrow at 9:00 of the clock that is shown", () => {
  const now = Date.parse("2026-12-31T22:30:00Z") / 1000;
  assert.equal(quiet.endOf("1h", "", now, true), now + 3600);
  assert.equal(quiet.endOf("4h", "", now, true), now + 14_400);
  assert.equal(quiet.endOf("tomorrow", "", now, true), Date.parse("2027-01-01T09:00Z") / 1000);
  const local = new Date(quiet.endOf("tomorrow", "", now, false) * 1000);
  assert.deepEqual([local.getHours(), local.getMinutes()], [9, 0]);
  assert.equal(
    quiet.endOf("at", "2027-02-03T04:05", now, true),
    Date.parse("2027-02-03T04:05Z") / 1000,
  );
  assert.ok(Number.isNaN(quiet.endOf("at", "", now, true)));
});

test("a time of today has no date", () => {
  const now = Date.parse("2026-11-28T13:00:00Z") / 1000;
  assert.equal(quiet.soon(now + 3600, now, true), "14:00");
  assert.equal(quiet.soon(now + 86_400, now, true), "2026-11-29 13:00");
});

test("a comment says maintenance", () => {
  assert.deepEqual(quiet.reasonOf({ comment: "maintenance: restart" }), [true, "restart"]);
  assert.deepEqual(quiet.reasonOf({ comment: "a disk" }), [false, "a disk"]);
});

test("a silence is about a node, its cluster, or neither", () => {
  const about = (list, nodes = ["a1"]) => quiet.isAbout({ matchers: list }, "shop", nodes);
  assert.ok(about([is("cluster", "shop")]));
  assert.ok(about([is("node", "a1"), is("alertname", "A")]));
  assert.ok(about([is("node", "a1")], ["b2", "a1"]), "a node of the cluster");
  assert.ok(about([like("cluster", "shop|till")]));
  assert.ok(!about([is("cluster", "till")]));
  assert.ok(!about([is("cluster", "shop"), is("node", "b2")]), "another node's");
  assert.ok(!about([is("alertname", "A")]), "of all clusters");
  assert.ok(!about([not(is("cluster", "till"))]));
});

test("an alert is quiet by its labels, whatever account the receivers are told", async () => {
  const { quietOf } = await load("silences.ts");
  const silence = { id: "s", matchers: [is("alertname", "A")] };
  const alert = (labels, silencedBy, inhibitedBy) => ({
    labels,
    fingerprint: labels.alertname,
    status: { state: "suppressed", silencedBy, inhibitedBy },
  });
  const of = quietOf(
    [silence],
    [
      alert({ alertname: "A", account: "x", node: "a1" }, ["s"], []),
      alert({ alertname: "B" }, [], ["f", "gone"]),
    ],
    new Map([["f", { alertname: "C" }]]),
  ).of;
  assert.deepEqual(of({ node: "a1", alertname: "A" }), { silences: [silence], alerts: [] });
  assert.deepEqual(of({ alertname: "B" }), { silences: [], alerts: [{ alertname: "C" }] });
  assert.equal(of({ alertname: "A" }), undefined);
});

test("charts mark the maintenance of a cluster and its nodes", () => {
  const silence = (comment, matchers, from, to) => ({
    ...{ comment, matchers, createdBy: "ann" },
    startsAt: new Date(from * 1000).toISOString(),
    endsAt: new Date(to * 1000).toISOString(),
  });
  const list = [
    silence("maintenance: a new disk", [is("cluster", "shop"), is("node", "a1")], 50, 150),
    silence("it is noisy", [is("node", "a1")], 100, 200),
    silence("maintenance: of another", [is("cluster", "bank")], 100, 200),
    silence("maintenance:", [is("node", "b2")], 190, 300),
    silence("maintenance: over before", [is("node", "a1")], 10, 90),
  ];
  const marks = maintenanceOf(list, "shop", ["a1", "b2"], { from: 100, to: 200 });
  assert.deepEqual(marks, [
    { at: 100, until: 150, kind: "maintenance", text: "Maintenance by ann: a new disk" },
    { at: 190, until: 200, kind: "maintenance", text: "Maintenance by ann" },
  ]);
});
