// Events under charts: a lane for each kind, the most severe on top, on the charts' own time.
import { createContext } from "preact";
import { useContext, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Event, kindText, ranks, type Severity, when } from "./activity";
import { onPoint, point } from "./cursor";
import { sentence } from "./faces";
import {
  type Lane,
  lanesOf,
  moved,
  mostLanes,
  roomFor,
  shortened,
  type Spot,
  summary,
} from "./lane";
import { type Log, useLog, type Wanted } from "./log";
import { go } from "./place";
import { colour, useTheme } from "./theme";
import { type Range, stamp, useUTC } from "./time";

const edge = { left: 64, right: 8 }; // as charts and heat maps have them
const gap = 2; // px on both sides of a name
const font = "11px system-ui, sans-serif";
const laneHeight = 12;
const barWidth = 4;

/** How many events are asked for; charts of a page share them. */
const mostEvents = 1000;

/** How many texts a hint shows. */
const mostTexts = 3;

/** Severities are told apart by height, too. */
const looks: Record<Severity, [colour: string, height: number]> = {
  error: ["--bad", 10],
  warning: ["--warn", 7],
  info: ["--accent", 4],
};

/** The events that the charts below show; null: they show none. */
export const Happened = createContext<Log | null>(null);

/** The events of a cluster or a node in the charts' time, for all charts of a page. */
export const useHappened = (of: Wanted, range: Range) =>
  useLog(of, range, { limit: mostEvents, every: 15_000 });

/** The lanes of the page's events between two instants; nothing on a page without events. Alone
 *  they stand under no chart, and their names have the room that they need. */
export function Lanes(props: { from: number; to: number; most?: number; alone?: boolean }) {
  const log = useContext(Happened);
  return log && props.to > props.from ? <Strip log={log} {...props} /> : null;
}

function Strip({
  log,
  from,
  to,
  most = mostLanes,
  alone = false,
}: {
  log: Log;
  from: number;
  to: number;
  most?: number;
  alone?: boolean;
}) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const [spot, setSpot] = useState<Spot | null>(null);
  const [elsewhere, setElsewhere] = useState<number | null>(null);
  const theme = useTheme();
  const isUTC = useUTC();
  const left = useMemo(
    () => (alone ? roomFor(kindsIn(log.events), measure, width) : edge.left),
    [alone, log.events, width],
  );
  const inner = Math.max(0, width - left - edge.right);
  const places = Math.max(1, Math.floor(inner / barWidth));
  const lanes = useMemo(
    () => lanesOf(log.events, { from, to }, places, most),
    [log.events, from, to, places, most],
  );
  const height = most * laneHeight + 4;
  const oldest = log.more && log.events.length > 0 ? when(log.events.at(-1)!.at) : from;
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const watch = new ResizeObserver(() => setWidth(element.clientWidth));
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  useEffect(() => onPoint((at, by) => setElsewhere(by === box ? null : at)), []);
  useEffect(() => {
    if (!canvas.current || !inner) return;
    const unknown = Math.max(0, Math.min(1, (oldest - from) / (to - from)));
    draw(canvas.current, lanes, { width, height, left, places, unknown, spot });
  }, [lanes, width, height, left, theme, spot, oldest, from, to]);

  const timeOf = (at: number) => from + ((at + 0.5) / places) * (to - from);
  const show = (next: Spot | null) => {
    setSpot(next);
    point(next && timeOf(next.at), box);
  };
  /** The bar that is nearest to a place of the pointer. */
  const find = (e: PointerEvent): Spot | null => {
    const bounds = canvas.current!.getBoundingClientRect();
    const lane = Math.floor((e.clientY - bounds.top) / laneHeight);
    const want = (e.clientX - bounds.left - left) / barWidth - 0.5;
    let best: number | undefined;
    for (const at of lanes[lane]?.bars.keys() ?? []) {
      if (Math.abs(at - want) <= Math.abs((best ?? want + 3) - want)) best = at;
    }
    return best === undefined ? null : { lane, at: best };
  };
  const enter = ({ lane, at }: Spot) => {
    const wide = (to - from) / places;
    const { cluster = null, node = null } = log.wanted;
    go(["events"], {
      ...{ cluster: cluster || null, node: node || null, kind: lanes[lane]!.kinds.join(",") },
      ...{ range: null, from: String(Math.floor(timeOf(at) - 2 * wide)) },
      to: String(Math.ceil(timeOf(at) + 2 * wide)),
    });
  };
  const press = (e: KeyboardEvent) => {
    if (e.key === "Enter" && spot) enter(spot);
    else if (e.key === "Escape") show(null);
    else {
      const next = moved(lanes, spot, e.key);
      if (!next) return;
      show(next);
    }
    e.preventDefault();
  };
  const found = (spot && lanes[spot.lane]?.bars.get(spot.at)) ?? [];
  const at = spot ? left + spot.at * barWidth : 0;
  return (
    <div class="lanes" ref={box} style={{ height: `${height}px` }}>
      <canvas
        ref={canvas}
        role="img"
        tabIndex={0}
        aria-label={summary(lanes)}
        style={{ height: `${height}px` }}
        onPointerMove={(e) => show(find(e))}
        onPointerLeave={() => show(null)}
        onClick={() => spot && enter(spot)}
        onKeyDown={press}
        onFocus={(e) => {
          if (!spot && e.currentTarget.matches(":focus-visible")) show(moved(lanes, null, "End"));
        }}
        onBlur={() => show(null)}
      />
      {lanes.length === 0 && (
        <span class="lanes-none dim">
          {log.data.error && log.events.length === 0
            ? `Events: ${sentence(log.data.error.message)}`
            : log.data.at
              ? "no events in this time"
              : "events …"}
        </span>
      )}
      {elsewhere !== null && elsewhere >= from && elsewhere <= to && (
        <div
          class="lane-cursor"
          style={{
            left: `${left + ((elsewhere - from) / (to - from)) * inner}px`,
            top: "0",
            height: `${height}px`,
          }}
        />
      )}
      <div
        class="tip lanes-tip"
        role="status"
        hidden={found.length === 0}
        style={at > width / 2 ? { right: `${width - at}px` } : { left: `${at + barWidth}px` }}
      >
        {found.slice(0, mostTexts).map((e) => (
          <p key={e.id}>
            <strong>{stamp(when(e.at), isUTC)}</strong>{" "}
            <span class={`severity ${e.severity}`}>{kindText(e.kind)}</span>{" "}
            <bdi class="dim">{e.name || e.node}</bdi>
            <bdi class="lanes-text">{textOf(e)}</bdi>
          </p>
        ))}
        {found.length > mostTexts && <p class="dim">and {found.length - mostTexts} more</p>}
      </div>
    </div>
  );
}

