// What nodes do and what happens to them, as the API has it: events, slow queries, tasks, repairs,
// clients.
import { get, type Schemas } from "./api";

/** What happened on a node. */
export type Event = Schemas["Event"];

/** How much an event matters. */
export type Severity = Event["severity"];

/** A page of events. Without next there are no older ones; more are newer ones that wait. */
export interface EventPage {
  events: Event[];
  next?: string;
  more?: boolean;
}

/** A statement that was slow, without its literals. */
export type SlowQuery = Schemas["SlowQuery"];

/** What an answer lacks. */
export interface Lacking {
  left_out: number;
  partial?: string[];
}

/** What a node does now. With a peer it is a stream. */
export type Task = Schemas["Tasks"]["tasks"][number];

/** Connections of one driver with all that tells them apart. */
export type Client = Schemas["Clients"]["clients"][number];

/** When a table was repaired. */
export type RepairTable = Schemas["Repairs"]["tables"][number];

/** A repair that runs. */
export type RepairSession = Schemas["Repairs"]["sessions"][number];

/** The repairs; failures are those of the last day. */
export type Repairs = Schemas["Repairs"];

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
  get<Schemas["Tasks"]>("/v1/tasks", given(of), signal);

export const clients = (of: Of, signal?: AbortSignal) =>
  get<Schemas["Clients"]>("/v1/clients", given(of), signal);

export const repairs = ({ cluster = "" }: Of, signal?: AbortSignal) =>
  get<Repairs>("/v1/repairs", given({ cluster }), signal);

/** A time of the API in seconds; NaN of none. */
export const when = (at: string | undefined) => (at ? Date.parse(at) / 1000 : Number.NaN);

/** Kinds of events and how they are called. Of two that matter the same, the first is on top. */
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
