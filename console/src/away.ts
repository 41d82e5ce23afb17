// When Ringwatch itself was away: what is missing then no node is to blame for.
import type { Installation } from "./api";
import { length } from "./units";

/** A time in which nobody could have heard of a node. */
export interface Away {
  from: number; // seconds
  to: number | null; // seconds; null: it lasts
}

/** Those of the server's answer that lie in a range, the oldest first. */
export function awayIn(list: Installation["away"], range: { from: number; to: number }): Away[] {
  return list
    .map(({ from, to }) => ({
      from: Date.parse(from) / 1000,
      to: to === undefined ? null : Date.parse(to) / 1000,
    }))
    .filter((a) => a.from <= range.to && (a.to ?? range.to) >= range.from);
}

/** What a chart says of it. */
export function awayText({ from, to }: Away): string {
  return to === null ? "Ringwatch is away" : `Ringwatch was away for ${length(to - from)}`;
}

/** A time that charts shade, with what is said of it. */
interface Shaded {
  at: number; // seconds
  until?: number; // seconds; an instant has none
  text: string;
}

/** Marks of the times in which Ringwatch was away, each within the range. */
export function awayMarks(list: Away[], range: { from: number; to: number }) {
  return list.map((a) => ({
    at: Math.max(a.from, range.from),
    until: Math.min(a.to ?? range.to, range.to),
    kind: "away" as const,
    text: awayText(a),
  }));
}

/** What is said of an instant: that nobody could have heard of a node then. */
export function saidAt(marks: Shaded[], at: number): string {
  const of = marks.find((m) => m.until !== undefined && m.at <= at && at <= m.until);
  return of ? of.text : "";
}
