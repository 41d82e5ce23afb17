// When tables were repaired and are due again, the worst first, and repairs that run.
import { type Of, type RepairSession, type RepairTable, repairs, when } from "./activity";
import { useData, useNow } from "./data";
import { Shown } from "./faces";
import { useFilter } from "./filter";
import { List } from "./list";
import { Ago, Bar, Lacks, NodeLink, tableName } from "./parts";
import { link, setParams, usePlace } from "./place";
import type { Column } from "./table";
import { stamp } from "./time";
import { format, length } from "./units";

/** How it stands with a table. */
type State = "never" | "overdue" | "soon" | "partly" | "well";

const day = 86400;

/** Less than this part of gc_grace_seconds is soon. */
const soonPart = 0.25;

/** A table with its times in seconds; NaN of none. */
export interface Row {
  of: RepairTable;
  full: number;
  incremental: number;
  due: number;
  grace: number;
  state: State;
}

/** A table as it stands at a time. */
export function rowOf(of: RepairTable, now: number): Row {
  const [full, incremental, due] = [when(of.last_full), when(of.last_incremental), when(of.due)];
  const grace = of.gc_grace_seconds ?? 10 * day;
  const state =
    Number.isNaN(full) && Number.isNaN(incremental)
      ? "never"
      : Number.isNaN(due)
        ? "partly"
        : due < now
          ? "overdue"
          : due - now < soonPart * grace
            ? "soon"
            : "well";
  return { of, full, incremental, due, grace, state };
}

/** The time that the calendar shows: now stands at the same place in all rows. */
interface Span {
  from: number;
  to: number;
  now: number;
}

const most = 60 * day;

function spanOf(rows: Row[], now: number): Span {
  let back = 2 * day;
  let on = 2 * day;
  for (const { full, incremental, due, grace } of rows) {
    for (const at of [full, incremental]) if (now - at > back) back = now - at;
    on = Math.max(on, Number.isNaN(due) ? 0 : due - now, 0.1 * grace);
  }
  return { from: now - Math.min(most, 1.05 * back), to: now + Math.min(most, 1.05 * on), now };
}

const width = 400;
const height = 18;

/** From the last repair of all ranges to when the next one is due; beyond that it is overdue. */
function Calendar({ row: { full, incremental, due, state }, span, text }: CalendarProps) {
  const { from, to, now } = span;
  const x = (at: number) =>
    (Math.max(0, Math.min(1, (at - from) / (to - from))) * width).toFixed(1);
  const box = (look: string, a: number, b: number) => (
    <rect
      class={look}
      x={x(a)}
      width={Math.max(0, Number(x(b)) - Number(x(a)))}
      y={4}
      height={10}
    />
  );
  const days: number[] = [];
  const every = to - from > 70 * day ? 14 * day : to - from > 20 * day ? 7 * day : day;
  for (let at = Math.ceil(from / every) * every; at < to; at += every) days.push(at);
  const end = Number.isNaN(due) ? now : due;
  const begin = Number.isNaN(full) ? incremental : full;
  return (
    <svg
      class={`calendar ${state}`}
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={text}
    >
      <title>{text}</title>
      {days.map((at) => (
        <line class="day" key={at} x1={x(at)} x2={x(at)} y1={0} y2={height} />
      ))}
      {state === "never"
        ? box("late", from, now)
        : [box("grace", begin, end), end < now && box("late", end, now)]}
      {!Number.isNaN(incremental) && (
        <line class="part" x1={x(incremental)} x2={x(incremental)} y1={2} y2={height - 2} />
      )}
      <line class="now" x1={x(now)} x2={x(now)} y1={0} y2={height} />
    </svg>
  );
}

interface CalendarProps {
  row: Row;
  span: Span;
  text: string;
}

/** How much time is left, in words. */
function Left({ row: { state, due }, now }: { row: Row; now: number }) {
  switch (state) {
    case "never":
      return <span class="bad-value">! never repaired</span>;
    case "partly":
      return (
        <span class="late-value" title="Not all ranges of the table were repaired">
          ! not all ranges
        </span>
      );
    case "overdue":
      return <span class="bad-value">! {length(now - due)} overdue</span>;
    default:
      return <span class={state === "soon" ? "late-value" : undefined}>{length(due - now)}</span>;
  }
}

/** A row in words, for whoever does not see the calendar. */
export function sentenceOf({ of, full, incremental, due, state }: Row, now: number): string {
  if (state === "never") return `${tableName(of)} was never repaired, as far as its cluster knows.`;
  const how = Number.isNaN(full)
    ? `incrementally on ${stamp(incremental)}`
    : `in full on ${stamp(full)}`;
  const done = `${tableName(of)} was repaired ${how}`;
  if (state === "partly") return `${done}, but not all of its ranges.`;
  return state === "overdue"
    ? `${done}; the next one was due on ${stamp(due)}, ${length(now - due)} ago.`
    : `${done}; the next one is due by ${stamp(due)}, in ${length(due - now)}.`;
}

