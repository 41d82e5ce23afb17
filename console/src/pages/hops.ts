// The hops that a frame takes, and which metrics say what each does. The pages of docs/hops name
// them.
import type { Installation, Labels } from "../api";

/** Series of a metric; of those whose labels fit, if that is said. */
export interface Pick {
  metric: string;
  of?: (labels: Labels) => boolean;
}

/** A hop's counters, and what is special of it. */
export interface Hop {
  id: string;
  name: string;
  what: string;
  accepted: Pick[]; // added up
  forwarded: Pick[];
  dropped: Pick[];
  reason: string; // the label of dropped that says why
  pending: Pick[];
  /** Drops that are as they should be. */
  fine?: string[];
  fineName?: string;
  figures: Figure[];
}

/** A number of a hop beside its ledger, and what it is made of. */
export type Figure = {
  title: string;
  unit: string;
  /** Beyond it the hop is behind. */
  most?: number;
} & (
  | { rate: Pick } // of a counter, a second
  | { p99: Pick } // of a histogram, over the window of rates
  | { seldom: Pick } // the same of what happens once in five minutes
  | { sum: Pick } // of a gauge
  | { lag: Pick["of"] } // of consumers: as they say it, else as a watched Kafka does
  | { highest: Pick } // of a gauge
  | { part: Pick; whole: Pick } // of counters
  | { expr: string } // PromQL that gives one value
);

const metric = (name: string, of?: Pick["of"]): Pick => ({
  metric: `ringwatch_${name}`,
  ...(of && { of }),
});

const stores = (l: Labels) => l.group === "ringwatch-store";
const recents = (l: Labels) => l.group === "ringwatch-recent";
const rules = (l: Labels) => /^ringwatch-rules(-accounts)?$/.test(l.group ?? "");
const ingests = (l: Labels) => l.producer === "ingest";

// 499 is a client that went away before its answer: nobody waits for that.
const answered = (l: Labels) => /^([123]..|499)$/.test(l.code ?? "");
const refused = (l: Labels) => /^[45]..$/.test(l.code ?? "") && l.code !== "499";

/** Consumers' own word on their lag. */
export const saidLag = metric("stream_lag_records");

/** The same as a Kafka says it that is watched, by group: it is there also while they are away. It
 *  is more, since they commit where their oldest open window begins. Of several readers, or Kafkas,
 *  the one counts that has the most. */
export const watchedLag =
  "max by (group) (sum by (node, group) (label_replace(" +
  'kafka_consumergroup_lag_sum{consumergroup=~"ringwatch-.+"}, ' +
  '"group", "$1", "consumergroup", "(.+)")))';

/** What stands between Kafka and each of its consumers. */
const consumer = (of: Pick["of"]): Figure[] => [
  { title: "lag", unit: "count", lag: of, most: 1000 },
  {
    title: "oldest waiting",
    unit: "seconds",
    highest: metric("stream_pending_age_seconds", of),
    most: 30,
  },
];

