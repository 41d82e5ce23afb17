// Events of a time, the newest first: older ones are loaded when they are wanted, and newer ones
// come by themselves.
import { useRef, useState } from "preact/hooks";
import { type Event, type EventPage, events, when } from "./activity";
import { type Data, once, useData } from "./data";
import { periodOf, type Range } from "./time";

/** Which events are wanted; what is empty is not asked for. */
export interface Wanted {
  cluster?: string;
  node?: string;
  kind?: string;
  severity?: string;
  text?: string;
}

/** What is known of the events of a time. */
export interface Log {
  wanted: Wanted;
  events: Event[];
  /** There are older ones in this time. */
  more: boolean;
  data: Data<unknown>;
  /** Loads older ones. */
  older: () => void;
  /** Older ones are being loaded. */
  busy: boolean;
  /** Why older ones did not come. */
  failed: Error | undefined;
}

/** So many are kept; more than that nobody reads, and filters find the others. */
export const mostKept = 3000;

/** How often it is asked at once for what an answer had no room or no time for. */
const mostAsked = 5;

interface Kept {
  name: string; // of the question
  list: Event[];
  next: string; // the way to older ones
  since: string; // the way to newer ones
}

/** How long an event may take to come, ms: those of different nodes do not come in order. */
const mostLate = 300_000;

/** The ids that an event stands for: of a change of the schema what each node said. */
const idsOf = (e: Event) => [e.id, ...(e.also ?? [])];

/**
 * Both lists as one, newest first, each event once: late ones come twice, or between others. Of a
 * change of the schema an answer tells by what it has: what more nodes said of one that is known is
 * added to it.
 */
export function merged(list: Event[], more: Event[]): Event[] {
  const byId = new Map<string, Event>();
  const set = (e: Event) => idsOf(e).forEach((id) => byId.set(id, e));
  list.forEach(set);
  let same = true;
  for (const e of more) {
    const ids = idsOf(e);
    const added = ids.filter((id) => !byId.has(id));
    if (added.length === 0) continue;
    same = false;
    const old = ids.map((id) => byId.get(id)).find(Boolean);
    if (!old) {
      set(e);
      continue;
    }
    const first = when(e.at) < when(old.at) ? e : old;
    const all = [...idsOf(old), ...added];
    set({ ...first, nodes: all.length, also: all.filter((id) => id !== first.id) });
  }
  if (same) return list;
  return [...new Set(byId.values())].sort(
    (a, b) => when(b.at) - when(a.at) || (a.id < b.id ? 1 : -1),
  );
}

/**
 * From when on newer events are asked for behind a list that began to be asked for at an instant,
 * ms: so far before its end that what is late comes too, but not before what it has if there are
 * older ones. A node's clock may be ahead, so its event is not the end.
 */
export function sinceOf(list: Event[], older: boolean, began: number): string {
  const at = (e: Event | undefined, none: number) => (e ? when(e.at) * 1000 : none);
  const since = Math.min(began, at(list[0], began)) - mostLate;
  return new Date(older ? Math.max(since, at(list.at(-1), since)) : since).toISOString();
}

/** The events of the range: so many at once, newer ones every so many ms while its end is now. */
export function useLog(
  wanted: Wanted,
  range: Range,
  { limit, every }: { limit: number; every: number },
): Log {
  const name = `events ${JSON.stringify(wanted)} ${JSON.stringify(periodOf(range))}`;
  const kept = useRef<Kept>({ name: "", list: [], next: "", since: "" });
  const [, again] = useState(0);
  const [asks, setAsks] = useState("");
  const [failed, setFailed] = useState<Error>();
  const ask = (params: object, signal?: AbortSignal) =>
    events({ ...wanted, limit, ...params }, signal);

  /** A page of older events: one may be empty while there are more. */
  async function page(cursor: string, signal?: AbortSignal): Promise<EventPage> {
    let answer: EventPage = { events: [], next: cursor };
    for (let i = 0; i < mostAsked && answer.events.length === 0; i++) {
      answer = await ask({ ...periodOf(range), cursor: answer.next }, signal);
      if (!answer.next) break;
    }
    return answer;
  }

  const data = useData(
    name,
    async (signal) => {
      const old = kept.current;
      if (old.name !== name) {
        const began = Date.now();
        const { events: list, next = "" } = await page("", signal);
        kept.current = { name, list, next, since: sinceOf(list, next !== "", began) };
        setFailed(undefined);
        return name;
      }
      let since = old.since;
      const found: Event[] = [];
      for (let i = 0; i < mostAsked && range.live; i++) {
        const answer = await ask({ ...periodOf(range), after: since }, signal);
        found.push(...answer.events);
        since = answer.next ?? since;
        if (!answer.more) break;
      }
      const now = kept.current; // older ones may have come meanwhile
      if (now.name !== name) return name;
      const list = merged(now.list, found);
      const cut = list.length > mostKept;
      const next = cut ? list[mostKept - 1]!.id : now.next;
      kept.current = { name, list: cut ? list.slice(0, mostKept) : list, next, since };
      return name;
    },
    { every: range.live ? every : once, keep: true },
  );

  // What another question gave stands until this one is answered.
  const { list } = kept.current;
  const next = kept.current.name === name ? kept.current.next : "";
  const older = async () => {
    if (!next || asks === name) return;
    setAsks(name);
    try {
      const answer = await page(next);
      const now = kept.current;
      if (now.name === name) {
        const list = merged(now.list, answer.events);
        kept.current = { ...now, list, next: answer.next ?? "" };
      }
      setFailed(undefined);
    } catch (e) {
      setFailed(e instanceof Error ? e : new Error(String(e)));
    } finally {
      setAsks("");
      again((n) => n + 1);
    }
  };
  const more = next !== "" && list.length < mostKept;
  return { wanted, events: list, more, data, older, busy: asks === name, failed };
}
