// One table: over time, its latencies as a heat map, and its nodes side by side.
import { useMemo } from "preact/hooks";
import { query } from "../api";
import { matchers, together } from "../ask";
import { Chart, MarkList } from "../chart";
import { useData } from "../data";
import { Empty, Shown } from "../faces";
import { figureColumns, leftOut, valuesBy } from "../figures";
import { Heat } from "../heat";
import { type Ask, mostLines } from "../lines";
import { Happened, useHappened } from "../lanes";
import { type Mark, useMarks } from "../marks";
import { useNames, useNodes } from "../names";
import { link, setParams, usePlace } from "../place";
import { type Column, Table } from "../table";
import { byNode, figures, nowOf } from "../tables";
import { intervalOf, rangeOf, windowOf } from "../time";

/** What a heat map can show. */
const operations: [string, string, string][] = [
  ["read", "reads", "cassandra_table_read_latency_seconds"],
  ["write", "writes", "cassandra_table_write_latency_seconds"],
  ["range", "range reads", "cassandra_table_range_latency_seconds"],
];

/** A line of a name. */
function line(name: string, expr: string): Ask {
  return { expr, legend: () => name };
}

/** Lines of p50, p95 and p99. */
function quantiles(metric: string, where: string, seconds: number, parts = [0.5, 0.95, 0.99]) {
  return parts.map((p) =>
    line(
      `p${100 * p}`,
      `histogram_quantile(${p}, sum(rate(${metric}{${where}}[${seconds}s]))) >= 0`,
    ),
  );
}

/** What is counted on replicas is another number than the one that clients see. */
const within = "within a replica";

/** A chart of a table. */
interface TableChart {
  title: string;
  unit: string;
  asks: Ask[];
  note?: string;
}

/** The charts of a table. */
function chartsOf(where: string, seconds: number): TableChart[] {
  const rate = (metric: string) => `sum(rate(cassandra_table_${metric}{${where}}[${seconds}s]))`;
  const sum = (metric: string) => `sum(cassandra_table_${metric}{${where}})`;
  const parts = (metric: string, list?: number[]) =>
    quantiles(`cassandra_table_${metric}`, where, seconds, list);
  return [
    {
      title: "Reads and writes",
      unit: "per_second",
      note: "on replicas: each counts a request",
      asks: [
        line("reads", rate("read_latency_seconds_count")),
        line("writes", rate("write_latency_seconds_count")),
        line("range reads", rate("range_latency_seconds_count")),
      ],
    },
    {
      ...{ title: "Read latency", unit: "seconds", note: within },
      asks: parts("read_latency_seconds"),
    },
    {
      ...{ title: "Write latency", unit: "seconds", note: within },
      asks: parts("write_latency_seconds"),
    },
    {
      title: "Disk size, all replicas",
      unit: "bytes",
      asks: [
        line("live", sum("live_disk_space_used_bytes")),
        line("total", sum("total_disk_space_used_bytes")),
        line("snapshots", sum("snapshots_size_bytes")),
        line("memtables", sum("memtable_live_data_size_bytes")),
      ],
    },
    {
      title: "SSTables and compactions",
      unit: "count",
      asks: [
        line("SSTables", sum("live_sstables")),
        line("pending compactions", sum("pending_compactions")),
      ],
    },
    {
      title: "SSTables per read",
      unit: "count",
      note: within,
      asks: parts("sstables_per_read", [0.5, 0.99]),
    },
    {
      title: "Partition size",
      unit: "bytes",
      asks: [
        line("largest", `max(cassandra_table_max_partition_size_bytes{${where}})`),
        line(
          "p99",
          "histogram_quantile(0.99, " +
            `sum(cassandra_table_estimated_partition_size_bytes{${where}})) >= 0`,
        ),
        line("mean", `avg(cassandra_table_mean_partition_size_bytes{${where}})`),
      ],
    },
    {
      title: "Cells scanned by a read",
      unit: "count",
      note: within,
      asks: [
        ...parts("tombstones_scanned", [0.5, 0.99]).map((a) => ({
          ...a,
          legend: () => `tombstones ${a.legend({})}`,
        })),
        ...parts("live_rows_scanned", [0.99]).map((a) => ({
          ...a,
          legend: () => `live rows ${a.legend({})}`,
        })),
      ],
    },
    {
      title: "Cache hit ratio",
      unit: "ratio",
      asks: [
        line("key cache", `avg(cassandra_table_key_cache_hit_ratio{${where}} >= 0)`),
        line(
          "row cache",
          `${rate("row_cache_hit_total")} / ` +
            `((${rate("row_cache_hit_total")} + ${rate("row_cache_miss_total")}) > 0)`,
        ),
      ],
    },
  ];
}

