// The picture of a heat map: a canvas, its axes, its cursor and its hint.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { saidAt } from "./away";
import { onPoint, point } from "./cursor";
import type { Grid } from "./histogram";
import { Lanes } from "./lanes";
import { type Mark, mark, shadeMark } from "./marks";
import { colour, useTheme } from "./theme";
import { stamp, useUTC, utc, zoom } from "./time";
import { format } from "./units";

const edge = { left: 64, right: 8, top: 8, bottom: 24 };
const shades = 24;

/** Where things stand within the canvas. */
interface Frame {
  width: number;
  height: number;
  x: (column: number) => number; // left end of a column
  y: (value: number) => number;
}

function frameOf(grid: Grid, width: number, height: number): Frame {
  const low = Math.log(grid.edges[0]!);
  const high = Math.log(grid.edges.at(-1)!);
  const inner = width - edge.left - edge.right;
  const tall = height - edge.top - edge.bottom;
  return {
    width,
    height,
    x: (i) => edge.left + (inner * i) / grid.at.length,
    y: (v) => edge.top + tall * (1 - (Math.log(v) - low) / (high - low || 1)),
  };
}

interface Spot {
  column: number;
  row: number;
  x: number;
  y: number;
}

/** The map. A drag across it zooms all of the page; its cursor is the page's. */
export function Picture({
  title,
  unit,
  grid,
  step,
  marks,
}: {
  title: string;
  unit: string;
  grid: Grid;
  step: number;
  marks: Mark[];
}) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  const [kept, setSpot] = useState<Spot | null>(null);
  const [held, setPressed] = useState<number | null>(null);
  // Another map may have come while somebody points at this one.
  const inside = (column: number) => column < grid.at.length;
  const spot = kept && inside(kept.column) && kept.row < grid.edges.length - 1 ? kept : null;
  const pressed = held !== null && inside(held) ? held : null;
  const [elsewhere, setElsewhere] = useState<number | null>(null); // the instant pointed at there
  const isUTC = useUTC();
  const theme = useTheme();
  const height = width && width < 500 ? 220 : 280;
  const frame = useMemo(() => frameOf(grid, width || 600, height), [grid, width, height]);
  const ends = useMemo(() => endsOf(grid), [grid]);

  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const watch = new ResizeObserver(() => setWidth(element.clientWidth));
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  useEffect(() => {
    if (canvas.current && width) draw(canvas.current, grid, frame, ends, unit, marks);
  }, [grid, frame, ends, unit, marks, theme, isUTC, width]);
  useEffect(() => onPoint((at, by) => setElsewhere(by === box ? null : at)), []);

  const find = (e: PointerEvent): Spot | null => {
    const at = canvas.current!.getBoundingClientRect();
    const x = e.clientX - at.left;
    const y = e.clientY - at.top;
    const inner = frame.width - edge.left - edge.right;
    const column = Math.floor(((x - edge.left) / inner) * grid.at.length);
    if (column < 0 || column >= grid.at.length) return null;
    let row = grid.edges.findIndex((v) => frame.y(v) <= y) - 1;
    if (row < 0) row = y < height / 2 ? grid.edges.length - 2 : 0;
    return { column, row, x, y };
  };
  const release = (e: PointerEvent) => {
    const end = find(e);
    if (pressed !== null && end && Math.abs(frame.x(end.column) - frame.x(pressed)) > 8) {
      const [a, b] = [Math.min(pressed, end.column), Math.max(pressed, end.column)];
      zoom(grid.at[a]!, grid.at[b]! + step);
    }
    setPressed(null);
  };
  const place = elsewhere === null ? null : columnOf(grid, elsewhere);
  const cell = spot && grid.cells[spot.column];
  const last = grid.p99.reduce<number>((found, v, i) => (v === null ? found : i), -1);
  return (
    <div class="heat" ref={box}>
      <canvas
        ref={canvas}
        role="img"
        aria-label={`${title}: newest p50 ${format(grid.p50[last], unit)}, p99 ${format(
          grid.p99[last],
          unit,
        )}, ${format(grid.count[last], "per_second")}. The button As a table has all values.`}
        style={{ height: `${height}px` }}
        onPointerDown={(e) => setPressed(find(e)?.column ?? null)}
        onPointerMove={(e) => {
          const spot = find(e);
          setSpot(spot);
          point(spot && grid.at[spot.column]!, box);
        }}
        onPointerLeave={() => {
          point(null, box);
          setSpot(null);
          setPressed(null);
        }}
        onPointerUp={release}
      />
      {place !== null && (
        <div
          class="heat-cursor"
          data-at={elsewhere}
          style={{
            left: `${frame.x(place + 0.5)}px`,
            top: `${edge.top}px`,
            height: `${height - edge.top - edge.bottom}px`,
          }}
        />
      )}
      {spot && pressed !== null && (
        <div
          class="heat-select"
          style={{
            left: `${Math.min(frame.x(pressed), frame.x(spot.column))}px`,
            width: `${Math.abs(frame.x(spot.column) - frame.x(pressed))}px`,
            top: `${edge.top}px`,
            height: `${height - edge.top - edge.bottom}px`,
          }}
        />
      )}
      {spot && (
        <div
          class="tip"
          style={{
            left: `${Math.max(0, spot.x > width / 2 ? spot.x - 256 : spot.x + 16)}px`,
            top: `${Math.max(0, spot.y - 24)}px`,
          }}
        >
          <strong>{stamp(grid.at[spot.column]!, isUTC)}</strong>{" "}
          {saidAt(marks, grid.at[spot.column]!)}
          <br />
          {rangeText(grid, spot.row, unit)}:{" "}
          {cell ? format(cell[spot.row], "per_second") : "nothing was measured"}
          {cell && (
            <>
              <br />
              <span class="dim">
                p50 {format(grid.p50[spot.column], unit)}, p99 {format(grid.p99[spot.column], unit)}
                , all {format(grid.count[spot.column], "per_second")}
              </span>
            </>
          )}
        </div>
      )}
      <Lanes from={grid.at[0]!} to={grid.at[0]! + stepIn(grid) * grid.at.length} />
      <div class="scale" aria-hidden="true">
        <span class="scale-ramp">
          <span>{format(ends.low, "per_second")}</span>
          {[0, 1, 2, 3, 4].map((i) => (
            <span class={`scale-${i}`} key={i} />
          ))}
          <span>{format(ends.high, "per_second")} in a bucket</span>
        </span>
        <span class="scale-key">
          <span class="heat-gap" /> <span>nothing was measured</span>
        </span>
      </div>
    </div>
  );
}

