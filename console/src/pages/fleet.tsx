// The fleet: every node that the key may see, worst first.
import { useMemo } from "preact/hooks";
import type { Alert } from "../api";
import { titleOf, type useCatalog } from "../ask";
import { type Cell, Cells } from "../cells";
import { Empty, Severity, Shown } from "../faces";
import { Filter, useFilter } from "../filter";
import { type Kind, kinds, kindsOf } from "../kinds";
import { Left } from "../left";
import { columnsOf } from "../node-columns";
import { cellOf, firingOf, type Row, scaleOf, useRows } from "../node-rows";
import { go, link, setParams, usePlace } from "../place";
import { useQuiet } from "../silences";
import { isRare, states, wordOf } from "../states";
import { type Column, Table } from "../table";

/** Chooses what colours the map. Its many entries are made once. */
export function ColourBy({ groups, by }: { groups: ReturnType<typeof useCatalog>; by: string }) {
  return useMemo(
    () => (
      <label class="field">
        colour
        <select value={by} onChange={(e) => setParams({ by: e.currentTarget.value })}>
          {(groups.value ?? []).map((g) => {
            const list = g.entries.filter((e) => e.of === "node");
            if (list.length === 0) return null;
            return (
              <optgroup label={g.title} key={g.name}>
                {list.map((e) => (
                  <option value={e.name} key={e.name}>
                    {titleOf(e)}
                  </option>
                ))}
              </optgroup>
            );
          })}
        </select>
      </label>
    ),
    [groups.value, by],
  );
}

const defaultBy = "n::cpuUtilization";

/** The page. */
export function FleetPage() {
  const { params } = usePlace();
  const by = params.get("by") ?? defaultBy;
  const want = useFilter();
  const state = params.get("state") ?? "";
  const kind = params.get("kind") ?? "";
  const { all, rows: every, entry, value, groups, alerts: fired } = useRows(null, by);
  const known = useMemo(() => kindsOf(every.map((r) => r.node)), [every]);
  const rows = useMemo(() => (kind ? every.filter((r) => r.kind === kind) : every), [every, kind]);
  const columns = useMemo(
    () => columnsOf(true, known.length > 1).filter((c) => !c.number || of(rows, c)),
    [rows, known.length],
  );
  const shown = useMemo(
    () =>
      rows.filter(
        (r) =>
          (!state ||
            (state === "alerts" ? firingOf(r.alerts).length > 0 : r.node.state === state)) &&
          (!want ||
            `${r.name} ${r.node.id} ${r.node.cluster} ${r.node.datacenter} ${r.node.rack} ${r.kind}`
              .toLowerCase()
              .includes(want)),
      ),
    [rows, want, state],
  );
  const clusters = new Set(rows.map((r) => r.node.cluster)).size;
  const count = (s: string) => rows.filter((r) => r.node.state === s).length;
  const unit = value?.unit ?? "count";
  const cells = useMemo(
    () =>
      shown
        .map(
          (r): Cell => ({
            id: r.node.id,
            name: r.name,
            group: r.node.cluster,
            value: r.value,
            ...cellOf(r, entry ? titleOf(entry) : "", unit, value?.healthy),
          }),
        )
        .sort((a, b) =>
          a.group < b.group ? -1 : a.group > b.group ? 1 : a.name < b.name ? -1 : 1,
        ),
    [shown, entry, unit],
  );
  return (
    <>
      <h1 class="sr">Fleet</h1>
      <Shown data={all} what="the fleet" rows={8}>
        {(list) =>
          list.length === 0 ? (
            <Empty>
              <p>
                <strong>No node has sent anything yet.</strong>
              </p>
              <p>
                <a href={link(["add"])}>Add a node</a>: its agent is one line in Cassandra's
                configuration.
              </p>
            </Empty>
          ) : (
            <>
              {(known.length > 1 || kind) && <Kinds rows={every} known={known} kind={kind} />}
              <ul class="tiles" aria-label="Summary">
                <Tile name={clusters === 1 ? "cluster" : "clusters"} value={clusters} />
                {states
                  .filter((s) => !isRare(s) || count(s) > 0 || state === s)
                  .map((s) => (
                    <Tile key={s} name={wordOf(s)} value={count(s)} of={s} state={state} />
                  ))}
                <Tile
                  name="with alerts"
                  value={rows.filter((r) => firingOf(r.alerts).length > 0).length}
                  of="alerts"
                  state={state}
                />
                <AlertTiles list={fired.value ?? []} />
              </ul>
              <section class="panel">
                <div class="panel-head">
                  <h2>Map</h2>
                  <ColourBy groups={groups} by={by} />
                </div>
                <Cells
                  name={`Nodes by ${entry ? titleOf(entry) : by}`}
                  cells={cells}
                  scale={scaleOf(shown, unit, value?.healthy?.max)}
                  open={(id) => go(["node", id])}
                />
              </section>
              <section class="panel">
                <div class="panel-head">
                  <h2>Nodes, worst first</h2>
                  <Filter
                    name="Filter nodes"
                    hint="Filter: name, cluster, rack"
                    shown={shown.length}
                    all={rows.length}
                  />
                </div>
                {shown.length === 0 ? (
                  <Empty>
                    No node is like that.{" "}
                    <button
                      type="button"
                      onClick={() => setParams({ q: null, state: null, kind: null })}
                    >
                      Show all
                    </button>
                  </Empty>
                ) : (
                  <Table
                    name="Nodes, worst first"
                    columns={columns}
                    rows={shown}
                    id={(r) => r.node.id}
                    href={(r) => link(["node", r.node.id])}
                    bad={(r) => r.node.state === "down"}
                  />
                )}
              </section>
              <Left list={list} several />
            </>
          )
        }
      </Shown>
    </>
  );
}

