// Draws lines with uPlot: one cursor and one zoom for all of a page.
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { saidAt } from "./away";
import { onPoint, point } from "./cursor";
import { Lanes } from "./lanes";
import type { Lines } from "./lines";
import { type Mark, mark, shadeMark } from "./marks";
import { type Style, stylesOf } from "./strokes";
import { colour, useTheme } from "./theme";
import { tickTexts, ticksOf } from "./ticks";
import { clock, stamp, utc, zoom } from "./time";
import { format } from "./units";

const tickSpace = 30; // px between two values of the axis, at least

const sync = uPlot.sync("page");
const charts = {}; // who says where charts are pointed at

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
  const led = useRef(false); // a map moves the cursor
  const extra = useRef({ marks, threshold });
  extra.current = { marks, threshold };
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const [hover, setHover] = useState<number | null>(null); // the instant, s
  const theme = useTheme();
  const names = lines.names.join("\n");
  const looks = useRef(new Map<string, number>());
  const styles = stylesOf(lines, looks.current);
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
            space: (_, __, low, high) => timeSpace(high - low),
            size: 28,
            values: times,
          },
          {
            stroke: text,
            font,
            grid,
            ticks: { show: false },
            size: 64,
            splits: (u, _, low, high) =>
              ticksOf(low, high, unit, u.bbox.height / devicePixelRatio / tickSpace),
            values: (_, list) => tickTexts(list, unit),
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
          setCursor: [
            (u) => {
              const at = u.data[0][u.cursor.idx ?? -1] ?? null;
              setHover(at);
              // Of the charts that move together, the one below the pointer tells the maps.
              if (u.cursor.event && !led.current) point(at, charts);
            },
          ],
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

  useEffect(
    () =>
      onPoint((at, by) => {
        const u = plot.current;
        if (!u || by === charts) return;
        led.current = true;
        const left = at === null ? -10 : u.valToPos(at, "x");
        u.setCursor({ left, top: at === null ? -10 : 0 });
        led.current = false;
      }),
    [],
  );
  useEffect(() => plot.current?.setData(data), [lines]);
  useEffect(() => plot.current?.redraw(false), [marks, threshold]);
  useEffect(() => {
    lines.names.forEach((n, i) => {
      plot.current?.setSeries(i + 1, { show: !hidden.has(n) });
    });
  }, [hidden, names, theme]);

  // Other data may come while somebody points: an instant stays what it is, an index does not.
  const pointed = hover === null ? -1 : lines.at.indexOf(hover);
  return (
    <div>
      <div
        ref={box}
        class="plot"
        role="img"
        aria-label={`${title}: ${summary(lines, unit)}`}
        style={{ height: `${height}px` }}
      />
      <Lanes from={lines.at[0] ?? 0} to={lines.at.at(-1) ?? 0} />
      <p class="legend-time dim">
        {pointed < 0
          ? "newest"
          : [clock(hover!), saidAt(marks, hover!)].filter(Boolean).join(" · ")}
      </p>
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
              <span class="number">{format(at(lines.values[i]!, pointed), unit)}</span>
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

/** The value at a point; the newest one if there is no point. */
function at(list: (number | null)[], i: number): number | null {
  if (i >= 0) return list[i] ?? null;
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
    .map((n, i) => `${n || "value"} ${format(at(lines.values[i]!, -1), unit)}`)
    .join(", ");
}

/** From zero on, with some room above; the threshold is in it. */
function bounds(low: number | null, high: number | null, limit = 0): [number, number] {
  const bottom = Math.min(0, low ?? 0, limit);
  const top = Math.max(high ?? 1, limit);
  return [bottom, top <= bottom ? bottom + 1 : top + (top - bottom) * 0.08];
}

/** Times along the axis of so many seconds, which part of a stamp they are: clocks within days,
 *  dates beyond. */
function timePart(span: number): [from: number, to: number] {
  if (span > 40 * 86400) return [0, 10];
  if (span > 2 * 86400) return [5, 16];
  return span < 600 ? [11, 19] : [11, 16];
}

/** The distance of two times on the axis, px: their text, and a gap. */
function timeSpace(span: number): number {
  const [from, to] = timePart(span);
  return (to - from) * 8 + 16;
}

function times(u: uPlot, splits: number[]): string[] {
  const { min = 0, max = 0 } = u.scales.x as { min?: number; max?: number };
  const part = timePart(max - min);
  const half = (part[1] - part[0]) * 3.5; // px of a text that stand behind its time
  const perSecond = u.bbox.width / devicePixelRatio / (max - min || 1);
  // A text at the very end would be cut.
  return splits.map((t) => ((max - t) * perSecond + 8 < half ? "" : stamp(t).slice(...part)));
}

/** Draws marks and the threshold over the lines. */
function annotate(u: uPlot, marks: Mark[], threshold: number | undefined): void {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([4 * devicePixelRatio, 4 * devicePixelRatio]);
  for (const m of marks) {
    const x = u.valToPos(m.at, "x", true);
    if (m.until !== undefined) {
      shadeMark(ctx, m, [x, u.valToPos(m.until, "x", true)], bbox);
      continue;
    }
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    mark(ctx, m, x, bbox.top, bbox.top + bbox.height, devicePixelRatio);
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
