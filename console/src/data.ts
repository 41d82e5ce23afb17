// Data that is asked for again and again while somebody looks at it.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { type Answer, ApiError, queryRange, type Series } from "./api";
import { live, type Range, refreshOf } from "./time";

/** What is known of something at a moment. */
export interface Data<T> {
  value: T | undefined; // the last that was heard
  at: number; // when it was heard, ms; 0: never
  error: Error | undefined; // why it could not be asked the last time
  loading: boolean; // nothing was heard yet of what is asked for now
}

/** How often data is asked for again, ms. */
export const refresh = 5000;

/** How often what is dear to make is asked for again: never, nor when its tab is shown again. */
export const once = Number.POSITIVE_INFINITY;

/**
 * Loads data now and every so often: one request at a time, none while the tab is hidden. What was
 * loaded stays while it is loaded again, and while that fails. A slow API rests as long as it took.
 * name says what is asked for: another name forgets what the old one gave, unless keep says that it
 * may stand until the new data comes.
 * What is dear to make is asked for with every set to once: never again after it has come.
 */
export function useData<T>(
  name: string | null,
  load: (signal: AbortSignal) => Promise<T>,
  { every = refresh, keep = false }: { every?: number; keep?: boolean } = {},
): Data<T> {
  const [data, set] = useState<Data<T> & { name: string | null }>({
    value: undefined,
    at: 0,
    error: undefined,
    loading: true,
    name,
  });
  const loader = useRef(load);
  loader.current = load;
  // Asked at once, not after the page without data was painted.
  useLayoutEffect(() => {
    if (name === null) return;
    const stop = new AbortController();
    let timer = 0;
    let running = false;
    let done = false;
    const run = async () => {
      if (running || done || document.hidden || stop.signal.aborted) return;
      running = true;
      clearTimeout(timer);
      const began = Date.now();
      let wait = every;
      try {
        const value = await loader.current(stop.signal);
        if (stop.signal.aborted) return;
        set({ value, at: Date.now(), error: undefined, loading: false, name });
        done = every === once;
      } catch (e) {
        if (stop.signal.aborted) return;
        const error = e instanceof Error ? e : new Error(String(e));
        wait = Math.min(every, 10_000); // what is asked for rarely is missed meanwhile
        if (e instanceof ApiError) wait = Math.max(wait, e.retryAfter * 1000);
        set((old) => ({
          ...old,
          ...(old.name !== name && !keep && { value: undefined, at: 0 }),
          error,
          loading: false,
          name,
        }));
      } finally {
        running = false;
      }
      const took = Date.now() - began;
      if (!done) timer = window.setTimeout(run, Math.max(took, wait - took));
    };
    const shown = () => {
      if (!document.hidden) run();
    };
    document.addEventListener("visibilitychange", shown);
    run();
    return () => {
      stop.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", shown);
    };
  }, [name, every, keep]);
  if (data.name !== name) {
    return keep
      ? { ...data, error: undefined }
      : { value: undefined, at: 0, error: undefined, loading: true };
  }
  return data;
}

/** The series of an expression over a range, and when they came, ms. */
export interface Drawn {
  answer: Answer<Series>;
  range: Range;
  at: number;
}

/** Whether the same question would give the same: nothing was missing, and no new step has begun.
 *  After a minute old data may have come late. */
export const same = ({ answer, range, at }: Drawn, to: number, now: number): boolean =>
  range.to === to && answer.warnings.length === 0 && now - at < 60_000;

/** Loads the series of an expression over a range; null loads nothing. While the range ends now
 *  they are asked for again when that may give something else. */
export function useSeries(expr: string | null, range: Range): Data<Drawn> {
  const span = range.live ? `last ${range.to - range.from}` : `${range.from} ${range.to}`;
  const name = expr && `${expr} ${span} ${range.step}`;
  const last = useRef<{ name: string; drawn: Drawn } | null>(null);
  const data = useData<Drawn>(
    name,
    async (signal) => {
      const now = range.live ? live(range) : range;
      const old = last.current;
      if (old?.name === name && same(old.drawn, now.to, Date.now())) return old.drawn;
      const drawn = { answer: await queryRange(expr!, now, signal), range: now, at: Date.now() };
      last.current = { name: name!, drawn };
      return drawn;
    },
    { every: refreshOf(range), keep: true },
  );
  return { ...data, at: data.value?.at ?? data.at }; // what is the same has its old age
}

/** Whether something is ready and what it made of the page has been painted. */
export function usePainted(ready: boolean): boolean {
  const [painted, set] = useState(false);
  useEffect(() => {
    if (!ready || painted) return;
    let timer = 0;
    const frame = requestAnimationFrame(() => {
      timer = window.setTimeout(() => set(true));
    });
    return () => {
      cancelAnimationFrame(frame);
      clearTimeout(timer);
    };
  }, [ready, painted]);
  return ready && painted;
}

/** The time in ms, again every so often, for ages that grow. */
export function useNow(every = 1000): number {
  const [now, set] = useState(Date.now);
  useEffect(() => {
    const timer = window.setInterval(() => {
      if (!document.hidden) set(Date.now());
    }, every);
    return () => window.clearInterval(timer);
  }, [every]);
  return now;
}
