// What fired in the last days and whom it woke, by alert and day.
import type { Labels, Series } from "./api";
import type { Message } from "./messages";
import { fieldOf, secondsOf } from "./time";
import { number } from "./units";
import { keyOf } from "./watch";

/** How many days the calendar has. */
export const dayCount = 30;

/** A day of the clock that is shown: from begin to end, in seconds. */
export interface Day {
  begin: number;
  end: number;
  date: string; // 2026-11-28
}

/** The last days, the oldest first, today included. */
export function lastDays(now: number, isUTC: boolean): Day[] {
  const date = (secs: number) => fieldOf(secs, isUTC).slice(0, 10);
  // Noon of a day is in it, whatever the clock does at night.
  const noon = secondsOf(`${date(now)}T12:00:00`, isUTC);
  const at = (n: number) => secondsOf(`${date(noon + n * 86_400)}T00:00:00`, isUTC);
  return Array.from({ length: dayCount }, (_, i) => {
    const n = i + 1 - dayCount;
    return { begin: at(n), end: at(n + 1), date: date(noon + n * 86_400) };
  });
}

/** Whether a time is at night: from 22:00 to 7:00 of the clock that is shown. */
export function isNight(secs: number, isUTC: boolean): boolean {
  const hour = Number(fieldOf(secs, isUTC).slice(11, 13));
  return hour >= 22 || hour < 7;
}

/** What an alert did on a day. */
export interface Cell {
  hours: number; // in which it fired, of any node
  told: number; // messages that a receiver took
  night: number; // of these, those at night
}

/** What an alert did in all days. */
export interface Row extends Cell {
  alert: string;
  severity: string; // the worst
  cells: Cell[]; // by day
}

const gravest = ["critical", "error", "warning", "info"];

/** The graver of two severities. */
function graver(a: string, b: string): string {
  const rank = (s: string) => (gravest.includes(s) ? gravest.indexOf(s) : gravest.length);
  return rank(b) < rank(a) ? b : a;
}

/** When a message went out, in seconds. */
export const sentAt = (m: Message): number => Date.parse(m.at) / 1000;

/** The alerts that a message says fire, each name once; of a cluster if one is given. */
function firingIn(m: Message, cluster: string): Labels[] {
  const found = new Map<string, Labels>();
  for (const { status, labels } of m.alerts) {
    if (status !== "firing" || (cluster && labels.cluster !== cluster)) continue;
    found.set(labels.alertname ?? "", labels);
  }
  return [...found.values()];
}

/**
 * Rows by alert, those that were told most first. series has a value at each full hour for what
 * fired in the hour before. messages are what receivers were told; those of ends do not count, nor
 * those that no receiver took.
 */
export function calendarOf(
  series: Series[],
  messages: Message[],
  days: Day[],
  isUTC: boolean,
  cluster = "",
): Row[] {
  const rows = new Map<string, Row>();
  const rowOf = ({ alertname = "", severity = "" }: Labels): Row => {
    const row = rows.get(alertname) ?? {
      ...{ alert: alertname, severity, hours: 0, told: 0, night: 0 },
      cells: days.map(() => ({ hours: 0, told: 0, night: 0 })),
    };
    row.severity = graver(row.severity, severity);
    rows.set(alertname, row);
    return row;
  };
  const hours = new Map<Row, Set<number>>();
  for (const { metric, values } of series) {
    if (cluster && metric.cluster !== cluster) continue;
    const row = rowOf(metric);
    const all = hours.get(row) ?? new Set();
    for (const [at] of values ?? []) all.add(at);
    hours.set(row, all);
  }
  for (const [row, all] of hours) {
    for (const at of all) {
      const n = days.findIndex((d) => d.begin < at && at <= d.end);
      if (n < 0) continue;
      row.hours++;
      row.cells[n]!.hours++;
    }
  }
  for (const m of messages) {
    const n = days.findIndex((d) => d.begin <= sentAt(m) && sentAt(m) < d.end);
    if (n < 0 || m.status !== "firing" || m.error) continue;
    const night = Number(isNight(sentAt(m), isUTC));
    for (const labels of firingIn(m, cluster)) {
      const row = rowOf(labels);
      for (const of of [row, row.cells[n]!]) {
        of.told++;
        of.night += night;
      }
    }
  }
  return [...rows.values()]
    .filter((r) => r.hours > 0 || r.told > 0)
    .sort((a, b) => b.told - a.told || b.hours - a.hours || a.alert.localeCompare(b.alert));
}

/** A time in which an alert was pending or fired without a pause, in seconds. */
export interface Spell {
  labels: Labels; // without alertstate
  since: number; // when it was first pending or fired
  fired: number; // when it first fired; NaN: it never did
  until: number; // when it was last seen
}

/** When alerts were pending or fired, of ALERTS with one value for each step; the newest first. */
export function spellsOf(series: Series[], step: number): Spell[] {
  const alerts = new Map<string, { labels: Labels; at: Map<number, boolean> }>();
  for (const { metric, values } of series) {
    const { alertstate, ...labels } = metric;
    delete labels.__name__;
    const id = keyOf(labels);
    const one = alerts.get(id) ?? { labels, at: new Map<number, boolean>() };
    for (const [at, value] of values ?? []) {
      if (number(value) > 0) one.at.set(at, alertstate === "firing" || !!one.at.get(at));
    }
    alerts.set(id, one);
  }
  const spells: Spell[] = [];
  for (const { labels, at } of alerts.values()) {
    let last: Spell | undefined;
    for (const [time, fires] of [...at].sort(([a], [b]) => a - b)) {
      if (!last || time - last.until > 1.5 * step) {
        last = { labels, since: time, fired: NaN, until: time };
        spells.push(last);
      }
      last.until = time;
      if (fires && Number.isNaN(last.fired)) last.fired = time;
    }
  }
  return spells.sort((a, b) => b.since - a.since);
}

/** What the alerts of a message are called: each name once. */
export function namesIn(m: Message): string[] {
  return [...new Set(m.alerts.map((a) => a.labels.alertname ?? ""))];
}
