// The hops that a frame takes, and what PromQL asks of each. docs/DATAPATH.md names the counters.
import { together } from "../ask";
import type { Answer, Sample } from "../api";
import { number } from "../units";

/** A hop's counters: selectors, by which labels they are told apart, and what is special of it. */
export interface Hop {
  id: string;
  name: string;
  what: string;
  accepted: string[]; // added up
  forwarded: string[];
  dropped: string[];
  reason: string; // the label of dropped that says why
  pending: string[];
  /** Drops that are as they should be. */
  fine?: string[];
  fineName?: string;
  figures: Figure[];
}

/** A number of a hop beside its ledger. $w is the window of rates, $l that of what is seldom. */
export interface Figure {
  name: string;
  title: string;
  unit: string;
  expr: string;
  /** Beyond it the hop is behind. */
  most?: number;
}

const agents = 'node!=""';

const stores = `group="ringwatch-store"`;
const recents = `group="ringwatch-recent"`;
const rules = `group=~"ringwatch-rules(-accounts)?"`;

const quantile = (selector: string) => `histogram_quantile(0.99, sum(rate(${selector}[$w])))`;

/** What stands between Kafka and each of its consumers. */
const consumer = (groups: string): Figure[] => [
  {
    name: "lag",
    title: "lag",
    unit: "count",
    expr: `sum(ringwatch_stream_lag_records{${groups}})`,
    most: 1000,
  },
  {
    name: "age",
    title: "oldest waiting",
    unit: "seconds",
    expr: `max(ringwatch_stream_pending_age_seconds{${groups}})`,
    most: 30,
  },
];

/** All hops, in the order that a frame takes them. */
export const hops: Hop[] = [
  {
    id: "agents",
    name: "Agents",
    what: "make frames on the nodes",
    accepted: [
      `ringwatch_agent_frames_total{${agents}}`,
      `ringwatch_agent_frames_recovered_total{${agents}}`,
    ],
    forwarded: [`ringwatch_agent_frames_sent_total{${agents}}`],
    dropped: [`ringwatch_agent_frames_dropped_total{${agents}}`],
    reason: "reason",
    pending: [`ringwatch_agent_queue_frames{${agents}}`, `ringwatch_agent_spool_frames{${agents}}`],
    figures: [
      {
        name: "spool",
        title: "spooled on disk",
        unit: "bytes",
        expr: `sum(ringwatch_agent_spool_bytes{${agents}})`,
        most: 1,
      },
      {
        name: "errors",
        title: "sends that failed",
        unit: "per_second",
        expr: `sum(rate(ringwatch_agent_send_errors_total{${agents}}[$w]))`,
      },
    ],
  },
  {
    id: "ingest",
    name: "Ingest",
    what: "checks and passes them on",
    accepted: ["ringwatch_ingest_frames_accepted_total"],
    forwarded: ["ringwatch_ingest_frames_forwarded_total"],
    dropped: ["ringwatch_ingest_frames_dropped_total"],
    reason: "reason",
    pending: ["ringwatch_ingest_frames_pending"],
    figures: [
      {
        name: "p99",
        title: "answered, p99",
        unit: "seconds",
        expr: quantile("ringwatch_ingest_seconds"),
        most: 5,
      },
      {
        name: "bytes",
        title: "bytes",
        unit: "bytes_per_second",
        expr: "sum(rate(ringwatch_ingest_forwarded_bytes_total[$w]))",
      },
    ],
  },
  {
    id: "kafka",
    name: "Kafka",
    what: "keeps them for a day",
    accepted: ['ringwatch_stream_publish_accepted_total{producer="ingest"}'],
    forwarded: ['ringwatch_stream_publish_published_total{producer="ingest"}'],
    dropped: ['ringwatch_stream_publish_dropped_total{producer="ingest"}'],
    reason: "reason",
    pending: ['ringwatch_stream_publish_pending{producer="ingest"}'],
    figures: [
      {
        name: "p99",
        title: "acknowledged, p99",
        unit: "seconds",
        expr: quantile('ringwatch_stream_publish_seconds{producer="ingest"}'),
        most: 5,
      },
      {
        name: "lag",
        title: "lag of all readers",
        unit: "count",
        expr: "sum(ringwatch_stream_lag_records)",
        most: 1000,
      },
    ],
  },
  {
    id: "store",
    name: "Store",
    what: "writes them into Cassandra",
    accepted: ["ringwatch_store_frames_accepted_total"],
    forwarded: ["ringwatch_store_frames_written_total"],
    dropped: ["ringwatch_store_frames_dropped_total"],
    reason: "reason",
    pending: ["ringwatch_store_frames_pending"],
    figures: [
      ...consumer(stores),
      {
        name: "close",
        title: "window closed, p99",
        unit: "seconds",
        expr: quantile("ringwatch_store_window_close_seconds").replace("$w", "$l"),
        most: 60,
      },
      {
        name: "open",
        title: "open windows",
        unit: "count",
        expr: "sum(ringwatch_store_windows_open)",
      },
    ],
  },
  {
    id: "recent",
    name: "Recent",
    what: "keeps what is read in Redis",
    accepted: ["ringwatch_recent_accepted_total"],
    forwarded: ["ringwatch_recent_written_total"],
    dropped: ["ringwatch_recent_dropped_total"],
    reason: "reason",
    pending: ["ringwatch_recent_pending"],
    fine: ["inactive"],
    fineName: "read by nobody",
    figures: [
      ...consumer(recents),
      {
        name: "write",
        title: "batch written, p99",
        unit: "seconds",
        expr: quantile("ringwatch_recent_write_seconds"),
        most: 1,
      },
      {
        name: "memory",
        title: "Redis memory",
        unit: "bytes",
        expr: "max(ringwatch_recent_redis_memory_bytes)",
      },
    ],
  },
  {
    id: "rules",
    name: "Rules",
    what: "evaluates alerts and records",
    accepted: [`ringwatch_stream_consumed_total{${rules}}`],
    forwarded: [`ringwatch_stream_handled_total{${rules}}`],
    dropped: [`ringwatch_stream_dropped_total{${rules}}`],
    reason: "reason",
    pending: [`ringwatch_stream_pending{${rules}}`],
    fine: ["returned"],
    fineName: "given back",
    figures: [
      ...consumer(rules),
      {
        name: "behind",
        title: "behind its time",
        unit: "seconds",
        expr: "max(ringwatch_rules_behind_seconds)",
        most: 60,
      },
      {
        name: "evaluation",
        title: "evaluated, p99",
        unit: "seconds",
        expr: quantile("ringwatch_rules_evaluation_seconds"),
      },
    ],
  },
  {
    id: "api",
    name: "API",
    what: "answers requests",
    accepted: ["ringwatch_api_requests_total"],
    // 499 is a client that went away before its answer: nobody waits for that.
    forwarded: ['ringwatch_api_requests_total{code=~"[123]..|499"}'],
    dropped: ['ringwatch_api_requests_total{code=~"[45]..",code!="499"}'],
    reason: "code",
    pending: ["ringwatch_api_requests_in_flight"],
    fine: ["400", "401", "403", "404", "405", "415", "422"],
    fineName: "clients' errors",
    figures: [
      {
        name: "p99",
        title: "answered, p99",
        unit: "seconds",
        expr: quantile("ringwatch_api_request_seconds"),
      },
      {
        name: "hit",
        title: "answered by Redis",
        unit: "ratio",
        expr: hitRate("[$w]"),
      },
      {
        name: "newest",
        title: "newest value's age",
        unit: "seconds",
        expr: `time() - max(ringwatch_node_last_seen_timestamp_seconds{${agents}})`,
        most: 60,
      },
    ],
  },
];

