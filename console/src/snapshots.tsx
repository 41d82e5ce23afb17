// Snapshots by table, the oldest first; nothing where there are none.
import { query } from "./api";
import { together } from "./ask";
import { useData } from "./data";
import { List } from "./list";
import type { Column } from "./table";
import { stamp } from "./time";
import { format, length, number } from "./units";

interface Row {
  name: string;
  values: number[]; // in the order of the question
}

const age = (at: number | undefined) =>
  at ? <time title={stamp(at)}>{length(Date.now() / 1000 - at)}</time> : "–";

const columns: Column<Row>[] = [
  { id: "table", title: "table", width: 2, cell: (r) => <bdi>{r.name}</bdi>, order: (r) => r.name },
  {
    id: "count",
    title: "snapshots",
    number: true,
    cell: (r) => format(r.values[0]),
    order: (r) => r.values[0]!,
  },
  {
    id: "size",
    title: "size",
    number: true,
    cell: (r) => format(r.values[1], "bytes"),
    order: (r) => r.values[1]!,
  },
  {
    id: "oldest",
    title: "oldest",
    number: true,
    cell: (r) => age(r.values[2]),
    order: (r) => -r.values[2]!,
  },
  {
    id: "newest",
    title: "newest",
    number: true,
    wide: true,
    cell: (r) => age(r.values[3]),
    order: (r) => -r.values[3]!,
  },
];

/** The snapshots of the nodes that the matchers mean. */
export function Snapshots({ scope }: { scope: string }) {
  const by = "by (keyspace, table)";
  const expr = together([
    `sum ${by} (cassandra_snapshots{${scope}})`,
    `sum ${by} (cassandra_snapshot_size_bytes{${scope}})`,
    `min ${by} (cassandra_snapshot_oldest_timestamp_seconds{${scope}})`,
    `max ${by} (cassandra_snapshot_newest_timestamp_seconds{${scope}})`,
  ]);
  const data = useData(
    `snapshots ${scope}`,
    async (signal) => {
      const map = new Map<string, number[]>();
      for (const { metric, value } of (await query(expr, signal)).result) {
        const name = `${metric.keyspace ?? ""}.${metric.table ?? ""}`;
        const values = map.get(name) ?? new Array<number>(4).fill(Number.NaN);
        values[Number(metric.q)] = number(value?.[1]);
        map.set(name, values);
      }
      const rows = [...map]
        .map(([name, values]): Row => ({ name, values }))
        .filter((r) => r.values[0]! > 0);
      return rows.sort((a, b) => (a.values[2] || 0) - (b.values[2] || 0));
    },
    { every: 60_000, keep: true },
  );
  const rows = data.value ?? [];
  if (rows.length === 0) return null;
  const size = rows.reduce((sum, r) => sum + (r.values[1] || 0), 0);
  return (
    <List
      title="Snapshots, oldest first"
      note={`${format(size, "bytes")} on disk until somebody clears them`}
      data={data}
      rows={rows}
      columns={columns}
      id={(r) => r.name}
      height={320}
    />
  );
}
