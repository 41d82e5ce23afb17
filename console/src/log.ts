// Events of a time, the newest first: older ones are loaded when they are wanted, and newer ones
// come by themselves.
import { useRef, useState } from "preact/hooks";
import { type Event, events } from "./activity";
import { type Data, once, useData } from "./data";
import type { Range } from "./time";

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

interface Kept {
  name: string;
  list: Event[];
  next: string;
}

/** The events of the range: so many at once, newer ones every so many ms while its end is now. */
export function useLog(
  wanted: Wanted,
  range: Range,
  { limit, every }: { limit: number; every: number },
): Log {
  const span = range.live ? `last ${range.to - range.from}` : `${range.from} ${range.to}`;
  const name = `events ${JSON.stringify(wanted)} ${span}`;
  const kept = useRef<Kept>({ name: "", list: [], next: "" });
  const [, again] = useState(0);
  const [asks, setAsks] = useState("");
  const [failed, setFailed] = useState<Error>();
  const time = range.live
    ? { period: `${range.to - range.from}s` }
    : { from: String(range.from), to: String(range.to) };
  const data = useData(
    name,
    async (signal) => {
      const old = kept.current.name === name ? kept.current : undefined;
      if (old?.list.length) {
        const found = range.live ? await newer(old.list[0]!.id, signal) : [];
        const now = kept.current; // older ones may have come meanwhile
        if (found.length > 0 && now.name === name) {
          const list = [...found.reverse(), ...now.list];
          const cut = list.length > mostKept;
          kept.current = { name, list: list.slice(0, mostKept), next: cut ? "" : now.next };
        }
        return name;
      }
      const page = await events({ ...wanted, ...time, limit }, signal);
      kept.current = { name, list: page.events, next: page.next ?? "" };
      setFailed(undefined);
      return name;
    },
    { every: range.live ? every : once, keep: true },
  );

  /** Events after one, oldest first: all, but of a flood the rest comes with the next question. */
  async function newer(id: string, signal: AbortSignal): Promise<Event[]> {
    const found: Event[] = [];
    for (let i = 0; i < 5; i++) {
      const after = found.at(-1)?.id ?? id;
      const page = await events({ ...wanted, after, limit }, signal);
      found.push(...page.events);
      if (page.events.length < limit) break;
    }
    return found;
  }

  // What another question gave stands until this one is answered.
  const { list } = kept.current;
  const next = kept.current.name === name ? kept.current.next : "";
  const older = async () => {
    if (!next || asks === name) return;
    setAsks(name);
    try {
      const page = await events({ ...wanted, ...time, limit, cursor: next });
      const now = kept.current;
      if (now.name === name) {
        kept.current = { name, list: [...now.list, ...page.events], next: page.next ?? "" };
      }
      setFailed(undefined);
    } catch (e) {
      setFailed(e instanceof Error ? e : new Error(String(e)));
    } finally {
      setAsks("");
      again((n) => n + 1);
    }
  };
  return {
    wanted,
    events: list,
    more: next !== "" && list.length < mostKept,
    data,
    older,
    busy: asks === name,
    failed,
  };
}
