// Events as bars in lanes: which lanes there are, which bars are in them, which one a key leads to.
import { type Event, eventKinds, kindText, ranks, when } from "./activity";

/** How many lanes there are; the last one has all kinds that have none. */
export const mostLanes = 4;

/** A lane: the events of a kind by where they are in it. */
export interface Lane {
  kinds: string[];
  name: string;
  worst: number;
  bars: Map<number, Event[]>;
}

/** The lanes of events in a time, for so many places of bars. */
export function lanesOf(
  list: Event[],
  { from, to }: { from: number; to: number },
  places: number,
  most = mostLanes,
): Lane[] {
  const order = new Map(eventKinds.map(([kind], i) => [kind, i]));
  const byKind = new Map<string, Lane>();
  for (const e of list) {
    const part = (when(e.at) - from) / (to - from);
    if (!(part >= 0 && part <= 1)) continue;
    let lane = byKind.get(e.kind);
    if (!lane) {
      lane = { kinds: [e.kind], name: kindText(e.kind), worst: 0, bars: new Map() };
      byKind.set(e.kind, lane);
    }
    lane.worst = Math.max(lane.worst, ranks[e.severity] ?? 0);
    add(lane.bars, Math.min(places - 1, Math.floor(part * places)), [e]);
  }
  const place = (l: Lane) => order.get(l.kinds[0]!) ?? order.size;
  const lanes = [...byKind.values()].sort((a, b) => b.worst - a.worst || place(a) - place(b));
  if (lanes.length <= most) return lanes;
  const rest = lanes.splice(most - 1);
  const others: Lane = { kinds: [], name: "others", worst: rest[0]!.worst, bars: new Map() };
  for (const { kinds, bars } of rest) {
    others.kinds.push(...kinds);
    for (const [at, events] of bars) add(others.bars, at, events);
  }
  return [...lanes, others];
}

function add(bars: Lane["bars"], at: number, list: Event[]): void {
  const there = bars.get(at);
  if (there) there.push(...list);
  else bars.set(at, [...list]);
}

/** A bar of a lane. */
export interface Spot {
  lane: number;
  at: number;
}

/** The bar that a key leads to. */
export function moved(lanes: Lane[], spot: Spot | null, key: string): Spot | null {
  const lane = spot && lanes[spot.lane] ? spot.lane : 0;
  const bars = (l: number) => [...(lanes[l]?.bars.keys() ?? [])].sort((a, b) => a - b);
  const list = bars(lane);
  const at = spot?.at ?? Number.POSITIVE_INFINITY;
  const to = (l: number, place: number | undefined) =>
    place === undefined ? null : { lane: l, at: place };
  switch (key) {
    case "ArrowLeft":
      return to(lane, list.filter((b) => b < at).at(-1) ?? list[0]);
    case "ArrowRight":
      return to(lane, list.find((b) => b > at) ?? list.at(-1));
    case "Home":
      return to(lane, list[0]);
    case "End":
      return to(lane, list.at(-1));
    case "ArrowUp":
    case "ArrowDown": {
      const next = Math.max(0, Math.min(lanes.length - 1, lane + (key === "ArrowUp" ? -1 : 1)));
      const near = bars(next).sort((a, b) => Math.abs(a - at) - Math.abs(b - at));
      return to(next, near[0]);
    }
  }
  return null;
}

/** The lanes in words, for whoever does not see them. */
export function summary(lanes: Lane[]): string {
  if (lanes.length === 0) return "Events: none in this time";
  const said = lanes.map(({ name, bars }) => {
    let count = 0;
    for (const list of bars.values()) count += list.length;
    return `${name} ${count}`;
  });
  return `Events: ${said.join(", ")}. Arrow keys go through them, Enter shows all of an instant.`;
}

/** The room that names need at the left, in pixels: all of it, but at most 40 % of the width. */
export function roomFor(names: string[], measure: (text: string) => number, width: number): number {
  const widest = Math.max(0, ...names.map(measure));
  return Math.min(Math.max(64, Math.ceil(widest) + 8), Math.max(64, Math.floor(0.4 * width)));
}

/** A name in so many pixels: its beginning and an ellipsis if it is longer. */
export function shortened(name: string, room: number, measure: (text: string) => number): string {
  if (measure(name) <= room) return name;
  let end = name.length - 1;
  while (end > 1 && measure(`${name.slice(0, end)}…`) > room) end--;
  return `${name.slice(0, end).trimEnd()}…`;
}
