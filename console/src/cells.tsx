// A map of cells, one for each node, coloured by a value: ten thousand of them are one canvas.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { isRare } from "./states";
import { colour, useTheme } from "./theme";

/** A cell. */
export interface Cell {
  id: string;
  name: string;
  group: string; // cells of one group stand together under its name
  value: number; // NaN: none is known
  state: string; // one of states
  text: string; // what is said of it
  plain?: boolean; // it has nothing that the map shows: its colour is its state
}

/** How a value becomes a colour: low and high are the ends of the scale. */
export interface Scale {
  low: number;
  high: number;
  show: (v: number) => string;
}

interface Spot {
  x: number;
  y: number;
  cell: Cell;
}

const headHeight = 20;
const gap = 2;

/** Where cells and the groups' names stand within a width. */
function lay(cells: Cell[], width: number) {
  const groups = new Map<string, Cell[]>();
  for (const c of cells) {
    const list = groups.get(c.group);
    if (list) list.push(c);
    else groups.set(c.group, [c]);
  }
  const size = cells.length > 4000 ? 9 : cells.length > 800 ? 12 : cells.length > 60 ? 18 : 28;
  const pitch = size + gap;
  const spots: Spot[] = [];
  const heads: { x: number; y: number; text: string; room: number }[] = [];
  let x = 0;
  let y = 0;
  let tall = 0;
  for (const [text, list] of groups) {
    const most = Math.max(1, Math.floor(width / pitch));
    const square = Math.ceil(Math.sqrt(list.length * 2.5));
    const columns = Math.min(most, Math.max(square, Math.ceil(Math.min(width, 120) / pitch)));
    const rows = Math.ceil(list.length / columns);
    const room = columns * pitch;
    if (x > 0 && x + room > width) {
      x = 0;
      y += tall + 12;
      tall = 0;
    }
    heads.push({ x, y: y + 13, text, room });
    for (let i = 0; i < list.length; i++) {
      spots.push({
        x: x + (i % columns) * pitch,
        y: y + headHeight + Math.floor(i / columns) * pitch,
        cell: list[i]!,
      });
    }
    tall = Math.max(tall, headHeight + rows * pitch);
    x += room + 20;
  }
  return { spots, heads, size, height: y + tall };
}

/** The map. The table beside it says the same to whoever does not see it. */
export function Cells({
  name,
  cells,
  scale,
  open,
}: {
  name: string;
  cells: Cell[];
  scale: Scale;
  open: (id: string) => void;
}) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  const [hover, setHover] = useState<Spot | null>(null);
  const theme = useTheme();
  const layout = useMemo(() => lay(cells, width || 600), [cells, width]);

  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    setWidth(element.clientWidth);
    const watch = new ResizeObserver(() => setWidth(element.clientWidth));
    watch.observe(element);
    return () => watch.disconnect();
  }, []);

  useEffect(() => {
    const element = canvas.current;
    if (!element || !width) return;
    const ratio = devicePixelRatio;
    element.width = width * ratio;
    element.height = layout.height * ratio;
    const ctx = element.getContext("2d")!;
    ctx.scale(ratio, ratio);
    const ramp = [0, 1, 2, 3, 4].map((i) => colour(`--ramp-${i}`));
    const none = colour("--line");
    const down = colour("--bad");
    const late = colour("--warn");
    const up = colour("--ok");
    const dim = colour("--dim");
    const frames: Record<string, string> = { late, not_serving: down };
    ctx.fillStyle = dim;
    ctx.font = "12px system-ui, sans-serif";
    for (const h of layout.heads) ctx.fillText(fit(ctx, h.text, h.room), h.x, h.y);
    for (const { x, y, cell } of layout.spots) {
      ctx.fillStyle = cell.plain && !isRare(cell.state) ? up : none;
      if (!Number.isNaN(cell.value)) {
        const part = (cell.value - scale.low) / (scale.high - scale.low || 1);
        ctx.fillStyle = ramp[Math.max(0, Math.min(4, Math.floor(part * 5)))]!;
      }
      const size = layout.size;
      if (cell.state === "down") {
        // A frame with a cross: its shape says it, too.
        ctx.strokeStyle = down;
        ctx.lineWidth = 2;
        ctx.strokeRect(x + 1, y + 1, size - 2, size - 2);
        ctx.beginPath();
        ctx.moveTo(x + 3, y + 3);
        ctx.lineTo(x + size - 3, y + size - 3);
        ctx.stroke();
        continue;
      }
      ctx.fillRect(x, y, size, size);
      if (cell.state !== "up") {
        ctx.strokeStyle = frames[cell.state] ?? dim;
        ctx.lineWidth = 2;
        ctx.strokeRect(x + 1, y + 1, size - 2, size - 2);
      }
    }
  }, [layout, width, scale.low, scale.high, theme]);

  const find = (e: MouseEvent): Spot | null => {
    const at = canvas.current!.getBoundingClientRect();
    const x = e.clientX - at.left;
    const y = e.clientY - at.top;
    const reach = layout.size + gap;
    return (
      layout.spots.find((s) => x >= s.x && x < s.x + reach && y >= s.y && y < s.y + reach) ?? null
    );
  };
  return (
    <div class="cells" ref={box}>
      <canvas
        ref={canvas}
        role="img"
        aria-label={`${name}: ${cells.length} nodes`}
        style={{
          width: "100%",
          height: `${layout.height}px`,
          cursor: hover ? "pointer" : "default",
        }}
        onMouseMove={(e) => setHover(find(e))}
        onMouseLeave={() => setHover(null)}
        onClick={(e) => {
          const spot = find(e);
          if (spot) open(spot.cell.id);
        }}
      />
      {hover && (
        <div
          class="tip"
          style={{
            left: `${Math.max(0, Math.min(hover.x, width - 240))}px`,
            top: `${hover.y + layout.size + 6}px`,
          }}
        >
          <strong>{hover.cell.name}</strong>
          <br />
          {hover.cell.text}
        </div>
      )}
      <div class="scale" aria-hidden="true">
        <span class="scale-ramp">
          <span>{scale.show(scale.low)}</span>
          {[0, 1, 2, 3, 4].map((i) => (
            <span class={`scale-${i}`} key={i} />
          ))}
          <span>{scale.show(scale.high)}</span>
        </span>
        <span class="scale-key">
          <span class="scale-none" /> <span>no value</span>
        </span>
        {cells.some((c) => c.plain) && (
          <span class="scale-key">
            <span class="scale-up" /> <span>up</span>
          </span>
        )}
        <span class="scale-key">
          <span class="scale-down" /> <span>down</span>
        </span>
      </div>
    </div>
  );
}

/** Text cut to a width. */
function fit(ctx: CanvasRenderingContext2D, text: string, room: number): string {
  if (ctx.measureText(text).width <= room) return text;
  let t = text;
  while (t && ctx.measureText(`${t}…`).width > room) t = t.slice(0, -1);
  return `${t}…`;
}