/** What an event says; without a text its labels. */
export function textOf({ text, labels = {} }: Event): string {
  return (
    text ||
    Object.entries(labels)
      .map(([name, value]) => `${name} ${value}`)
      .join(", ")
  );
}

/** The width of a name, in pixels. */
function measure(text: string): number {
  const ctx = document.createElement("canvas").getContext("2d")!;
  ctx.font = font;
  return ctx.measureText(text).width;
}

/** The names of all lanes that events can have. */
const kindsIn = (list: Event[]): string[] => [
  ...new Set([...list.map((e) => kindText(e.kind)), "others"]),
];

function draw(
  canvas: HTMLCanvasElement,
  lanes: Lane[],
  {
    width,
    height,
    left,
    places,
    unknown,
    spot,
  }: {
    width: number;
    height: number;
    left: number;
    places: number;
    unknown: number; // which part of the time is before the oldest event that is known
    spot: Spot | null;
  },
): void {
  const ratio = devicePixelRatio;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const ctx = canvas.getContext("2d")!;
  ctx.scale(ratio, ratio);
  const inner = places * barWidth;
  const dim = colour("--dim");
  const text = colour("--text");
  const inks = Object.fromEntries(Object.entries(looks).map(([of, [name]]) => [of, colour(name)]));
  const line = colour("--line");
  ctx.font = font;
  ctx.textAlign = "right";
  ctx.textBaseline = "middle";
  lanes.forEach(({ name, bars }, i) => {
    const bottom = (i + 1) * laneHeight;
    ctx.fillStyle = line;
    ctx.fillRect(left, bottom, inner, 1);
    ctx.fillStyle = dim;
    const said = shortened(name, left - 2 * gap, (t) => ctx.measureText(t).width);
    ctx.fillText(said, left - gap, bottom - laneHeight / 2 + 1);
    for (const [at, list] of bars) {
      const worst = list.reduce((a, b) => (ranks[b.severity] > ranks[a.severity] ? b : a));
      const [, tall] = looks[worst.severity] ?? looks.info;
      const pointed = spot?.lane === i && spot.at === at;
      ctx.fillStyle = pointed ? text : (inks[worst.severity] ?? dim);
      ctx.fillRect(left + at * barWidth, bottom - tall, barWidth - 1, tall);
    }
  });
  if (unknown > 0 && lanes.length > 0) {
    // Before that there are more events than were asked for.
    ctx.fillStyle = line;
    for (let x = 0; x < unknown * inner; x += 6) {
      ctx.fillRect(left + x, lanes.length * laneHeight + 2, 3, 1);
    }
  }
}
