// What is known of tables: figures, and how they are asked for one node, one table or a fleet.
import { clock } from "./time";
import { literal, quote } from "./units";

/** How a figure is asked: of whom, by which labels, over how many seconds, and at which instant. */
type Exact = (where: string, by: string, seconds: number, at?: string) => string;

/** A figure of tables. */
export interface Figure {
  id: string;
  title: string; // heads its column
  name: string; // heads its chart
  unit: string;
  exact: Exact;
  /** The same of now; exact if it is missing. */
  now?: Exact;
  /** The series that the rules record of it, by cluster, keyspace and table; none for some. */
  recorded?: string;
  /** It counts things: parts of one come of the width of its buckets only. */
  whole?: boolean;
  /** Above that it deserves a look. */
  most?: number;
}

const count =
  (metric: string): Exact =>
  (where, by, seconds, at = "") =>
    `sum by (${by}) (rate(${metric}_count{${where}}[${seconds}s]${at}))`;

/** How far an agent's frames are apart, in seconds. */
const frames = 5;

/** A rate of now: over the seconds, or over the table's own time if it is younger. */
const lately =
  (metric: string): Exact =>
  (where, by, seconds) => {
    const counted = `${metric}_count{${where}}[${seconds}s]`;
    const since = `min by (${by}) (ts_of_first_over_time(${counted}))`;
    return (
      `sum by (${by}) (increase(${counted})) / ` +
      `clamp_max(time() - ${since} + ${frames}, ${seconds})`
    );
  };

/** Tables that nobody used have no quantile: NaN is left out. */
const quantile =
  (part: number, metric: string): Exact =>
  (where, by, seconds, at = "") =>
    `histogram_quantile(${part}, ` +
    `sum by (${by}) (rate(${metric}{${where}}[${seconds}s]${at}))) >= 0`;

const gauge =
  (how: string, metric: string): Exact =>
  (where, by, _, at = "") =>
    `${how} by (${by}) (${metric}{${where}}${at})`;

const read = "cassandra_table_read_latency_seconds";
const write = "cassandra_table_write_latency_seconds";

/** All figures, in the order of their columns. */
export const figures: Figure[] = [
  {
    id: "reads",
    title: "reads",
    name: "Reads",
    unit: "per_second",
    exact: count(read),
    now: lately(read),
    recorded: `table:${read}:rate5m`,
  },
  {
    id: "writes",
    title: "writes",
    name: "Writes",
    unit: "per_second",
    exact: count(write),
    now: lately(write),
    recorded: `table:${write}:rate5m`,
  },
  {
    id: "readp99",
    title: "read p99",
    name: "Read latency p99",
    unit: "seconds",
    exact: quantile(0.99, read),
    recorded: `table:${read}:p99_5m`,
    most: 1,
  },
  {
    id: "writep99",
    title: "write p99",
    name: "Write latency p99",
    unit: "seconds",
    exact: quantile(0.99, write),
    recorded: `table:${write}:p99_5m`,
    most: 1,
  },
  {
    id: "size",
    title: "disk",
    name: "Disk size",
    unit: "bytes",
    exact: gauge("sum", "cassandra_table_live_disk_space_used_bytes"),
    recorded: "table:cassandra_table_live_disk_space_used_bytes:sum",
  },
  {
    id: "tombstones",
    title: "tombstones p99",
    name: "Tombstones scanned by a read, p99",
    unit: "count",
    exact: quantile(0.99, "cassandra_table_tombstones_scanned"),
    whole: true,
    recorded: "table:cassandra_table_tombstones_scanned:p99_5m",
    most: 1000,
  },
  {
    id: "perread",
    title: "SSTables/read p99",
    name: "SSTables per read, p99",
    unit: "count",
    exact: quantile(0.99, "cassandra_table_sstables_per_read"),
    whole: true,
  },
  {
    id: "partition",
    title: "largest partition",
    name: "Largest partition",
    unit: "bytes",
    exact: gauge("max", "cassandra_table_max_partition_size_bytes"),
    recorded: "table:cassandra_table_max_partition_size_bytes:max",
    most: 100 * 1024 * 1024,
  },
];

/** Keyspaces of Cassandra itself. The rules record nothing of them. */
export const systemKeyspaces = "system(_.*)?";

/** More nodes than that, and what the rules recorded is asked instead of every node's tables. */
export const fewNodes = 50;

/** How old what the rules recorded may be, and how far back rates look, in seconds. */
const minutes = 300;

/** What is asked of a figure now. */
export function nowOf(f: Figure, where: string, by: string): string {
  return (f.now ?? f.exact)(where, by, minutes);
}

/** A table by its names. */
export interface TableName {
  keyspace: string;
  table: string;
}

/** Of so many young tables every node is asked; of more what the rules recorded stands. */
export const mostYoung = 10;

/** Asks which tables of a large cluster are younger than what recorded rates look back over: the
 *  rules recorded nothing of them so long ago. */
export function youngOf(cluster: string): string {
  const recorded = `${figures[0]!.recorded}{cluster=${quote(cluster)}}`;
  const by = "max by (keyspace, table)";
  return `${by} (${recorded}) unless ${by} (${recorded} offset ${minutes}s)`;
}

/** What the list of a cluster's tables asks, a figure each, with or without Cassandra's own. young
 *  are tables whose recorded rates are too low yet: each node says how often they are used. */
export function listOf(
  cluster: string,
  nodes: number,
  system: boolean,
  young: TableName[] = [],
): string[] {
  const by = "keyspace, table";
  const here = `cluster=${quote(cluster)},node!=""`;
  const users = `${here},keyspace!~"${systemKeyspaces}"`;
  const own = `${here},keyspace=~"${systemKeyspaces}"`;
  const names = (all: string[]) => quote([...new Set(all)].sort().map(literal).join("|"));
  const those =
    `${here},keyspace=~${names(young.map((t) => t.keyspace))},` +
    `table=~${names(young.map((t) => t.table))}`;
  return figures.map((f) => {
    if (nodes <= fewNodes || !f.recorded) return nowOf(f, system ? here : users, by);
    const parts = [`max by (${by}) (${f.recorded}{cluster=${quote(cluster)}})`];
    if (f.now && young.length > 0 && young.length <= mostYoung) parts.unshift(nowOf(f, those, by));
    if (system) parts.push(nowOf(f, own, by));
    return parts.length > 1 ? `(${parts.join(" or ")})` : parts[0]!;
  });
}

/** What the rates of young tables are over; of many they are recorded ones, which are too low. */
export function ofYounger(many: number, now = Date.now() / 1000): string {
  if (many <= mostYoung) return "of a younger table, over its own time";
  return (
    `${many.toLocaleString("en-US")} tables were first heard of after ${clock(now - minutes)}, ` +
    "and their rates are shown too low until they are five minutes old"
  );
}

/** A figure of each node; of more nodes than a chart draws, those with the highest values now. */
export function byNode(f: Figure, where: string, seconds: number, nodes: number, most: number) {
  const all = f.exact(where, "node", seconds);
  if (nodes <= most) return all;
  return `(${all}) and on (node) topk(${most}, ${f.exact(where, "node", seconds, " @ end()")})`;
}
