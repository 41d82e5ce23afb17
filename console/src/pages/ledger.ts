// What is asked of the hops, and the ledgers in the answer. Each selector reads the frames of all
// nodes again. So one selector asks for all counters, and the page takes them apart.
import type { Answer, Sample } from "../api";
import { together } from "../ask";
import { quantileOf } from "../histogram";
import { stepOf } from "../time";
import { number } from "../units";
import { type Figure, type Hop, type Pick, saidLag, watchedLag } from "./hops";

/** The labels by which series of hops are told apart: the others are added up. */
const kept = ["reason", "group", "producer", "code", "result"];

/** The window of what happens once in five minutes, such as the closing of windows. */
export const seldom = (window: number) => Math.max(window, 660);

const selector = (metrics: Iterable<string>) => `{__name__=~"${[...new Set(metrics)].join("|")}"}`;

/**
 * rate or increase of many metrics at once. They drop a metric's name, without which a counter of
 * what came in and one of what went out have the same labels. The label "of" keeps them apart.
 */
function changes(fn: string, metrics: Iterable<string>, window: number, step: number): string {
  const named = `label_replace(${selector(metrics)}, "of", "$1", "__name__", "(.+)")`;
  return `sum by (${["of", ...kept].join(", ")}) (${fn}(${named}[${window}s:${step}s]))`;
}

/** The metrics of counters and histograms. */
const counted = (f: Figure): Pick[] => {
  if ("rate" in f) return [f.rate];
  if ("p99" in f) return [f.p99];
  return "whole" in f ? [f.whole] : [];
};
const flowsOf = (h: Hop) => [...h.accepted, ...h.forwarded, ...h.dropped];
const names = (list: Pick[]) => list.map((p) => p.metric);

/** What is asked of all hops as of now. Rates are means of a window, in seconds. */
export function nowExpr(list: Hop[], window: number): string {
  const figures = list.flatMap((h) => h.figures);
  const all = list.flatMap((h) => [...flowsOf(h), ...h.figures.flatMap(counted)]);
  const sums = figures.flatMap((f) => ("sum" in f ? [f.sum] : "lag" in f ? [saidLag] : []));
  const pending = list.flatMap((h) => h.pending);
  const highest = figures.flatMap((f) => ("highest" in f ? [f.highest] : []));
  const rare = figures.flatMap((f) => ("seldom" in f ? [f.seldom] : []));
  return together([
    changes("rate", names(all), window, stepOf(window, 16)),
    `sum by (__name__, ${kept.join(", ")}) (${selector(names([...pending, ...sums]))})`,
    highest.length > 0
      ? `max by (__name__, ${kept.join(", ")}) (${selector(names(highest))})`
      : "vector(0)",
    rare.length > 0
      ? changes("rate", names(rare), seldom(window), stepOf(seldom(window), 44))
      : "vector(0)",
    watchedLag,
    ...figures.flatMap((f) => ("expr" in f ? [f.expr] : [])),
  ]);
}

/** What is asked of all hops about a span of time, in seconds. */
export function sumExpr(list: Hop[], span: number): string {
  // Where a counter begins anew, what it counted since the last step is lost. Steps of Ringwatch's
  // few processes are short. Agents may be thousands: a short step would take much memory.
  const [agents, processes] = [list.slice(0, 1), list.slice(1)];
  const ask = (list: Hop[], steps: number) =>
    changes("increase", names(list.flatMap(flowsOf)), span, stepOf(span, steps));
  return together([ask(agents, 60), processes.length > 0 ? ask(processes, 360) : "vector(0)"]);
}

/** What a hop has done: a second, or in a span of time. Where nothing is known it is NaN. */
export interface Ledger {
  accepted: number;
  forwarded: number;
  dropped: [string, number][]; // by reason, the most first; none of nothing
  pending: number;
  figures: number[];
}

/** The series of an answer, by the place in the question and the metric. */
class Reading {
  private readonly all = new Map<string, Sample[]>();

  constructor(answer: Answer<Sample>) {
    for (const s of answer.result) {
      const { q, of, __name__ = "" } = s.metric;
      const id = `${q} ${of ?? __name__}`;
      const old = this.all.get(id);
      if (old) old.push(s);
      else this.all.set(id, [s]);
    }
  }