/** Whether some rows have a number of a column; before any is known, they may. */
function of(rows: Row[], c: Column<Row>): boolean {
  const cassandra = rows.some((r) => r.kind === "cassandra");
  return cassandra || rows.length === 0 || rows.some((r) => !Number.isNaN(c.order?.(r)));
}

/** Chooses whose nodes are shown, by what they run. */
function Kinds({ rows, known, kind }: { rows: Row[]; known: Kind[]; kind: string }) {
  const chip = (name: string, of: string, count: number) => (
    <button
      type="button"
      key={of}
      aria-pressed={kind === of}
      onClick={() => setParams({ kind: of || null })}
    >
      {name} <span class="number">{count.toLocaleString("en-US")}</span>
    </button>
  );
  return (
    <div class="metric-groups" role="group" aria-label="What nodes run">
      {chip("all", "", rows.length)}
      {kinds
        .filter(([k]) => known.includes(k) || k === kind)
        .map(([k, name]) => chip(name, k, rows.filter((r) => r.kind === k).length))}
    </div>
  );
}

/** A number with its name; a click shows only those. */
function Tile({
  name,
  value,
  of,
  state,
}: {
  name: string;
  value: number;
  of?: string;
  state?: string;
}) {
  const text = (
    <>
      <strong class={of && value > 0 ? `tile-${of}` : ""}>{value.toLocaleString("en-US")}</strong>
      <span>{name}</span>
    </>
  );
  if (!of) return <li class="tile">{text}</li>;
  return (
    <li>
      <button
        type="button"
        class="tile"
        aria-pressed={state === of}
        onClick={() => setParams({ state: state === of ? null : of })}
      >
        {text}
      </button>
    </li>
  );
}

/** How many alerts fire, by how much they matter, and how many of them are quiet. */
function AlertTiles({ list }: { list: Alert[] }) {
  const quiet = useQuiet().value;
  const all = firingOf(list);
  const firing = all.filter((a) => !quiet?.of(a.labels));
  const calm = all.length - firing.length;
  if (all.length === 0) return null;
  const counts = new Map<string, number>();
  for (const a of firing) {
    const name = a.labels.severity ?? "none";
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return (
    <>
      {[...counts].map(([name, n]) => (
        <li key={name}>
          <a class="tile" href={link(["alerts"])}>
            <strong>{n}</strong>
            <Severity name={name} />
          </a>
        </li>
      ))}
      {calm > 0 && (
        <li>
          <a class="tile" href={link(["quiet"])}>
            <strong>{calm}</strong>
            <span>quiet</span>
          </a>
        </li>
      )}
    </>
  );
}
