// Lines of charts: series side by side, as numbers and as CSV.
import type { Labels, Series } from "./api";
import type { Range } from "./time";
import { number } from "./units";

/** What a chart asks, and how what comes is called. */
export interface Ask {
  expr: string;
  legend: (labels: Labels) => string;
  /** The lines stand beside those of the ask of the same legends, dashed: another node or time. */
  beside?: string;
}

/** Lines that a chart draws: instants, and a value or null at each of them. */
export interface Lines {
  at: number[];
  names: string[];
  labels: Labels[];
  values: (number | null)[][];
  beside?: (string | null)[]; // the name of the line that one is compared with
}

/** How many lines a chart draws; more than that nobody tells apart. */
export const mostLines = 24;

/** Sets series side by side: all steps of the range, null where a series has no value. */
export function linesOf(list: Series[], asks: Ask[], range: Range): Lines {
  const { from, to, step } = range;
  const count = Math.floor((to - from) / step) + 1;
  const at = Array.from({ length: count }, (_, i) => from + i * step);
  const rows = list
    .filter((s) => s.values)
    .map((s) => {
      const { q, ...labels } = s.metric;
      const ask = asks[asks.length > 1 ? Number(q) : 0] ?? asks[0]!;
      const values: (number | null)[] = new Array(count).fill(null);
      for (const [t, text] of s.values ?? []) {
        const v = number(text);
        const i = Math.round((t - from) / step);
        if (i >= 0 && i < count && Number.isFinite(v)) values[i] = v;
      }
      const legend = ask.legend(s.metric);
      const name = ask.beside ? [legend, ask.beside].filter(Boolean).join(" · ") : legend;
      const beside = ask.beside ? legend || name : null;
      return { name, labels, values, beside, order: Number(q ?? 0) };
    });
  rows.sort((a, b) => a.order - b.order || a.name.localeCompare(b.name, "en", { numeric: true }));
  return {
    at,
    names: rows.map((r) => r.name),
    labels: rows.map((r) => r.labels),
    values: rows.map((r) => r.values),
    beside: rows.map((r) => r.beside),
  };
}

/** The lines that are drawn: those with the highest values. */
export function cut(lines: Lines): Lines {
  if (lines.names.length <= mostLines) return lines;
  const highest = lines.values.map((list, i) => {
    let most = Number.NEGATIVE_INFINITY;
    for (const v of list) if (v !== null && v > most) most = v;
    return [most, i] as const;
  });
  const keep = highest
    .sort((a, b) => b[0] - a[0])
    .slice(0, mostLines)
    .map(([, i]) => i)
    .sort((a, b) => a - b);
  return {
    at: lines.at,
    names: keep.map((i) => lines.names[i]!),
    labels: keep.map((i) => lines.labels[i]!),
    values: keep.map((i) => lines.values[i]!),
    beside: keep.map((i) => lines.beside?.[i] ?? null),
  };
}

/** The lines as CSV: a column each. */
export function csvOf(lines: Lines): string {
  const cell = (text: string) => {
    // A cell that begins so is a formula to a spreadsheet.
    const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  const head = ["time", ...lines.names.map(cell)].join(",");
  const rows = lines.at.map((t, i) =>
    [new Date(t * 1000).toISOString(), ...lines.values.map((v) => v[i] ?? "")].join(","),
  );
  return `${[head, ...rows].join("\n")}\n`;
}

/** Offers text as a file. */
export function download(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const a = document.createElement("a");
  a.href = url;
  a.download = name;
  a.click();
  URL.revokeObjectURL(url);
}
