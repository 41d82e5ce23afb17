// Tables: those of a cluster with what they do and what they hold, and one of them over time.
import { useMemo } from "preact/hooks";
import { type Cluster, clusters, query } from "../api";
import { together } from "../ask";
import { useData } from "../data";
import { Empty, Old, Shown, Warnings } from "../faces";
import { figureColumns, leftOut, valuesBy } from "../figures";
import { Filter, useFilter } from "../filter";
import { hasCassandra } from "../kinds";
import { go, link, setParams, usePlace } from "../place";
import { type Column, Table } from "../table";
import {
  fewNodes,
  figures,
  listOf,
  ofYounger,
  systemKeyspaces,
  type TableName,
  youngOf,
} from "../tables";
import { format } from "../units";
import { OneTable } from "./table";

/** A table with its figures, in their order; NaN where there is none. */
export interface Row {
  id: string;
  name: string;
  keyspace: string;
  table: string;
  values: number[];
}

/** The page: #/tables, #/tables/CLUSTER, #/tables/CLUSTER/KEYSPACE/TABLE. */
export function TablesPage() {
  const { path } = usePlace();
  const list = useData("clusters", async (s) => (await clusters(s)).filter(hasCassandra), {
    every: 30_000,
    keep: true,
  });
  const [, cluster, keyspace, table] = path;
  if (cluster && keyspace && table) {
    const nodes = list.value?.find((c) => c.cluster === cluster)?.nodes;
    return (
      <OneTable cluster={cluster} keyspace={keyspace} table={table} {...(nodes && { nodes })} />
    );
  }
  return (
    <>
      <h1 class="sr">Tables</h1>
      <Shown data={list} what="the clusters" rows={8}>
        {(all) => {
          const here = cluster ? all.find((c) => c.cluster === cluster) : all[0];
          if (here) return <TableList here={here} all={all} />;
          return (
            <Empty>
              {cluster ? (
                <p>
                  No cluster of this name can be seen. <a href={link(["tables"])}>See the others</a>
                </p>
              ) : (
                <p>
                  <strong>No node has sent anything yet.</strong>{" "}
                  <a href={link(["add"])}>Add a node</a>
                </p>
              )}
            </Empty>
          );
        }}
      </Shown>
    </>
  );
}