/** All hops, in the order that a frame takes them. */
export const hops: Hop[] = [
  {
    id: "agents",
    name: "Agents",
    what: "make frames on the nodes",
    accepted: [metric("agent_frames_total"), metric("agent_frames_recovered_total")],
    forwarded: [metric("agent_frames_sent_total")],
    dropped: [metric("agent_frames_dropped_total")],
    reason: "reason",
    pending: [metric("agent_queue_frames"), metric("agent_spool_frames")],
    figures: [
      {
        title: "spooled on disk",
        unit: "bytes",
        sum: metric("agent_spool_bytes"),
        most: 1,
      },
      {
        title: "sends that failed",
        unit: "per_second",
        rate: metric("agent_send_errors_total"),
      },
    ],
  },
  {
    id: "ingest",
    name: "Ingest",
    what: "checks and passes them on",
    accepted: [metric("ingest_frames_accepted_total")],
    forwarded: [metric("ingest_frames_forwarded_total")],
    dropped: [metric("ingest_frames_dropped_total")],
    reason: "reason",
    pending: [metric("ingest_frames_pending")],
    figures: [
      { title: "answered, p99", unit: "seconds", p99: metric("ingest_seconds"), most: 5 },
      { title: "bytes", unit: "bytes_per_second", rate: metric("ingest_forwarded_bytes_total") },
    ],
  },
  {
    id: "kafka",
    name: "Kafka",
    what: "keeps them for a day",
    accepted: [metric("stream_publish_accepted_total", ingests)],
    forwarded: [metric("stream_publish_published_total", ingests)],
    dropped: [metric("stream_publish_dropped_total", ingests)],
    reason: "reason",
    pending: [metric("stream_publish_pending", ingests)],
    figures: [
      {
        title: "acknowledged, p99",
        unit: "seconds",
        p99: metric("stream_publish_seconds", ingests),
        most: 5,
      },
      { title: "lag of all readers", unit: "count", lag: () => true, most: 1000 },
    ],
  },
  {
    id: "store",
    name: "Store",
    what: "writes them into Cassandra",
    accepted: [metric("store_frames_accepted_total")],
    forwarded: [metric("store_frames_written_total")],
    dropped: [metric("store_frames_dropped_total")],
    reason: "reason",
    pending: [metric("store_frames_pending")],
    figures: [
      ...consumer(stores),
      {
        title: "window closed, p99",
        unit: "seconds",
        seldom: metric("store_window_close_seconds"),
        most: 60,
      },
      { title: "open windows", unit: "count", sum: metric("store_windows_open") },
    ],
  },
  {
    id: "recent",
    name: "Recent",
    what: "keeps what is read in Redis",
    accepted: [metric("recent_accepted_total")],
    forwarded: [metric("recent_written_total")],
    dropped: [metric("recent_dropped_total")],
    reason: "reason",
    pending: [metric("recent_pending")],
    fine: ["inactive"],
    fineName: "read by nobody",
    figures: [
      ...consumer(recents),
      {
        title: "batch written, p99",
        unit: "seconds",
        p99: metric("recent_write_seconds"),
        most: 1,
      },
      { title: "Redis memory", unit: "bytes", highest: metric("recent_redis_memory_bytes") },
    ],
  },
  {
    id: "rules",
    name: "Rules",
    what: "evaluates alerts and records",
    accepted: [metric("stream_consumed_total", rules)],
    forwarded: [metric("stream_handled_total", rules)],
    dropped: [metric("stream_dropped_total", rules)],
    reason: "reason",
    pending: [metric("stream_pending", rules)],
    fine: ["returned"],
    fineName: "given back",
    figures: [
      ...consumer(rules),
      {
        title: "behind its time",
        unit: "seconds",
        highest: metric("rules_behind_seconds"),
        most: 60,
      },
      { title: "evaluated, p99", unit: "seconds", p99: metric("rules_evaluation_seconds") },
    ],
  },
  {
    id: "api",
    name: "API",
    what: "answers requests",
    accepted: [metric("api_requests_total")],
    forwarded: [metric("api_requests_total", answered)],
    dropped: [metric("api_requests_total", refused)],
    reason: "code",
    pending: [metric("api_requests_in_flight")],
    fine: ["400", "401", "403", "404", "405", "415", "422"],
    fineName: "clients' errors",
    figures: [
      { title: "answered, p99", unit: "seconds", p99: metric("api_request_seconds") },
      {
        title: "answered by Redis",
        unit: "ratio",
        part: metric("recent_reads_total", (l) => l.result === "hit"),
        whole: metric("recent_reads_total"),
      },
      {
        title: "newest value's age",
        unit: "seconds",
        expr: 'time() - max(ringwatch_node_last_seen_timestamp_seconds{node!=""})',
        most: 60,
      },
    ],
  },
];

/** What the engines of an installation are called. */
export function enginesOf(here: Installation): { stream: string; store: string; recent: string } {
  return {
    stream: here.stream === "kafka" ? "Kafka" : "Stream",
    store: here.store === "cassandra" ? "Cassandra" : "Directory",
    recent: here.recent === "redis" ? "Redis" : "Memory",
  };
}

/** All hops, in the words of an installation: without engines, files and memory are in their
 *  place. */
export function hopsOf(here: Installation): Hop[] {
  const { stream } = enginesOf(here);
  const redis = here.recent === "redis";
  return hops.map((hop) => {
    switch (hop.id) {
      case "kafka":
        return here.stream === "kafka"
          ? hop
          : { ...hop, name: stream, what: "keeps them in files for a day" };
      case "store":
        return here.store === "cassandra"
          ? hop
          : { ...hop, what: "writes them into the directory" };
      case "recent":
        if (redis) return hop;
        return {
          ...hop,
          what: "keeps the last minutes in memory",
          figures: hop.figures.map((f) =>
            f.title === "Redis memory"
              ? { title: "memory", unit: "bytes", sum: metric("recent_memory_bytes") }
              : f,
          ),
        };
      case "api":
        if (redis) return hop;
        return {
          ...hop,
          figures: hop.figures.map((f) =>
            f.title === "answered by Redis" ? { ...f, title: "answered from memory" } : f,
          ),
        };
      default:
        return hop;
    }
  });
}
