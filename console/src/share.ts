// Expressions as others take them: units, curl, Grafana; and how series are called.
import type { Labels } from "./api";
import type { Range } from "./time";
import { quote, type Unit } from "./units";

/** What of an expression tells its unit: names of metrics, without labels, texts and comments. */
function bare(expr: string): string {
  return expr
    .replace(/"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`/g, '""')
    .replace(/#.*$/gm, "")
    .replace(/\{[^{}]*\}/g, "")
    .replace(/\[[^\]]*\]/g, "")
    .replace(/\b(by|without|on|ignoring|group_left|group_right)\s*\([^()]*\)/gi, " ");
}

/** The unit of a metric by its name; rate says whether it is asked a second. */
function unitOfName(name: string, rate: boolean, increase: boolean): Unit {
  const [level, metric, operation] = name.split(":");
  if (operation !== undefined && level !== undefined) {
    if (/ratio/.test(operation)) return "ratio";
    if (/^count$/.test(operation)) return "count";
    if (/^rate/.test(operation)) {
      if (/_(latency_seconds|time_seconds)$/.test(metric!)) return "per_second";
      return unitOfName(/_total$/.test(metric!) ? metric! : `${metric}_total`, true, false);
    }
    return unitOfName(metric!, false, false);
  }
  const counter = /_(total|count|bucket)$/.test(name);
  const base = name.replace(/_(total|sum)$/, "");
  if (/_(count|bucket)$/.test(name)) return rate ? "per_second" : "count";
  if (/_ratio$/.test(base)) return "ratio";
  if (/_percent$/.test(base)) return "percent";
  if (/_timestamp_seconds$/.test(base)) return "count";
  if (/_seconds$/.test(base)) return counter && rate && !increase ? "ratio" : "seconds";
  if (/_bytes$/.test(base)) return counter && rate ? "bytes_per_second" : "bytes";
  return counter && rate ? "per_second" : "count";
}

/** The unit that the values of an expression likely have, by the names in it. */
export function unitOf(expr: string): Unit {
  const text = bare(expr);
  if (/^\s*(count|count_values|absent|group)\b/.test(text)) return "count";
  const names = [...text.matchAll(/[a-zA-Z_:][a-zA-Z0-9_:]*/g)]
    .filter((m) => !/^\s*\(/.test(text.slice(m.index + m[0].length)) && /[_:]/.test(m[0]))
    .map((m) => m[0]);
  const first = names[0];
  if (first === undefined) return "count";
  const increase = /\b(increase|delta)\s*\(/.test(text);
  const rate = /\b(rate|irate|deriv)\s*\(/.test(text);
  if (/\bhistogram_count\s*\(/.test(text)) return rate ? "per_second" : "count";
  if (/\bhistogram_fraction\s*\(/.test(text)) return "ratio";
  if (/\btime\s*\(/.test(text) && /_timestamp_seconds$/.test(first)) return "seconds";
  const whole = (n: string) => unitOfName(n.replace(/_(bucket|sum|count)$/, ""), false, false);
  // A value of a distribution, and its mean, are in the unit of what is distributed.
  if (/\bhistogram_(quantile|avg)\s*\(/.test(text)) return whole(first);
  if (/_sum$/.test(first) && names.includes(first.replace(/_sum$/, "_count"))) return whole(first);
  const units = names.map((n) => unitOfName(n, rate, increase));
  if (!text.includes("/")) return units[0]!;
  // A quotient of the same is a part of a whole; of others, nobody knows.
  if (units.some((u) => u !== units[0])) return "count";
  return /^\W*100\s*\*/.test(text) || /\*\s*100\W*$/.test(text) ? "percent" : "ratio";
}

const shell = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/** The question as a command; the key is a variable of the shell, never the key itself. */
export function curlOf(expr: string, range: Range, table: boolean, origin: string): string {
  const form = [`--data-urlencode ${shell(`query=${expr}`)}`];
  if (!table) form.push(`-d start=${range.from}`, `-d end=${range.to}`, `-d step=${range.step}`);
  else if (!range.live) form.push(`-d time=${range.to}`);
  return [
    `curl -sS -H "Authorization: Bearer $KEY"`,
    ...form,
    shell(`${origin}/api/v1/${table ? "query" : "query_range"}`),
  ].join(" \\\n  ");
}

const grafanaUnits: Record<Unit, string> = {
  count: "short",
  per_second: "ops",
  percent: "percent",
  ratio: "percentunit",
  bytes: "bytes",
  bytes_per_second: "binBps",
  seconds: "s",
  microseconds: "µs",
  microseconds_per_operation: "µs",
};

/** The letter of an expression: A, B, …, Z, AA. */
export function letter(i: number): string {
  return i < 26 ? String.fromCharCode(65 + i) : letter(Math.floor(i / 26) - 1) + letter(i % 26);
}

/** The expressions as a panel that Grafana takes; its data source is a variable of the
 *  dashboard. */
export function grafanaOf(exprs: string[]): string {
  const datasource = { type: "prometheus", uid: "${datasource}" };
  const units = exprs.map((e) => grafanaUnits[unitOf(e)]);
  const panel = {
    type: "timeseries",
    title: exprs.length === 1 ? exprs[0]! : `${exprs.length} expressions`,
    datasource,
    gridPos: { x: 0, y: 0, w: 12, h: 9 },
    fieldConfig: {
      defaults: { unit: units[0] ?? "short", custom: { lineWidth: 1, spanNulls: false } },
      overrides: units.flatMap((unit, i) =>
        unit === units[0]
          ? []
          : [
              {
                matcher: { id: "byFrameRefID", options: letter(i) },
                properties: [{ id: "unit", value: unit }],
              },
            ],
      ),
    },
    options: {
      legend: { displayMode: "list", placement: "bottom", showLegend: true },
      tooltip: { mode: "multi", sort: "desc" },
    },
    targets: exprs.map((expr, i) => ({
      refId: letter(i),
      datasource,
      expr,
      editorMode: "code",
      range: true,
      legendFormat: "__auto",
    })),
  };
  return JSON.stringify(panel, null, 2);
}

/** A series as PromQL writes it; labels in same are left out. A node that is among the names has
 *  its name instead of its id. */
export function seriesName(
  labels: Labels,
  same: ReadonlySet<string> = new Set(),
  names?: ReadonlyMap<string, string>,
): string {
  const { __name__: name = "", ...rest } = labels;
  const pairs = Object.entries(rest)
    .filter(([l]) => !same.has(l))
    .map(([l, v]) => `${l}=${quote((l === "node" && names?.get(v)) || v)}`);
  const shown = same.has("__name__") ? "" : name;
  return pairs.length > 0 ? `${shown}{${pairs.join(", ")}}` : shown || "{}";
}

/** The labels that all series have in common: who reads a legend looks for the others. */
export function commonLabels(list: Labels[]): Set<string> {
  const first = list[0];
  if (!first || list.length < 2) return new Set();
  return new Set(Object.keys(first).filter((l) => list.every((m) => m[l] === first[l])));
}