/** The tables of a cluster. */
function TableList({ here, all }: { here: Cluster; all: Cluster[] }) {
  const { params } = usePlace();
  const system = params.get("system") === "1";
  const want = useFilter();
  const by = figures.some((f) => f.id === params.get("by")) ? params.get("by")! : "";
  // Of a large cluster the rules' records answer, which are made once a minute.
  const every = here.nodes > fewNodes ? 30_000 : 10_000;
  const young = useYoung(here);
  const expr = together(listOf(here.cluster, here.nodes, system, young));
  const data = useData(expr, (s) => query(expr, s), { every, keep: true });
  const rows = useMemo(() => {
    if (!data.value) return undefined;
    const list: Row[] = [];
    for (const [id, values] of valuesBy(data.value.result, ["keyspace", "table"])) {
      const [keyspace = "", table = ""] = id.split("\n");
      list.push({ id, keyspace, table, name: `${keyspace}.${table}`, values });
    }
    const at = figures.findIndex((f) => f.id === by);
    const worth = (r: Row) => (at < 0 ? (r.values[0] || 0) + (r.values[1] || 0) : r.values[at]!);
    const order = (r: Row) => (Number.isNaN(worth(r)) ? -1 : worth(r));
    return list.sort((a, b) => order(b) - order(a) || (a.name < b.name ? -1 : 1));
  }, [data.value, by]);
  const seen = useMemo(() => {
    const own = new RegExp(`^(?:${systemKeyspaces})$`);
    // While the other question is under way, what is shown is of the one before.
    return rows?.filter((r) => system || !own.test(r.keyspace));
  }, [rows, system]);
  const shown = useMemo(
    () => seen?.filter((r) => !want || r.name.toLowerCase().includes(want)),
    [seen, want],
  );
  const sum = (i: number) => (shown ?? []).reduce((s, r) => s + (r.values[i] || 0), 0);
  return (
    <>
      <ul class="tiles" aria-label="Summary">
        <Tile
          name={shown?.length === 1 ? "table" : "tables"}
          text={shown ? `${shown.length}` : "–"}
        />
        <Tile name="reads, all replicas" text={shown ? format(sum(0), "per_second") : "–"} />
        <Tile name="writes, all replicas" text={shown ? format(sum(1), "per_second") : "–"} />
        <Tile name="on disk, all replicas" text={shown ? format(sum(4), "bytes") : "–"} />
      </ul>
      <section class="panel">
        <div class="panel-head">
          <h2>
            Tables of <a href={link(["cluster", here.cluster])}>{here.cluster}</a>
          </h2>
          <Warnings list={data.value?.warnings ?? []} />
          {all.length > 1 && (
            <label class="field">
              cluster
              <select
                value={here.cluster}
                onChange={(e) =>
                  go(["tables", e.currentTarget.value], {
                    ...(by && { by }),
                    ...(system && { system: "1" }),
                  })
                }
              >
                {all.map((c) => (
                  <option value={c.cluster} key={c.cluster}>
                    {c.cluster}
                  </option>
                ))}
              </select>
            </label>
          )}
          <label class="field">
            top by
            <select value={by} onChange={(e) => setParams({ by: e.currentTarget.value })}>
              <option value="">reads and writes</option>
              {figures.map((f) => (
                <option value={f.id} key={f.id}>
                  {lower(f.name)}
                </option>
              ))}
            </select>
          </label>
          <label class="field check">
            <input
              type="checkbox"
              checked={system}
              onChange={(e) => setParams({ system: e.currentTarget.checked ? "1" : null })}
            />
            Cassandra's own
          </label>
          <Filter
            name="Filter tables"
            hint="Filter: keyspace, table"
            shown={shown?.length ?? 0}
            all={seen?.length ?? 0}
          />
        </div>
        {data.error && data.value && <Old data={data} />}
        <Shown data={{ ...data, value: shown, error: shown ? undefined : data.error }} rows={8}>
          {(list) =>
            list.length === 0 ? (
              <Empty>
                {want ? (
                  <>
                    No table is called like that.{" "}
                    <button type="button" onClick={() => setParams({ q: null })}>
                      Show all
                    </button>
                  </>
                ) : (
                  "In the last minutes no node here sent values of tables but Cassandra's own."
                )}
              </Empty>
            ) : (
              <>
                <Table
                  name={`Tables of ${here.cluster}`}
                  columns={listColumns(by)}
                  rows={list}
                  id={(r) => r.id}
                  href={(r) => link(["tables", here.cluster, r.keyspace, r.table])}
                  height={Math.max(320, window.innerHeight - 360)}
                />
                <p class="dim note">
                  Rates and quantiles are of the last five minutes; {ofYounger(young.length)}. They
                  are of all replicas: each of them counts a request, which clients make once. An
                  exclamation mark means a p99 over 1 s, more than 1,000 tombstones, or a partition
                  over 100 MiB.
                </p>
              </>
            )
          }
        </Shown>
      </section>
    </>
  );
}

/** The tables of a large cluster that are younger than five minutes; none of a small one, where
 *  nothing is recorded of what the list says. */
function useYoung(here: Cluster): TableName[] {
  const expr = here.nodes > fewNodes ? youngOf(here.cluster) : null;
  const data = useData(expr, (s) => query(expr!, s), { every: 30_000 });
  return useMemo(
    () =>
      (data.value?.result ?? []).map(({ metric }) => ({
        keyspace: metric.keyspace ?? "",
        table: metric.table ?? "",
      })),
    [data.value],
  );
}

function listColumns(by: string): Column<Row>[] {
  const wide = leftOut.includes(by)
    ? [...leftOut.filter((id) => id !== by), "readp99"] // it takes the place of another
    : leftOut;
  return [
    {
      id: "table",
      title: "table",
      width: 2.4,
      order: (r) => r.name,
      cell: (r) => (
        <span title={r.name}>
          <span class="dim">{r.keyspace}.</span>
          {r.table}
        </span>
      ),
    },
    ...figureColumns<Row>(wide),
  ];
}

/** The name of a figure within a sentence. */
function lower(name: string): string {
  return name.startsWith("SST") ? name : name[0]!.toLowerCase() + name.slice(1);
}

function Tile({ name, text }: { name: string; text: string }) {
  return (
    <li class="tile">
      <strong>{text}</strong>
      <span>{name}</span>
    </li>
  );
}
