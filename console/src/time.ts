// The time range that all charts show, and how times are written.
import { useEffect, useState } from "preact/hooks";
import { type Place, setParams } from "./place";

/** What can be chosen, in seconds. */
export const ranges: [string, number][] = [
  ["15m", 900],
  ["1h", 3600],
  ["6h", 6 * 3600],
  ["24h", 86400],
  ["7d", 7 * 86400],
  ["30d", 30 * 86400],
  ["1y", 365 * 86400],
];

/** A range of time in seconds. Live: its end is now. */
export interface Range {
  from: number;
  to: number;
  step: number;
  live: boolean;
}

/** Steps that people know, in seconds. From 300 on, rollups answer. */
const steps = [5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 86400];

/** The step that gives at most points of a span. */
export function stepOf(span: number, points = 360): number {
  return steps.find((s) => span / s <= points) ?? 86400;
}

/** The range that a place names. The ends lie on steps, so that points stay where they are. */
export function rangeOf({ params }: Place, now = Date.now() / 1000): Range {
  const from = Number(params.get("from"));
  const to = Number(params.get("to"));
  if (from > 0 && to > from) {
    return { from, to, step: stepOf(to - from), live: false };
  }
  const named = ranges.find(([name]) => name === params.get("range"))?.[1] ?? 3600;
  const step = stepOf(named);
  const end = Math.floor(now / step) * step;
  return { from: end - named, to: end, step, live: true };
}

/** The address of a place with its time fixed: whoever opens it sees what is shown now. */
export function linkOf(at: Place, now = Date.now() / 1000): string {
  const { from, to } = rangeOf(at, now);
  const params = new URLSearchParams(at.params);
  params.delete("range");
  params.set("from", String(from));
  params.set("to", String(to));
  const path = at.path.map(encodeURIComponent).join("/");
  return `${location.href.replace(/#.*$/s, "")}#/${path}?${params}`;
}

/** A time as a field of a form has it: 2026-11-22T14:05:00. */
export const fieldOf = (secs: number, isUTC: boolean): string =>
  stamp(secs, isUTC).replace(" ", "T");

/** The time in a field of a form, in seconds; NaN if there is none. */
export const secondsOf = (field: string, isUTC: boolean): number =>
  Date.parse(isUTC ? `${field}Z` : field) / 1000;

/** The window that rates look back over: at least four frames of those that send every so many
 *  seconds, so that one of them may be late. */
export function windowOf(range: Range, interval = 20): number {
  return Math.max(range.step, 4 * interval);
}

/** How far the frames of nodes are apart at most, in seconds. Paused ones have no values. */
export function intervalOf(nodes: { interval_ms: number; state: string }[]): number {
  const sending = nodes.filter((n) => n.state !== "paused");
  return Math.max(0, ...sending.map((n) => n.interval_ms)) / 1000 || 20;
}

/** The range as routes of the API take it: while its end is now, by its length. */
export function periodOf({ from, to, live }: Range): Record<string, string> {
  return live ? { period: `${to - from}s` } : { from: String(from), to: String(to) };
}

/** Shows a part of the time only, as somebody marked it. */
export function zoom(from: number, to: number): void {
  setParams({ from: String(Math.floor(from)), to: String(Math.ceil(to)), range: null }, false);
}

const utcName = "ringwatch.utc";
const told = new Set<() => void>();

/** Whether times are UTC; else they are local ones. */
export function utc(): boolean {
  return localStorage.getItem(utcName) !== "no";
}

/** Chooses between UTC and local time. */
export function setUTC(yes: boolean): void {
  localStorage.setItem(utcName, yes ? "yes" : "no");
  for (const tell of told) tell();
}

/** utc, again whenever it changes. */
export function useUTC(): boolean {
  const [now, set] = useState(utc);
  useEffect(() => {
    const tell = () => set(utc());
    told.add(tell);
    return () => void told.delete(tell);
  }, []);
  return now;
}

/** A time, given in seconds, in full: 2026-11-22 14:05:00. */
export function stamp(secs: number, isUTC = utc()): string {
  const d = new Date(secs * 1000);
  if (Number.isNaN(d.getTime())) return "–"; // what comes from outside may be no time
  if (isUTC) return d.toISOString().slice(0, 19).replace("T", " ");
  const two = (n: number) => String(n).padStart(2, "0");
  return (
    `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ` +
    `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`
  );
}

/** The clock of a time: 14:05:00. */
export function clock(secs: number, isUTC = utc()): string {
  return stamp(secs, isUTC).slice(11);
}

/** How often a range is looked at again: each half of a step, but every 5 s to a minute. */
export function refreshOf(range: Range): number {
  return range.live ? Math.min(60_000, Math.max(5_000, range.step * 500)) : 3_600_000;
}

/** The range as it is now. */
export function live(range: Range): Range {
  const to = Math.floor(Date.now() / 1000 / range.step) * range.step;
  return { ...range, to, from: to - (range.to - range.from) };
}

/** A step as people say it: 20 s, 5 min, 1 h. */
export function stepName(step: number): string {
  if (step % 3600 === 0) return `${step / 3600} h`;
  if (step % 60 === 0) return `${step / 60} min`;
  return `${step} s`;
}

/** Over how many seconds the values of an expression are; undefined: each is of its instant. */
export function overOf(expr: string): number | undefined {
  const windows = [...expr.matchAll(/\[(\d+)s\]/g)].map(([, seconds]) => Number(seconds));
  return windows.length > 0 ? Math.max(...windows) : undefined;
}

/** How far points are apart, and over what their values are if that is longer or shorter. */
export function stepText(step: number, over?: number): string {
  return over && over !== step ? `${stepName(step)}, over ${stepName(over)}` : stepName(step);
}

/** The same as a sentence. */
export function stepTitle(each: string, step: number, over?: number): string {
  const text = `A ${each} each ${stepName(step)}`;
  return over ? `${text}, of the ${stepName(over)} before it` : text;
}