/** A table of a cluster; nodes says how many nodes the cluster has, if that is known. */
export function OneTable({
  cluster,
  keyspace,
  table,
  nodes = 1,
}: {
  cluster: string;
  keyspace: string;
  table: string;
  nodes?: number;
}) {
  const at = usePlace();
  const range = rangeOf(at);
  const list = useNodes(cluster);
  const seconds = windowOf(range, list && intervalOf(list));
  const where = `${matchers({ cluster, keyspace, table })},node!=""`;
  const names = useNames(cluster);
  // What happened to the cluster's nodes explains its tables.
  const marks = useMarks(matchers({ cluster }), range, names);
  const [op, many, metric] =
    operations.find(([id]) => id === at.params.get("op")) ?? operations[0]!;
  const happened = useHappened({ cluster }, range);
  return (
    <Happened.Provider value={happened}>
      <div class="page-head">
        <nav class="crumbs" aria-label="Where this is">
          <a href={link(["tables", cluster])}>Tables of {cluster}</a>
        </nav>
        <h1 class="cut" title={`${keyspace}.${table}`}>
          <span class="dim">{keyspace}.</span>
          {table}
        </h1>
      </div>
      <section class="panel" aria-label="Latency">
        <div class="panel-head">
          <h2>Latency over time</h2>
          <label class="field">
            of
            <select
              value={op}
              onChange={(e) =>
                setParams({ op: e.currentTarget.value === "read" ? null : e.currentTarget.value })
              }
            >
              {operations.map(([id, name]) => (
                <option value={id} key={id}>
                  {name}
                </option>
              ))}
            </select>
          </label>
        </div>
        <Heat
          title={`Latency of ${many}`}
          note="within a replica, over all nodes"
          unit="seconds"
          expr={`sum(rate(${metric}{${where}}[${seconds}s]))`}
          range={range}
          marks={marks}
        />
      </section>
      <div class="charts">
        {chartsOf(where, seconds).map((c) => (
          <Chart key={c.title} {...c} range={range} marks={marks} height={160} />
        ))}
      </div>
      <MarkList marks={marks} />
      <Nodes {...{ cluster, where, nodes, names, marks, seconds }} />
    </Happened.Provider>
  );
}

interface NodeRow {
  id: string;
  name: string;
  values: number[];
}

/** The table on each of its nodes: one figure over time, all of them now. */
function Nodes({
  cluster,
  where,
  nodes,
  names,
  marks,
  seconds,
}: {
  cluster: string;
  where: string;
  nodes: number;
  names: ReadonlyMap<string, string>;
  marks: Mark[];
  seconds: number; // that rates look back over
}) {
  const at = usePlace();
  const range = rangeOf(at);
  const figure = figures.find((f) => f.id === at.params.get("by")) ?? figures[0]!;
  const expr = together(figures.map((f) => nowOf(f, where, "node")));
  const data = useData(expr, (s) => query(expr, s), {
    every: nodes > 50 ? 60_000 : 10_000,
    keep: true,
  });
  const rows = useMemo(() => {
    const list: NodeRow[] = [];
    for (const [id, values] of valuesBy(data.value?.result ?? [], ["node"])) {
      list.push({ id, name: names.get(id) ?? id, values });
    }
    const i = figures.indexOf(figure);
    const order = (r: NodeRow) => (Number.isNaN(r.values[i]) ? -1 : r.values[i]!);
    return list.sort((a, b) => order(b) - order(a) || (a.name < b.name ? -1 : 1));
  }, [data.value, names, figure]);
  const columns: Column<NodeRow>[] = [
    {
      id: "node",
      title: "node",
      width: 2,
      order: (r) => r.name,
      cell: (r) => <span title={r.id}>{r.name}</span>,
    },
    ...figureColumns<NodeRow>(leftOut),
  ];
  return (
    <section class="panel" aria-label="By node">
      <div class="panel-head">
        <h2>By node</h2>
        <label class="field">
          show
          <select value={figure.id} onChange={(e) => setParams({ by: e.currentTarget.value })}>
            {figures.map((f) => (
              <option value={f.id} key={f.id}>
                {f.name}
              </option>
            ))}
          </select>
        </label>
      </div>
      <Chart
        title={`${figure.name}, by node`}
        unit={figure.unit}
        asks={[
          {
            expr: byNode(figure, where, seconds, nodes, mostLines),
            legend: (l) => names.get(l.node ?? "") ?? l.node ?? "",
          },
        ]}
        range={range}
        marks={marks}
        {...(figure.most !== undefined && { threshold: figure.most })}
        note={
          nodes > mostLines
            ? `the ${mostLines} nodes with the highest values at the end`
            : "on each replica"
        }
      />
      <Shown data={data} what="the nodes">
        {() =>
          rows.length === 0 ? (
            <Empty>
              No node of {cluster} sent values of this table in the last minutes. It may have been
              dropped; the charts show when it was there.
            </Empty>
          ) : (
            <Table
              name="The table by node"
              columns={columns}
              rows={rows}
              id={(r) => r.id}
              href={(r) => link(["node", r.id])}
              height={400}
            />
          )
        }
      </Shown>
    </section>
  );
}
