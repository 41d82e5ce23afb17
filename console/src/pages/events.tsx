// What happened, the newest first: filters, older events on demand, newer ones by themselves.
import { useEffect, useState } from "preact/hooks";
import { type Event, eventKinds, kindText, type Severity as Level, when } from "../activity";
import { once } from "../data";
import { Empty, Failed, Severity, Shown } from "../faces";
import { Choice, Field } from "../filter";
import { Happened, Lanes, textOf } from "../lanes";
import { type Log, mostKept, useLog } from "../log";
import { NodeLink, useOf, Whose } from "../parts";
import { link, setParams, usePlace } from "../place";
import { live, rangeOf, stamp, useUTC } from "../time";
import { format } from "../units";

/** How many events are loaded at once. */
const atOnce = 200;

/** How often newer ones are asked for, ms. */
const pace = 3000;

/** Who has scrolled so far, in pixels, reads: newer events wait. */
const reads = 200;

const severities: [Level, string][] = [
  ["warning", "warnings and errors"],
  ["error", "errors"],
];

const filters = ["cluster", "node", "kind", "severity", "q"];

/** The page. */
export function EventsPage() {
  const place = usePlace();
  const { params } = place;
  const range = rangeOf(place);
  const follow = range.live && params.get("follow") !== "no";
  const of = useOf();
  const text = useTyped(params.get("q") ?? "");
  const kind = params.get("kind") ?? "";
  const severity = params.get("severity") ?? "";
  const log = useLog({ ...of, kind, severity, text }, range, {
    limit: atOnce,
    every: follow ? pace : once,
  });
  const now = range.live ? live(range) : range;
  const { shown, waiting, show } = useShown(log.events);
  const filtered = filters.some((name) => params.get(name));
  return (
    <>
      <div class="page-head">
        <h1>Events</h1>
        <span class="head-link fields">
          <Whose of={of} />
          <Choice name="severity" value={severity} list={severities} />
        </span>
      </div>
      <Kinds chosen={kind ? kind.split(",") : []} />
      <section class="panel" aria-label="Events">
        <div class="panel-head">
          <h2>Newest first</h2>
          <button
            type="button"
            class="toggle"
            aria-pressed={follow}
            title="Newer events come by themselves"
            onClick={() => setParams({ follow: follow ? "no" : null, from: null, to: null })}
          >
            {follow ? "● follows" : "○ follow"}
          </button>
          <Field name="Filter events by text" hint="Filter: text" />
          <span class="dim">
            {format(shown.length)}
            {log.more ? ", and older ones" : ""}
          </span>
        </div>
        <Happened.Provider value={log}>
          <Lanes from={now.from} to={now.to} most={6} alone />
        </Happened.Provider>
        {waiting > 0 && (
          <p class="waiting">
            <button type="button" class="primary" onClick={show}>
              ↑ {format(waiting)} new
            </button>
          </p>
        )}
        <Shown data={log.data} what="the events" rows={8}>
          {() =>
            shown.length === 0 ? (
              <Nothing filtered={filtered} />
            ) : (
              <ol class="events">
                {shown.map((e) => (
                  <Line event={e} key={e.id} withCluster={!of.cluster} />
                ))}
              </ol>
            )
          }
        </Shown>
        <Older log={log} />
      </section>
    </>
  );
}