/** A row in words: 86 µs to 103 µs. */
function rangeText(grid: Grid, row: number, unit: string): string {
  if (row === 0 && grid.below) return `up to ${format(grid.edges[1], unit)}`;
  if (row === grid.edges.length - 2 && grid.above) return `over ${format(grid.edges[row], unit)}`;
  return `${format(grid.edges[row], unit)} to ${format(grid.edges[row + 1], unit)}`;
}

/** The ends of the colours, which are logarithmic: a few slow ones are seen beside many fast
 *  ones. */
function endsOf(grid: Grid): { low: number; high: number } {
  let high = 0;
  let low = Number.POSITIVE_INFINITY;
  for (const column of grid.cells) {
    for (const v of column ?? []) {
      if (v > high) high = v;
      if (v > 0 && v < low) low = v;
    }
  }
  if (high === 0) return { low: 0, high: 1 };
  return { low: Math.max(low, high / 1000), high };
}

/** Shades between the page's five colours. */
function shadesOf(): string[] {
  const stops = [0, 1, 2, 3, 4].map((i) => {
    const hex = colour(`--ramp-${i}`).slice(1);
    return [0, 2, 4].map((at) => Number.parseInt(hex.slice(at, at + 2), 16));
  });
  return Array.from({ length: shades }, (_, i) => {
    const at = (i / (shades - 1)) * 4;
    const from = Math.min(3, Math.floor(at));
    const mix = stops[from]!.map((a, c) =>
      Math.round(a + (stops[from + 1]![c]! - a) * (at - from)),
    );
    return `rgb(${mix.join(" ")})`;
  });
}

