// Charts: one library, one cursor and one zoom for all of a page.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { type Answer, type Labels, queryRange, type Series } from "./api";
import { together } from "./ask";
import { useData } from "./data";
import { Failed, Old, Warnings } from "./faces";
import { link } from "./place";
import { clock, type Range, stamp, utc, zoom } from "./time";
import { format, number } from "./units";

/** What a chart asks, and how what comes is called. */
export interface Ask {
  expr: string;
  legend: (labels: Labels) => string;
  /** The lines stand beside those of the ask of the same legends, dashed: another node or time. */
  beside?: string;
}

/** An instant that all charts mark: a restart, another schema, an alert. */
export interface Mark {
  at: number; // seconds
  kind: "restart" | "schema" | "version" | "alert";
  text: string;
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

const dashes = [[], [6, 4], [2, 3]];
const colours = 8;

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

/** How often a range is asked for again: a step, but every 5 s to a minute. */
export function refreshOf(range: Range): number {
  return range.live ? Math.min(60_000, Math.max(5_000, range.step * 500)) : 3_600_000;
}

/** A chart of PromQL over the page's range, with its table and its CSV. */
export function Chart({
  title,
  unit,
  asks,
  range,
  marks = [],
  threshold,
  height = 180,
  note,
  paused = false,
}: {
  title: string;
  unit: string;
  asks: Ask[];
  range: Range;
  marks?: Mark[];
  threshold?: number;
  height?: number;
  note?: string;
  /** It is out of sight: nothing is asked. */
  paused?: boolean;
}) {
  const expr = together(asks.map((a) => a.expr));
  const span = range.live ? `last ${range.to - range.from}` : `${range.from} ${range.to}`;
  const data = useData<{ answer: Answer<Series>; range: Range }>(
    paused ? null : `${expr} ${span} ${range.step}`,
    async (signal) => {
      const now = range.live ? live(range) : range;
      return { answer: await queryRange(expr, now, signal), range: now };
    },
    { every: refreshOf(range), keep: true },
  );
  const lines = useMemo(
    () => data.value && linesOf(data.value.answer.result, asks, data.value.range),
    [data.value],
  );
  const [table, setTable] = useState(false);
  const shown = lines && cut(lines);
  return (
    <figure class="chart" data-title={title}>
      <figcaption>
        <h3>{title}</h3>
        {note && <span class="dim">{note}</span>}
        <span class="chart-tools">
          <Warnings list={data.value?.answer.warnings ?? []} />
          <span class="dim" title="The distance between two points">
            {stepName(range.step)}
          </span>
          <button
            type="button"
            class="plain"
            aria-pressed={table}
            aria-label={`${title} as a table`}
            title="As a table"
            onClick={() => setTable(!table)}
          >
            ▤
          </button>
          <button
            type="button"
            class="plain"
            aria-label={`${title} as CSV`}
            title="As CSV"
            disabled={!lines?.names.length}
            onClick={() => lines && download(`${title}.csv`, "text/csv", csvOf(lines))}
          >
            ⤓
          </button>
          <a
            class="plain"
            aria-label={`${title} in Explore`}
            title="In Explore"
            href={link(["explore"], { expr: asks.length === 1 ? expr : asks[0]!.expr })}
          >
            ↗
          </a>
        </span>
      </figcaption>
      {data.error && data.value && <Old data={data} />}
      {!shown && data.error && <Failed error={data.error} compact />}
      {!shown && !data.error && (
        <div
          class={paused ? "bone later" : "bone"}
          style={{ height: `${height}px` }}
          role="status"
          aria-label={`Loading ${title}`}
        />
      )}
      {shown && shown.names.length === 0 && (
        <div class="face quiet compact" style={{ height: `${height}px` }}>
          Nothing was measured in this time.
        </div>
      )}
      {shown && shown.names.length > 0 && (
        <div class={data.error ? "old" : undefined}>
          {table ? (
            <ValueTable lines={shown} unit={unit} />
          ) : (
            <Plot
              title={title}
              lines={shown}
              unit={unit}
              marks={marks}
              height={height}
              {...(threshold !== undefined && { threshold })}
            />
          )}
          {lines.names.length > mostLines && (
            <p class="dim">
              {mostLines} of {lines.names.length} lines, those with the highest values.
            </p>
          )}
        </div>
      )}
    </figure>
  );
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

/** The values behind a chart, the newest first. */
export function ValueTable({ lines, unit }: { lines: Lines; unit: string }) {
  const rows = lines.at.map((_, i) => lines.at.length - 1 - i);
  return (
    <section class="values" tabIndex={0} aria-label="Values">
      <table>
        <thead>
          <tr>
            <th scope="col">time</th>
            {lines.names.map((n) => (
              <th scope="col" class="number" key={n}>
                {n}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((i) => (
            <tr key={lines.at[i]}>
              <th scope="row">{stamp(lines.at[i]!)}</th>
              {lines.values.map((v, j) => (
                <td class="number" key={lines.names[j]}>
                  {format(v[i], unit)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** A colour of the page's style. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

const sync = uPlot.sync("page");

/** Draws lines. New data of the same lines moves them without a flicker. */
export function Plot({
  title,
  lines,
  unit,
  marks,
  threshold,
  height,
}: {
  title: string;
  lines: Lines;
  unit: string;
  marks: Mark[];
  threshold?: number;
  height: number;
}) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const extra = useRef({ marks, threshold });
  extra.current = { marks, threshold };
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const [hover, setHover] = useState<number | null>(null);
  const theme = useTheme();
  const names = lines.names.join("\n");
  const styles = stylesOf(lines);
  const data = [lines.at, ...lines.values] as uPlot.AlignedData;

  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const text = colour("--dim");
    const grid = { stroke: colour("--line"), width: 1 };
    const font = "12px system-ui, sans-serif";
    const u = new uPlot(
      {
        width: element.clientWidth,
        height,
        legend: { show: false },
        padding: [8, 8, 0, 0],
        tzDate: (t) => (utc() ? uPlot.tzDate(new Date(t * 1e3), "Etc/UTC") : new Date(t * 1e3)),
        cursor: {
          sync: { key: sync.key, setSeries: false },
          drag: { x: true, y: false, setScale: false },
          points: { size: 6 },
        },
        scales: {
          x: { time: true },
          y: { range: (_, low, high) => bounds(low, high, extra.current.threshold) },
        },
        axes: [
          {
            stroke: text,
            font,
            grid: { ...grid, show: false },
            ticks: grid,
            space: 70,
            size: 28,
            values: times,
          },
          {
            stroke: text,
            font,
            grid,
            ticks: { show: false },
            size: 64,
            values: (_, list) => list.map((v) => format(v, unit)),
          },
        ],
        series: [
          {},
          ...lines.names.map((label, i) => ({
            label,
            stroke: colour(`--line-${styles[i]![0]}`),
            dash: styles[i]![1],
            width: 1.5,
            spanGaps: false,
            points: { show: lone as uPlot.Series.Points.Show },
          })),
        ],
        hooks: {
          setCursor: [(u) => setHover(u.cursor.idx ?? null)],
          setSelect: [
            (u) => {
              if (u.select.width < 8) return;
              const a = u.posToVal(u.select.left, "x");
              const b = u.posToVal(u.select.left + u.select.width, "x");
              u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
              zoom(a, b);
            },
          ],
          draw: [(u) => annotate(u, extra.current.marks, extra.current.threshold)],
        },
      },
      data,
      element,
    );
    plot.current = u;
    const resize = new ResizeObserver(() => {
      if (element.clientWidth > 0) u.setSize({ width: element.clientWidth, height });
    });
    resize.observe(element);
    return () => {
      resize.disconnect();
      u.destroy();
      plot.current = null;
    };
  }, [names, unit, height, theme]);

  useEffect(() => plot.current?.setData(data), [lines]);
  useEffect(() => plot.current?.redraw(false), [marks, threshold]);
  useEffect(() => {
    lines.names.forEach((n, i) => {
      plot.current?.setSeries(i + 1, { show: !hidden.has(n) });
    });
  }, [hidden, names, theme]);

  const last = hover ?? lines.at.length - 1;
  return (
    <div>
      <div
        ref={box}
        class="plot"
        role="img"
        aria-label={`${title}: ${summary(lines, unit)}`}
        style={{ height: `${height}px` }}
      />
      <p class="legend-time dim">{hover === null ? "newest" : clock(lines.at[hover]!)}</p>
      <ul class="legend">
        {lines.names.map((n, i) => (
          <li key={n}>
            <button
              type="button"
              class="plain"
              aria-pressed={!hidden.has(n)}
              title="Show or hide this line"
              onClick={() => setHidden(toggled(hidden, n))}
            >
              <Stroke style={styles[i]!} />
              <span>{n || "value"}</span>
              <span class="number">{format(at(lines.values[i]!, last, hover === null), unit)}</span>
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** A point that has no neighbours is drawn, else nobody would see it. */
function lone(u: uPlot, series: number): number[] | boolean {
  const list = u.data[series]!;
  const single: number[] = [];
  for (let i = 0; i < list.length; i++) {
    if (list[i] != null && list[i - 1] == null && list[i + 1] == null) single.push(i);
  }
  return single.length > 0 && single.length < 60;
}

type Style = [colour: number, dash: number[]];

/** Colours by turns, then dashes; a line beside another one has its colour and is dashed. */
function stylesOf({ names, beside }: Lines): Style[] {
  const places = new Map<string, number>();
  names.forEach((n, i) => !beside?.[i] && places.set(n, places.size));
  return names.map((n, i) => {
    const partner = places.get(beside?.[i] ?? n);
    if (beside?.[i]) return [(partner ?? places.size + i) % colours, [6, 4]];
    return [partner! % colours, dashes[Math.floor(partner! / colours) % dashes.length]!];
  });
}

function Stroke({ style: [colour, dashed] }: { style: Style }) {
  const dash = dashed.join(" ");
  return (
    <svg width="18" height="8" aria-hidden="true">
      <line
        x1="0"
        y1="4"
        x2="18"
        y2="4"
        class={`stroke-${colour}`}
        stroke-width="2.5"
        {...(dash && { "stroke-dasharray": dash })}
      />
    </svg>
  );
}

/** The value at a point; the newest one if there is none at the end. */
function at(list: (number | null)[], i: number, newest: boolean): number | null {
  if (!newest) return list[i] ?? null;
  for (let j = list.length - 1; j >= 0; j--) if (list[j] !== null) return list[j]!;
  return null;
}

function toggled(set: ReadonlySet<string>, name: string): ReadonlySet<string> {
  const next = new Set(set);
  if (!next.delete(name)) next.add(name);
  return next;
}

/** The chart in words, for whoever does not see it. */
function summary(lines: Lines, unit: string): string {
  return lines.names
    .slice(0, 6)
    .map((n, i) => `${n || "value"} ${format(at(lines.values[i]!, 0, true), unit)}`)
    .join(", ");
}

/** From zero on, with some room above; the threshold is in it. */
function bounds(low: number | null, high: number | null, limit = 0): [number, number] {
  const bottom = Math.min(0, low ?? 0, limit);
  const top = Math.max(high ?? 1, limit);
  return [bottom, top <= bottom ? bottom + 1 : top + (top - bottom) * 0.08];
}

/** Times along the axis: clocks within days, dates beyond. */
function times(u: uPlot, splits: number[]): string[] {
  const span = (u.scales.x?.max ?? 0) - (u.scales.x?.min ?? 0);
  return splits.map((t) => {
    const s = stamp(t);
    if (span > 40 * 86400) return s.slice(0, 10);
    if (span > 2 * 86400) return s.slice(5, 16);
    return span < 600 ? s.slice(11) : s.slice(11, 16);
  });
}

const markColours = { restart: "--warn", schema: "--accent", version: "--accent", alert: "--bad" };
const markSigns = { restart: "↻", schema: "§", version: "v", alert: "▲" };

/** Draws marks and the threshold over the lines. */
function annotate(u: uPlot, marks: Mark[], threshold: number | undefined): void {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([4 * devicePixelRatio, 4 * devicePixelRatio]);
  ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
  for (const m of marks) {
    const x = u.valToPos(m.at, "x", true);
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.strokeStyle = colour(markColours[m.kind]);
    ctx.fillStyle = ctx.strokeStyle;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.fillText(markSigns[m.kind], x + 3 * devicePixelRatio, bbox.top + 10 * devicePixelRatio);
  }
  if (threshold !== undefined) {
    const y = u.valToPos(threshold, "y", true);
    if (y >= bbox.top && y <= bbox.top + bbox.height) {
      ctx.strokeStyle = colour("--bad");
      ctx.beginPath();
      ctx.moveTo(bbox.left, y);
      ctx.lineTo(bbox.left + bbox.width, y);
      ctx.stroke();
    }
  }
  ctx.restore();
}

/** The theme, again whenever it changes: canvases know nothing of style sheets. */
export function useTheme(): string {
  const now = () =>
    document.documentElement.dataset.theme ??
    (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  const [theme, set] = useState(now);
  useEffect(() => {
    const tell = () => set(now());
    const media = matchMedia("(prefers-color-scheme: dark)");
    const watch = new MutationObserver(tell);
    media.addEventListener("change", tell);
    watch.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    return () => {
      media.removeEventListener("change", tell);
      watch.disconnect();
    };
  }, []);
  return theme;
}

/** The marks of a page, in words, below its charts. */
export function MarkList({ marks }: { marks: Mark[] }) {
  if (marks.length === 0) return null;
  return (
    <details class="marks">
      <summary>
        {marks.length} {marks.length === 1 ? "mark" : "marks"} in this time
      </summary>
      <ul>
        {marks.map((m) => (
          <li key={`${m.at}${m.text}`}>
            <span class={`mark ${m.kind}`} aria-hidden="true">
              {markSigns[m.kind]}
            </span>{" "}
            {stamp(m.at)} {m.text}
          </li>
        ))}
      </ul>
    </details>
  );
}
