// What nodes do and what happens to them, as the API has it: events, slow queries, tasks, repairs,
// clients.
import { get, type Labels } from "./api";

/** How much an event matters. */
export type Severity = "info" | "warning" | "error";

/** What happened on a node. */
export interface Event {
  id: string;
  at: string;
  cluster: string;
  node: string;
  name: string;
  kind: string;
  severity: Severity;
  labels?: Labels;
  text: string;
}

/** A page of events. Without next there are no older ones. */
export interface EventPage {
  events: Event[];
  next?: string;
}

/** A statement that was slow, without its literals. */
export interface SlowQuery {
  cluster: string;
  keyspace: string;
  table: string;
  statement: string;
  times: number;
  slowest_seconds: number;
  nodes: number;
  last: string;
}

/** What an answer lacks. */
export interface Lacking {
  left_out: number;
  partial?: string[];
}

/** What a node does now. With a peer it is a stream. */
export interface Task {
  cluster: string;
  node: string;
  name: string;
  task: string;
  keyspace?: string;
  table?: string;
  peer?: string;
  direction?: string;
  slot?: string;
  id?: string;
  done_bytes?: number;
  size_bytes?: number;
  ratio?: number;
  bytes_per_second?: number;
  started?: string;
  ends?: string;
}

/** Connections of one driver with all that tells them apart. */
export interface Client {
  cluster: string;
  driver: string;
  driver_version: string;
  protocol: string;
  username: string;
  tls: boolean;
  connections?: number;
  requests_per_second?: number;
  nodes: number;
  addresses?: { node: string; name: string; address: string }[];
}

/** When a table was repaired. */
export interface RepairTable {
  cluster: string;
  keyspace: string;
  table: string;
  last_full?: string;
  last_incremental?: string;
  due?: string;
  gc_grace_seconds?: number;
  repaired_ratio?: number;
  unrepaired_bytes?: number;
}

/** A repair that runs. */
export interface RepairSession {
  cluster: string;
  node: string;
  name: string;
  keyspace: string;
  table: string;
  ratio?: number;
  started?: string;
  id?: string;
}

/** The repairs; failures are those of the last day. */
export interface Repairs extends Lacking {
  tables: RepairTable[];
  sessions: RepairSession[];
  running: number;
  failures: number;
}

/** Whose activity is asked for; what is empty is not asked for. */
export interface Of {
  cluster?: string;
  node?: string;
}

const given = (params: object) =>
  Object.fromEntries(Object.entries(params).filter(([, v]) => v)) as Record<string, string>;

/** Events, newest first; with after those that came after an event, oldest first. */
export const events = (params: object, signal?: AbortSignal) =>
  get<EventPage>("/v1/events", given(params), signal);

export const slowQueries = (params: object, signal?: AbortSignal) =>
  get<{ queries: SlowQuery[] } & Partial<Lacking>>("/v1/slow-queries", given(params), signal);

export const tasks = (of: Of, signal?: AbortSignal) =>
  get<{ tasks: Task[] } & Lacking>("/v1/tasks", given(of), signal);

export const clients = (of: Of, signal?: AbortSignal) =>
  get<{ clients: Client[]; addresses_left_out: boolean } & Lacking>(
    "/v1/clients",
    given(of),
    signal,
  );

export const repairs = ({ cluster = "" }: Of, signal?: AbortSignal) =>
  get<Repairs>("/v1/repairs", given({ cluster }), signal);

/** A time of the API in seconds; NaN of none. */
export const when = (at: string | undefined) => (at ? Date.parse(at) / 1000 : Number.NaN);

/** Kinds of events and how they are called. Where two matter the same, the first is shown on top. */
export const eventKinds: [kind: string, name: string][] = [
  ["error", "error"],
  ["node_down", "node down"],
  ["dropped", "dropped"],
  ["stop", "stop"],
  ["start", "start"],
  ["gc_pause", "GC pause"],
  ["slow_query", "slow query"],
  ["large_partition", "partition"],
  ["tombstones", "tombstones"],
  ["batch", "batch"],
  ["repair", "repair"],
  ["warning", "warning"],
  ["schema", "schema"],
  ["settings", "settings"],
  ["node_up", "node up"],
  ["node_joined", "joined"],
  ["node_left", "left"],
  ["node_moved", "moved"],
];

const kindNames = new Map(eventKinds);

/** How a kind is called. */
export const kindText = (kind: string) => kindNames.get(kind) ?? kind.replaceAll("_", " ");

const taskNames: Record<string, string> = {
  upgrade_sstables: "upgrade SSTables",
  index_build: "index build",
  view_build: "view build",
  garbage_collect: "garbage collection",
  tombstone_compaction: "tombstone compaction",
  bulk_load: "bulk load",
};

/** How a task or a stream's operation is called. */
export const taskText = (task: string) =>
  taskNames[task] ?? task.replace(/^stream_/, "").replaceAll("_", " ");

/** The order of severities. */
export const ranks: Record<Severity, number> = { info: 0, warning: 1, error: 2 };