  series(q: number, { metric, of }: Pick): Sample[] {
    const list = this.all.get(`${q} ${metric}`) ?? [];
    return of ? list.filter((s) => of(s.metric)) : list;
  }

  private numbers(q: number, picks: Pick[]): number[] {
    return picks.flatMap((p) => this.series(q, p)).map((s) => number(s.value?.[1]));
  }

  /** NaN of nothing. */
  sum(q: number, ...picks: Pick[]): number {
    const list = this.numbers(q, picks);
    return list.length > 0 ? list.reduce((a, b) => a + b, 0) : Number.NaN;
  }

  highest(q: number, pick: Pick): number {
    const list = this.numbers(q, [pick]);
    return list.length > 0 ? Math.max(...list) : Number.NaN;
  }

  /** The 99th percentile of a histogram. */
  p99(q: number, pick: Pick): number {
    const [s] = this.series(q, pick);
    return s?.histogram ? quantileOf(s.histogram[1], 0.99) : Number.NaN;
  }

  by(q: number, picks: Pick[], label: string): [string, number][] {
    const sums = new Map<string, number>();
    for (const s of picks.flatMap((p) => this.series(q, p))) {
      const name = s.metric[label] ?? "";
      sums.set(name, (sums.get(name) ?? 0) + number(s.value?.[1]));
    }
    return [...sums].filter(([, v]) => v > 0).sort((a, b) => b[1] - a[1]);
  }
}

function figure(r: Reading, f: Figure, place: number): number {
  if ("rate" in f) return r.sum(0, f.rate);
  if ("p99" in f) return r.p99(0, f.p99);
  if ("sum" in f) return r.sum(1, f.sum);
  if ("lag" in f) {
    const of = f.lag && { of: f.lag };
    const said = r.sum(1, { ...saidLag, ...of });
    return Number.isNaN(said) ? r.sum(4, { metric: "", ...of }) : said;
  }
  if ("highest" in f) return r.highest(2, f.highest);
  if ("seldom" in f) return r.p99(3, f.seldom);
  if ("whole" in f) {
    const whole = r.sum(0, f.whole);
    return whole > 0 ? (r.sum(0, f.part) || 0) / whole : Number.NaN;
  }
  return r.sum(5 + place, { metric: "" });
}

/** Reads the answer to nowExpr of the same hops. */
export function nowOf(list: Hop[], answer: Answer<Sample>): Map<string, Ledger> {
  const r = new Reading(answer);
  const own: Figure[] = list.flatMap((h) => h.figures).filter((f) => "expr" in f);
  return new Map(
    list.map((h) => [
      h.id,
      {
        ...flows(r, 0, h),
        pending: r.sum(1, ...h.pending),
        figures: h.figures.map((f) => figure(r, f, own.indexOf(f))),
      },
    ]),
  );
}

/** Reads the answer to sumExpr of the same hops. */
export function sumsOf(list: Hop[], answer: Answer<Sample>): Map<string, Ledger> {
  const r = new Reading(answer);
  return new Map(
    list.map((h, i) => [
      h.id,
      { ...flows(r, Math.min(i, 1), h), pending: Number.NaN, figures: [] },
    ]),
  );
}

const flows = (r: Reading, q: number, h: Hop) => ({
  accepted: r.sum(q, ...h.accepted),
  forwarded: r.sum(q, ...h.forwarded),
  dropped: r.by(q, h.dropped, h.reason),
});

/** How a hop is. */
export type Health = "flowing" | "quiet" | "behind" | "dropping" | "unknown";

/** Says how a hop is, from what it does now. */
export function healthOf(h: Hop, l: Ledger): Health {
  if (Number.isNaN(l.accepted)) return "unknown";
  if (l.dropped.some(([reason]) => !h.fine?.includes(reason))) return "dropping";
  if (h.figures.some((f, i) => f.most !== undefined && l.figures[i]! > f.most)) return "behind";
  return l.accepted > 0 ? "flowing" : "quiet";
}