function draw(
  canvas: HTMLCanvasElement,
  grid: Grid,
  frame: Frame,
  ends: { low: number; high: number },
  unit: string,
  marks: Mark[],
): void {
  const { width, height, x, y } = frame;
  const ratio = devicePixelRatio;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const ctx = canvas.getContext("2d")!;
  ctx.scale(ratio, ratio);
  const bottom = height - edge.bottom;
  const colours = shadesOf();
  const span = Math.log(ends.high / ends.low) || 1;
  const whole = (v: number) => Math.round(v * ratio) / ratio; // cells meet without seams
  hatch(ctx, edge.left, edge.top, width - edge.left - edge.right, bottom - edge.top);
  const back = colour("--panel");
  grid.cells.forEach((column, i) => {
    if (!column) return;
    const left = whole(x(i));
    const wide = whole(x(i + 1)) - left;
    ctx.fillStyle = back;
    ctx.fillRect(left, edge.top, wide, bottom - edge.top);
    column.forEach((v, j) => {
      if (v <= 0) return;
      const part = ends.high === ends.low ? 1 : Math.log(v / ends.low) / span;
      ctx.fillStyle = colours[Math.max(0, Math.min(shades - 1, Math.round(part * (shades - 1))))]!;
      const top = whole(y(grid.edges[j + 1]!));
      ctx.fillRect(left, top, wide, whole(y(grid.edges[j]!)) - top);
    });
  });
  ctx.font = "12px system-ui, sans-serif";
  ctx.fillStyle = colour("--dim");
  ctx.strokeStyle = colour("--line");
  ctx.lineWidth = 1;
  ctx.strokeRect(
    edge.left - 0.5,
    edge.top - 0.5,
    width - edge.left - edge.right + 1,
    bottom - edge.top + 1,
  );
  ctx.textAlign = "right";
  ctx.textBaseline = "middle";
  for (const v of levels(grid, frame, unit)) {
    ctx.fillText(format(v, unit), edge.left - 8, y(v));
    ctx.beginPath();
    ctx.moveTo(edge.left - 4, Math.round(y(v)) + 0.5);
    ctx.lineTo(edge.left, Math.round(y(v)) + 0.5);
    ctx.stroke();
  }
  const at = (t: number) => x((t - grid.at[0]!) / stepIn(grid));
  const inner = {
    left: edge.left,
    top: edge.top,
    width: width - edge.left - edge.right,
    height: bottom - edge.top,
  };
  for (const m of marks) {
    if (m.until !== undefined) {
      shadeMark(ctx, m, [at(m.at), at(m.until)], inner);
      continue;
    }
    const column = columnOf(grid, m.at);
    if (column === null) continue;
    mark(ctx, m, x(column), edge.top, bottom);
  }
  ctx.fillStyle = colour("--dim");
  ctx.strokeStyle = colour("--line");
  ctx.textBaseline = "top";
  ctx.textAlign = "center";
  for (const [t, text] of times(grid, width)) {
    const at = x((t - grid.at[0]!) / stepIn(grid));
    ctx.fillText(text, at, bottom + 8);
    ctx.beginPath();
    ctx.moveTo(Math.round(at) + 0.5, bottom);
    ctx.lineTo(Math.round(at) + 0.5, bottom + 4);
    ctx.stroke();
  }
}

/** Thin slanted lines: a gap has a look of its own, beside its colour. */
function hatch(ctx: CanvasRenderingContext2D, x: number, y: number, w: number, h: number): void {
  ctx.save();
  ctx.beginPath();
  ctx.rect(x, y, w, h);
  ctx.clip();
  ctx.strokeStyle = colour("--line");
  ctx.lineWidth = 1;
  ctx.beginPath();
  for (let i = -h; i < w; i += 8) {
    ctx.moveTo(x + i, y + h);
    ctx.lineTo(x + i + h, y);
  }
  ctx.stroke();
  ctx.restore();
}

/** The column of an instant, with its parts; null outside. */
function columnOf(grid: Grid, at: number): number | null {
  const column = (at - grid.at[0]!) / stepIn(grid);
  return column < 0 || column > grid.at.length ? null : column;
}

function stepIn(grid: Grid): number {
  return grid.at.length > 1 ? grid.at[1]! - grid.at[0]! : 1;
}

/** Values that the axis names: 1, 10, 100 of a unit, and 2 and 5 between them if there is room. */
function levels(grid: Grid, frame: Frame, unit: string): number[] {
  const low = grid.edges[0]!;
  const high = grid.edges.at(-1)!;
  if (!(low > 0) || high === Number.POSITIVE_INFINITY) return [];
  const base = unit.startsWith("bytes") ? 1024 : 10;
  const finer = base === 10 ? [[1], [1, 3], [1, 2, 5]] : [[1], [1, 32], [1, 4, 16, 64, 256]];
  const room = 22;
  let list: number[] = [];
  for (const parts of finer) {
    const all: number[] = [];
    const first = Math.floor(Math.log(low) / Math.log(base)) - 1;
    for (let p = first; base ** p <= high; p++) {
      for (const m of parts) {
        const v = m * base ** p;
        if (v >= low && v <= high) all.push(v);
      }
    }
    const close = all.some((v, i) => i > 0 && frame.y(all[i - 1]!) - frame.y(v) < room);
    if (close && list.length > 0) break;
    list = all;
  }
  return list.filter((v, i) => i === 0 || frame.y(list[i - 1]!) - frame.y(v) > 14);
}

const ticks = [60, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800, 604800];

/** Times that the axis names. */
function times(grid: Grid, width: number): [number, string][] {
  const from = grid.at[0]!;
  const to = grid.at.at(-1)!;
  const most = Math.max(2, Math.floor((width - edge.left) / 90));
  const every = ticks.find((t) => (to - from) / t <= most) ?? 30 * 86400;
  const shift = utc() ? 0 : -60 * new Date(from * 1000).getTimezoneOffset();
  const list: [number, string][] = [];
  for (let t = Math.ceil((from + shift) / every) * every - shift; t <= to; t += every) {
    const s = stamp(t);
    list.push([
      t,
      every >= 86400 ? s.slice(5, 10) : to - from > 86400 * 2 ? s.slice(5, 16) : s.slice(11, 16),
    ]);
  }
  // A name at the very end would be cut.
  return list.filter(([t]) => (t - from) / (to - from || 1) < 0.98);
}
