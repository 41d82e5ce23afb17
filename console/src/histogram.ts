// Native histograms as they come over time: set into one grid, though their buckets may move.
import type { Histogram, Series } from "./api";
import type { Range } from "./time";
import { number } from "./units";

/** Counts by time and by value. A row of cells reaches from one edge to the next. */
export interface Grid {
  at: number[]; // instants, seconds
  edges: number[]; // rising, above zero
  below: boolean; // the first row also has what is below it, zero too
  above: boolean; // the last row also has what is above it
  cells: (number[] | null)[]; // by instant, then by row; null: nothing was measured
  count: (number | null)[];
  p50: (number | null)[];
  p99: (number | null)[];
}

interface Slot {
  low: number;
  high: number;
  count: number;
}

/** More rows than that nobody tells apart: buckets are then joined. */
const mostRows = 96;

function slotsOf(h: Histogram): Slot[] {
  return (h.buckets ?? [])
    .map(([, low, high, count]) => ({
      low: number(low),
      high: number(high),
      count: number(count),
    }))
    .filter((s) => s.count > 0)
    .sort((a, b) => a.high - b.high);
}

/**
 * The value below which a part of what was counted lies, as PromQL computes it for histograms with
 * bounds of their own: evenly spread within a bucket. NaN if nothing was counted.
 */
export function quantileOf(h: Histogram, part: number): number {
  const slots = slotsOf(h);
  const last = slots.at(-1);
  if (!last) return Number.NaN;
  let rank = part * slots.reduce((sum, s) => sum + s.count, 0);
  for (const s of slots) {
    if (rank > s.count && s !== last) {
      rank -= s.count;
      continue;
    }
    if (s.high === Number.POSITIVE_INFINITY) return s.low;
    if (s.high <= 0) return s.high;
    const low = Math.max(0, s.low);
    return low + (s.high - low) * Math.min(1, rank / s.count);
  }
  return Number.NaN;
}

/** The edges of all rows: the bounds of all buckets, or as many even ones as can be told apart. */
function edgesOf(slots: Slot[]) {
  const bounds = new Set<number>();
  let below = false;
  let above = false;
  for (const s of slots) {
    if (s.low > 0) bounds.add(s.low);
    else below = true;
    if (s.high === Number.POSITIVE_INFINITY) above = true;
    else if (s.high > 0) bounds.add(s.high);
  }
  let edges: number[] = [];
  for (const b of [...bounds].sort((a, b) => a - b)) {
    // Bounds that differ by a rounding are one.
    if (edges.length === 0 || b > edges.at(-1)! * 1.0005) edges.push(b);
  }
  if (edges.length > mostRows) {
    const low = edges[0]!;
    const high = edges.at(-1)!;
    edges = Array.from({ length: mostRows }, (_, i) => low * (high / low) ** (i / (mostRows - 1)));
  }
  if (edges.length === 0) edges = [1];
  if (below || edges.length === 1) edges.unshift(edges[0]! / 1.5);
  if (above) edges.push(edges.at(-1)! * 1.5);
  return { edges, below, above };
}

/** Adds a bucket to the rows that it covers, evenly on a logarithmic axis. */
function spread(slot: Slot, edges: number[], row: number[]): void {
  const last = edges.length - 1;
  const low = Math.min(Math.max(slot.low, edges[0]!), edges[last - 1]!);
  const high = Math.max(Math.min(slot.high, edges[last]!), edges[1]!);
  let i = 0;
  while (i < last - 1 && edges[i + 1]! <= low * 1.0005) i++;
  const width = Math.log(high / low);
  for (; i < last && edges[i]! < high * 0.9995; i++) {
    const part = Math.log(Math.min(high, edges[i + 1]!) / Math.max(low, edges[i]!)) / width;
    row[i]! += slot.count * Math.min(1, Math.max(0, part));
  }
}

/** The grid of a series over a range: an instant that the series does not have stays null. */
export function gridOf(series: Series | undefined, range: Range): Grid {
  const { from, to, step } = range;
  const length = Math.floor((to - from) / step) + 1;
  const at = Array.from({ length }, (_, i) => from + i * step);
  const none = () => new Array<number | null>(length).fill(null);
  const found: [number, Slot[]][] = [];
  const count = none();
  const p50 = none();
  const p99 = none();
  for (const [t, h] of series?.histograms ?? []) {
    const i = Math.round((t - from) / step);
    if (i < 0 || i >= length) continue;
    found.push([i, slotsOf(h)]);
    count[i] = number(h.count);
    const [half, most] = [quantileOf(h, 0.5), quantileOf(h, 0.99)];
    p50[i] = Number.isNaN(half) ? null : half;
    p99[i] = Number.isNaN(most) ? null : most;
  }
  const { edges, below, above } = edgesOf(found.flatMap(([, slots]) => slots));
  const cells = new Array<number[] | null>(length).fill(null);
  for (const [i, slots] of found) {
    const row = new Array<number>(edges.length - 1).fill(0);
    for (const s of slots) spread(s, edges, row);
    cells[i] = row;
  }
  return { at, edges, below, above, cells, count, p50, p99 };
}