/** What is typed, once nothing was typed for a moment. */
function useTyped(text: string): string {
  const [settled, set] = useState(text);
  useEffect(() => {
    const timer = window.setTimeout(() => set(text), 300);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

/** The events that are shown: while somebody reads further down, newer ones wait. */
function useShown(list: Event[]) {
  const [top, setTop] = useState<string | null>(null);
  const newest = list[0]?.id ?? null;
  useEffect(() => {
    const look = () => setTop((old) => (window.scrollY > reads ? (old ?? newest) : null));
    window.addEventListener("scroll", look, { passive: true });
    return () => window.removeEventListener("scroll", look);
  }, [newest]);
  const waiting =
    top === null
      ? 0
      : Math.max(
          0,
          list.findIndex((e) => e.id === top),
        );
  const show = () => {
    window.scrollTo(0, 0);
    setTop(null);
  };
  return { shown: waiting > 0 ? list.slice(waiting) : list, waiting, show };
}

/** Chooses kinds; none is all. */
function Kinds({ chosen }: { chosen: string[] }) {
  const known = eventKinds.map(([kind]) => kind);
  const list = [...known, ...chosen.filter((k) => !known.includes(k))];
  const press = (kind: string) => {
    const next = chosen.includes(kind) ? chosen.filter((k) => k !== kind) : [...chosen, kind];
    setParams({ kind: next.join(",") });
  };
  return (
    <div class="metric-groups" role="group" aria-label="Kinds of events">
      <button
        type="button"
        aria-pressed={chosen.length === 0}
        onClick={() => setParams({ kind: null })}
      >
        all kinds
      </button>
      {list.map((kind) => (
        <button
          type="button"
          key={kind}
          aria-pressed={chosen.includes(kind)}
          onClick={() => press(kind)}
        >
          {kindText(kind)}
        </button>
      ))}
    </div>
  );
}

function Nothing({ filtered }: { filtered: boolean }) {
  if (filtered) {
    return (
      <Empty>
        No event of this time is like that.{" "}
        <button
          type="button"
          onClick={() => setParams(Object.fromEntries(filters.map((name) => [name, null])))}
        >
          Show all
        </button>
      </Empty>
    );
  }
  return (
    <Empty>
      Nothing happened in this time. Agents tell of starts and stops, of slow queries, long pauses
      and large partitions, of warnings and errors.
    </Empty>
  );
}

/** What an event is about, where its text does not say it. */
function aboutOf({ labels, text }: Event): string {
  const { keyspace = "", table, peer = "" } = labels;
  const about = table ? `${keyspace}.${table}` : keyspace || peer;
  return !text || text.includes(about) ? "" : about;
}

/** An event. It opens to all of its text and its labels. */
function Line({ event: e, withCluster }: { event: Event; withCluster: boolean }) {
  const isUTC = useUTC();
  const [open, setOpen] = useState(false);
  const text = textOf(e);
  const about = aboutOf(e);
  return (
    <li class="event" data-event={e.id}>
      <time class="dim">{stamp(when(e.at), isUTC)}</time>
      <Severity name={e.severity} />
      <span class="event-kind">{kindText(e.kind)}</span>
      <span class="event-node">
        <NodeLink node={e.node} name={e.name} />
        {withCluster && (
          <>
            {" "}
            <a class="dim" href={link(["cluster", e.cluster])} title={e.cluster}>
              <bdi>{e.cluster}</bdi>
            </a>
          </>
        )}
      </span>
      <details onToggle={(x) => setOpen(x.currentTarget.open)}>
        <summary>
          {about && (
            <>
              <bdi class="dim">{about}</bdi>{" "}
            </>
          )}
          <bdi>{text || "no text"}</bdi>
          {(e.nodes ?? 0) > 1 && <span class="dim"> {format(e.nodes ?? 0)} nodes</span>}
        </summary>
        {open && <Whole event={e} />}
      </details>
    </li>
  );
}

/** A label's value as people read it, by what its name ends with. */
function valueOf(name: string, value: string): string {
  const unit = /_(bytes|seconds)$/.exec(name)?.[1];
  const v = Number(value);
  return unit && value !== "" && Number.isFinite(v) ? format(v, unit) : value;
}

function Whole({ event: e }: { event: Event }) {
  return (
    <>
      {e.text && (
        <pre class="expr" dir="auto">
          {e.text}
        </pre>
      )}
      <p class="alert-labels">
        {Object.entries(e.labels ?? {}).map(([name, value]) => (
          <span class="label" key={name} title={value}>
            <span class="dim">{name}</span> <bdi>{valueOf(name, value)}</bdi>
          </span>
        ))}
      </p>
    </>
  );
}

/** The way to older events, or why there is none. */
function Older({ log }: { log: Log }) {
  if (log.failed) {
    return (
      <>
        <Failed error={log.failed} compact />
        <p>
          <button type="button" onClick={log.older}>
            Try again
          </button>
        </p>
      </>
    );
  }
  if (log.events.length >= mostKept) {
    return (
      <p class="dim">
        These are {format(log.events.length)} events. Filters and another time show the others.
      </p>
    );
  }
  if (!log.more) return null;
  return (
    <p>
      <button type="button" disabled={log.busy} onClick={log.older}>
        {log.busy ? "Loading …" : "Load older events"}
      </button>
    </p>
  );
}