/** The part of reads that Redis had whole. */
export function hitRate(window: string): string {
  const of = (match: string) => `sum(rate(ringwatch_recent_reads_total${match}${window}))`;
  return `${of('{result="hit"}')} / (${of("")} > 0)`;
}

/** The window of what happens once in five minutes, such as the closing of windows. */
export const seldom = (window: number) => Math.max(window, 660);

const sum = (list: string[], wrap: (s: string) => string) =>
  list.map((s) => `sum(${wrap(s)})`).join(" + ");

/** What is asked of all hops as of now, in one expression. */
export function nowExpr(list: Hop[], window: number): string {
  return together(
    list.flatMap((h) => [
      sum(h.accepted, (s) => `rate(${s}[${window}s])`),
      sum(h.forwarded, (s) => `rate(${s}[${window}s])`),
      h.dropped.map((s) => `sum by (${h.reason}) (rate(${s}[${window}s]))`).join(" or "),
      sum(h.pending, (s) => s),
      ...h.figures.map((f) =>
        f.expr.replaceAll("$w", `${window}s`).replaceAll("$l", `${seldom(window)}s`),
      ),
    ]),
  );
}

/** What is asked of all hops about a span of time, in one expression. */
export function sumExpr(list: Hop[], span: number): string {
  return together(
    list.flatMap((h) => [
      sum(h.accepted, (s) => `increase(${s}[${span}s])`),
      sum(h.forwarded, (s) => `increase(${s}[${span}s])`),
      h.dropped.map((s) => `sum by (${h.reason}) (increase(${s}[${span}s]))`).join(" or "),
    ]),
  );
}

/** What a hop has done: a second, or in a span of time. Where nothing is known it is NaN. */
export interface Ledger {
  accepted: number;
  forwarded: number;
  dropped: [string, number][]; // by reason, the most first; none of nothing
  pending: number;
  figures: number[];
}

function values(answer: Answer<Sample>): Map<number, Sample[]> {
  const map = new Map<number, Sample[]>();
  for (const s of answer.result) {
    const q = Number(s.metric.q);
    const old = map.get(q);
    if (old) old.push(s);
    else map.set(q, [s]);
  }
  return map;
}

/** Reads the answer to nowExpr, or to sumExpr of the same hops. */
export function ledgers(list: Hop[], answer: Answer<Sample>, now: boolean): Map<string, Ledger> {
  const all = values(answer);
  const one = (q: number) => number(all.get(q)?.[0]?.value?.[1]);
  const map = new Map<string, Ledger>();
  let q = 0;
  for (const h of list) {
    const accepted = one(q++);
    const forwarded = one(q++);
    const dropped = (all.get(q++) ?? [])
      .map((s): [string, number] => [s.metric[h.reason] ?? "", number(s.value?.[1])])
      .filter(([, v]) => v > 0)
      .sort((a, b) => b[1] - a[1]);
    const pending = now ? one(q++) : Number.NaN;
    const figures = now ? h.figures.map(() => one(q++)) : [];
    map.set(h.id, { accepted, forwarded, dropped, pending, figures });
  }
  return map;
}

/** How a hop is. */
export type Health = "flowing" | "quiet" | "behind" | "dropping" | "unknown";

/** Says how a hop is, from what it does now. */
export function healthOf(h: Hop, l: Ledger): Health {
  if (Number.isNaN(l.accepted)) return "unknown";
  if (l.dropped.some(([reason]) => !h.fine?.includes(reason))) return "dropping";
  if (h.figures.some((f, i) => f.most !== undefined && l.figures[i]! > f.most)) return "behind";
  return l.accepted > 0 ? "flowing" : "quiet";
}
