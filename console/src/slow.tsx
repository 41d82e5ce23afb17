// Slow queries by statement, the worst first.
import { type Of, type SlowQuery, slowQueries, when } from "./activity";
import { useData } from "./data";
import { useFilter } from "./filter";
import { List } from "./list";
import { Ago, Lacks, tableName } from "./parts";
import { link, usePlace } from "./place";
import type { Column } from "./table";
import { periodOf, rangeOf, refreshOf } from "./time";
import { format } from "./units";

const mostRows = 500;

const idOf = (q: SlowQuery) => JSON.stringify([q.cluster, q.keyspace, q.table, q.statement]);

const columnsOf = (of: Of): Column<SlowQuery>[] => [
  {
    id: "statement",
    title: "statement",
    width: 4,
    cell: (q) => <bdi class="mono">{q.statement || "–"}</bdi>,
    order: (q) => q.statement,
  },
  {
    id: "table",
    title: "table",
    width: 1.6,
    wide: true,
    cell: (q) => <bdi title={tableName(q)}>{tableName(q) || "–"}</bdi>,
    order: tableName,
  },
  ...(of.cluster
    ? []
    : [
        {
          id: "cluster",
          title: "cluster",
          wide: true,
          cell: (q: SlowQuery) => <bdi title={q.cluster}>{q.cluster}</bdi>,
          order: (q: SlowQuery) => q.cluster,
        },
      ]),
  {
    id: "times",
    title: "times",
    number: true,
    cell: (q) => format(q.times),
    order: (q) => q.times,
  },
  {
    id: "slowest",
    title: "slowest",
    number: true,
    cell: (q) => format(q.slowest_seconds, "seconds"),
    order: (q) => q.slowest_seconds,
  },
  {
    id: "nodes",
    title: "nodes",
    number: true,
    wide: true,
    cell: (q) => format(q.nodes),
    order: (q) => q.nodes,
  },
  {
    id: "last",
    title: "last",
    number: true,
    cell: (q) => <Ago at={q.last} />,
    order: (q) => when(q.last),
  },
];

/** A statement as a whole, and the way to its events. */
function More({ of, query: q }: { of: Of; query: SlowQuery }) {
  return (
    <>
      <pre class="expr" dir="auto">
        {q.statement || "Cassandra did not say which statement it was."}
      </pre>
      <p>
        <a
          href={link(["events"], {
            cluster: q.cluster,
            node: of.node || null,
            kind: "slow_query",
            q: q.statement || null,
          })}
        >
          Events of this statement
        </a>
        {q.table && (
          <>
            {" · "}
            <a href={link(["tables", q.cluster, q.keyspace, q.table])}>The table's latency</a>
          </>
        )}
      </p>
    </>
  );
}

/** The slow queries of the page's time. */
export function SlowQueries({ of }: { of: Of }) {
  const { cluster = "", node = "" } = of;
  const range = rangeOf(usePlace());
  const time = periodOf(range);
  const data = useData(
    `slow ${JSON.stringify([cluster, node, time])}`,
    (s) => slowQueries({ cluster, node, ...time, limit: mostRows }, s),
    { every: Math.max(15_000, refreshOf(range)), keep: true },
  );
  const want = useFilter();
  const rows = data.value?.queries ?? [];
  const shown = rows.filter((q) => `${q.statement} ${tableName(q)}`.toLowerCase().includes(want));
  return (
    <List
      title="Slow queries, worst first"
      what="the slow queries"
      lacks={<Lacks of={data.value} what="statements" />}
      none={
        <p>
          Cassandra called no query slow in this time. It does so after{" "}
          <code>slow_query_log_timeout</code>, which is 500 ms unless a node's configuration has
          another.
        </p>
      }
      data={data}
      rows={rows}
      shown={shown}
      filter={["Filter slow queries", "Filter: statement, table"]}
      columns={columnsOf(of)}
      id={idOf}
      more={(q) => <More of={of} query={q} />}
      height={640}
    />
  );
}