const columnsOf = (of: Of, span: Span): Column<Row>[] => [
  {
    id: "table",
    title: "table",
    width: 2,
    cell: (r) => <bdi>{tableName(r.of)}</bdi>,
    order: (r) => tableName(r.of),
  },
  ...(of.cluster
    ? []
    : [
        {
          id: "cluster",
          title: "cluster",
          wide: true,
          cell: (r: Row) => <bdi title={r.of.cluster}>{r.of.cluster}</bdi>,
          order: (r: Row) => r.of.cluster,
        },
      ]),
  {
    id: "left",
    title: "time left",
    width: 1.6,
    cell: (r) => <Left row={r} now={span.now} />,
    order: (r) => (r.state === "never" ? Number.NEGATIVE_INFINITY : r.due),
  },
  {
    id: "calendar",
    title: `${stamp(span.from).slice(5, 10)} to ${stamp(span.to).slice(5, 10)}`,
    width: 3,
    wide: true,
    cell: (r) => <Calendar row={r} span={span} text={sentenceOf(r, span.now)} />,
  },
  {
    id: "full",
    title: "last full",
    number: true,
    cell: (r) => <Ago at={r.of.last_full} none="never" />,
    order: (r) => r.full,
  },
  {
    id: "incremental",
    title: "incremental",
    number: true,
    wide: true,
    cell: (r) => <Ago at={r.of.last_incremental} none="never" />,
    order: (r) => r.incremental,
  },
  {
    id: "repaired",
    title: "repaired",
    number: true,
    cell: (r) => format(r.of.repaired_ratio, "ratio"),
    order: (r) => r.of.repaired_ratio ?? Number.NaN,
  },
  {
    id: "unrepaired",
    title: "unrepaired",
    number: true,
    wide: true,
    cell: (r) => format(r.of.unrepaired_bytes, "bytes"),
    order: (r) => r.of.unrepaired_bytes ?? Number.NaN,
  },
];

const sessionColumns: Column<RepairSession>[] = [
  {
    id: "table",
    title: "tables",
    width: 2.5,
    cell: (s) => <bdi title={tableName(s)}>{tableName(s) || "–"}</bdi>,
    order: tableName,
  },
  {
    id: "node",
    title: "coordinated by",
    width: 1.4,
    cell: (s) => <NodeLink node={s.node} name={s.name} />,
    order: (s) => s.name,
  },
  {
    id: "progress",
    title: "done",
    width: 1.4,
    cell: (s) => <Bar ratio={s.ratio} name={`Repair of ${tableName(s)}`} />,
    order: (s) => s.ratio ?? Number.NaN,
  },
  {
    id: "started",
    title: "started",
    number: true,
    wide: true,
    cell: (s) => <Ago at={s.started} />,
    order: (s) => -when(s.started),
  },
  {
    id: "id",
    title: "id",
    width: 2,
    wide: true,
    cell: (s) => (
      <span class="mono" title={s.id}>
        {s.id ?? "–"}
      </span>
    ),
  },
];

const states: [State, string, string][] = [
  ["never", "never repaired", "tile-down"],
  ["overdue", "overdue", "tile-down"],
  ["soon", "due soon", "tile-late"],
];

/** The repairs. state in the address leaves tables in other states out. */
export function Repairs({ of }: { of: Of }) {
  const { cluster = "" } = of;
  const data = useData(`repairs ${cluster}`, (s) => repairs({ cluster }, s), {
    every: 15_000,
    keep: true,
  });
  const want = useFilter();
  const state = usePlace().params.get("state");
  const now = useNow(60_000) / 1000;
  const { tables = [], sessions = [], running = 0, failures = 0 } = data.value ?? {};
  const rows = tables.map((t) => rowOf(t, now));
  const shown = rows.filter(
    (r) => (!state || r.state === state) && tableName(r.of).toLowerCase().includes(want),
  );
  return (
    <>
      <ul class="tiles" aria-label="Summary">
        {states.map(([id, name, look]) => {
          const count = rows.filter((r) => r.state === id).length;
          return (
            <li key={id}>
              <button
                type="button"
                class="tile"
                aria-pressed={state === id}
                onClick={() => setParams({ state: state === id ? null : id })}
              >
                <strong class={count > 0 ? look : ""}>{data.value ? format(count) : "…"}</strong>
                <span>{name}</span>
              </button>
            </li>
          );
        })}
        <li class="tile">
          <strong>{data.value ? format(running) : "…"}</strong>
          <span>running</span>
        </li>
        <li class="tile">
          <strong class={failures > 0 ? "tile-late" : ""}>
            {data.value ? format(failures) : "…"}
          </strong>
          <span>failed within a day</span>
        </li>
      </ul>
      {sessions.length > 0 && (
        <Shown data={data}>
          {() => (
            <List
              title="Repairs that run"
              rows={sessions}
              columns={sessionColumns}
              id={(s) => JSON.stringify([s.cluster, s.node, s.keyspace, s.table, s.id])}
              height={260}
            />
          )}
        </Shown>
      )}
      <List
        title="Tables by when a full repair is due, worst first"
        what="the repairs"
        lacks={<Lacks of={data.value} what="tables" />}
        none={
          <p>
            No table is known that must be repaired: one with more than one replica. A node of each
            cluster reads <code>system_distributed</code> every few minutes and says so then.
          </p>
        }
        data={data}
        rows={rows}
        shown={shown}
        filter={["Filter tables", "Filter: keyspace, table"]}
        columns={columnsOf(of, spanOf(rows, now))}
        id={(r) => JSON.stringify([r.of.cluster, r.of.keyspace, r.of.table])}
        href={(r) => link(["tables", r.of.cluster, r.of.keyspace, r.of.table])}
        bad={(r) => r.state === "never" || r.state === "overdue"}
        height={640}
      />
      <p class="dim">
        A bar runs from the last full repair of all ranges until gc_grace_seconds have passed. After
        that, deleted rows may come back. The line is now.
      </p>
    </>
  );
}
