// A Redis: what hurts, its facts, its commands, and its charts.
import { useMemo } from "preact/hooks";
import { type Alert, type Labels, type Node, query, type Sample } from "./api";
import { together } from "./ask";
import { Board, type Spec, type Subject } from "./board";
import { MarkList } from "./chart";
import { useData } from "./data";
import { type Fact, Facts, Values } from "./head";
import { type Finding, Hurts } from "./hurts";
import { silent } from "./kinds";
import { List } from "./list";
import { useMarks } from "./marks";
import { placeOf } from "./node-rows";
import { type Read, readFacts } from "./reads";
import { type Column } from "./table";
import { intervalOf, type Range, windowOf } from "./time";
import { format, length, number } from "./units";

/** Memory beyond this part of the limit is marked, in percent. */
export const mostMemory = 90;

const facts =
  "instance_info|slave_info|master_link_up|uptime_in_seconds|connected_slaves|" +
  "connected_slave_lag_seconds|connected_clients|blocked_clients|max_clients|memory_used_bytes|" +
  "memory_max_bytes|mem_fragmentation_ratio|rdb_last_save_timestamp_seconds|" +
  "rdb_last_bgsave_status|rdb_changes_since_last_save|aof_enabled|aof_last_write_status|" +
  "latest_fork_seconds|slowlog_length|slowlog_last_timestamp_seconds|" +
  "last_slow_execution_duration_seconds|loading_dump_file|cluster_enabled|cluster_state|" +
  "cluster_slots_fail|db_keys";

const rate = (name: string, window = "$w") => `sum(rate(redis_${name}{$scope}[${window}]$o))`;
const hits =
  `${rate("keyspace_hits_total")} / ` +
  `(${rate("keyspace_hits_total")} + ${rate("keyspace_misses_total")} > 0)`;

/** What is asked as of now, over five minutes. */
const now = [
  `{__name__=~"redis_(${facts})",$scope}`,
  rate("commands_processed_total"),
  hits,
  rate("evicted_keys_total"),
  rate("expired_keys_total"),
];

/** What is asked as of now, over five minutes, of what the matchers mean. */
export const expressionOf = (list: string[], scope: string) =>
  together(list)
    .replaceAll("$w", "5m")
    .replaceAll("$o", "")
    .replaceAll("$scope", () => scope);

/** What is known of a Redis. */
class Known {
  constructor(private readonly list: Sample[]) {}

  private series(name: string): Sample[] {
    return this.list.filter((s) => s.metric.q === "0" && s.metric.__name__ === `redis_${name}`);
  }

  labels(name: string): Labels | undefined {
    return this.series(name)[0]?.metric;
  }

  /** NaN of nothing; the highest of several. */
  value(name: string): number {
    const list = this.series(name).map((s) => number(s.value?.[1]));
    return list.length > 0 ? Math.max(...list) : Number.NaN;
  }

  sum(name: string): number {
    return this.series(name).reduce((sum, s) => sum + number(s.value?.[1]), 0);
  }

  /** What was asked at a place. */
  now(q: number): number {
    return number(this.list.find((s) => s.metric.q === String(q))?.value?.[1]);
  }
}

const roles: Record<string, string> = { slave: "replica" };
/** How a role is called. */
export const roleOf = (said: string | undefined) => roles[said ?? ""] ?? said ?? "";

function masterOf(k: Known): string {
  const l = k.labels("slave_info");
  return l ? `${l.master_host ?? ""}:${l.master_port ?? ""}` : "";
}

function factsOf(node: Node, k: Known, read: Read | undefined): Fact[] {
  const said = k.labels("instance_info");
  const v = (name: string) => k.value(name);
  const known = (name: string) => !Number.isNaN(v(name));
  const ago = (name: string) => `${length(Math.max(0, Date.now() / 1000 - v(name)))} ago`;
  const version = said?.redis_version || node.facts.version;
  const of = (limit: string, unit: string) => (v(limit) > 0 ? ` of ${format(v(limit), unit)}` : "");
  const save = v("rdb_last_bgsave_status") === 0 ? ", and the last one failed" : "";
  return [
    ["Version", version ? `Redis ${version}` : ""],
    ["Role", roleOf(said?.role)],
    ["Master", masterOf(k)],
    ["Replicas", v("connected_slaves") > 0 ? format(v("connected_slaves")) : ""],
    ["Running for", known("uptime_in_seconds") ? length(v("uptime_in_seconds")) : ""],
    [
      "Memory",
      known("memory_used_bytes")
        ? `${format(v("memory_used_bytes"), "bytes")}${of("memory_max_bytes", "bytes")}`
        : "",
    ],
    ["When full", said?.maxmemory_policy ?? ""],
    ["Commands", Number.isNaN(k.now(1)) ? "" : format(k.now(1), "per_second")],
    ["Hit ratio", Number.isNaN(k.now(2)) ? "" : format(k.now(2), "ratio")],
    ["Evicted", Number.isNaN(k.now(3)) ? "" : format(k.now(3), "per_second")],
    ["Expired", Number.isNaN(k.now(4)) ? "" : format(k.now(4), "per_second")],
    [
      "Clients",
      known("connected_clients")
        ? `${format(v("connected_clients"))}${of("max_clients", "count")}`
        : "",
    ],
    ["Keys", known("db_keys") ? format(k.sum("db_keys")) : ""],
    [
      "Last save",
      v("rdb_last_save_timestamp_seconds") > 0
        ? `${ago("rdb_last_save_timestamp_seconds")}${save}`
        : "",
    ],
    [
      "Changes not saved",
      known("rdb_changes_since_last_save") ? format(v("rdb_changes_since_last_save")) : "",
    ],
    ["Append-only file", known("aof_enabled") ? (v("aof_enabled") > 0 ? "on" : "off") : ""],
    ["Last fork", known("latest_fork_seconds") ? format(v("latest_fork_seconds"), "seconds") : ""],
    ["Slow log", slowOf(k)],
    ["Place", placeOf(node)],
    ["System", said?.os ?? ""],
    ...readFacts(node, read),
    ["Id", node.id],
  ];
}

function slowOf(k: Known): string {
  const entries = k.value("slowlog_length");
  if (Number.isNaN(entries)) return "";
  if (entries === 0) return "empty";
  const at = k.value("slowlog_last_timestamp_seconds");
  const took = k.value("last_slow_execution_duration_seconds");
  const last = [
    at > 0 ? `${length(Math.max(0, Date.now() / 1000 - at))} ago` : "",
    Number.isNaN(took) ? "" : `took ${format(took, "seconds")}`,
  ].filter(Boolean);
  const text = `${format(entries)} ${entries === 1 ? "entry" : "entries"}`;
  return last.length > 0 ? `${text}, the newest ${last.join(", ")}` : text;
}

function findingsOf(k: Known): Finding[] {
  const out: Finding[] = [];
  const say = (severity: Finding["severity"], name: string, text: string) =>
    out.push({ severity, name, text });
  const part = (100 * k.value("memory_used_bytes")) / k.value("memory_max_bytes");
  if (Number.isFinite(part) && part > mostMemory) {
    const policy = k.labels("instance_info")?.maxmemory_policy ?? "";
    const then =
      policy === "noeviction"
        ? "When it is full, writes are refused."
        : "Keys are evicted at 100 %.";
    say("warning", "Memory is nearly full", `${format(part, "percent")} of maxmemory. ${then}`);
  }
  if (k.value("master_link_up") === 0) {
    say(
      "critical",
      "Replication is broken",
      `The link to the master ${masterOf(k)} is down: what clients read here is old.`,
    );
  }
  if (k.value("rdb_last_bgsave_status") === 0) {
    say("warning", "The last save failed", "Its log says why: a full disk, or no memory to fork.");
  }
  if (k.value("aof_enabled") > 0 && k.value("aof_last_write_status") === 0) {
    say(
      "critical",
      "The append-only file is not written",
      "Redis refuses writes. Its log says why.",
    );
  }
  if (k.value("loading_dump_file") > 0) {
    say("warning", "It loads its data", "Until that is done it answers no client.");
  }
  if (k.value("cluster_enabled") > 0 && k.value("cluster_state") === 0) {
    say("critical", "The cluster is down", "It does not serve all slots, as this node sees it.");
  }
  return out;
}

/** The page of a Redis, below its head. */
export function Redis({
  node,
  scope,
  read,
  subjects,
  range,
  alerts,
  names,
  findings,
}: {
  node: Node;
  scope: string;
  read: Read | undefined;
  subjects: Subject[];
  range: Range;
  alerts: Alert[];
  names: ReadonlyMap<string, string>;
  findings: Finding[];
}) {
  const data = useData(`redis ${scope}`, (s) => query(expressionOf(now, scope), s), { keep: true });
  const known = useMemo(() => new Known(data.value?.result ?? []), [data.value]);
  const marks = useMarks(scope, range, names);
  return (
    <>
      <Hurts
        alerts={alerts}
        findings={[...findings, ...(silent(node) ? [] : findingsOf(known))]}
        names={names}
        well="It answers, no alert fires, and memory, replication and saves are as they should be."
      />
      <Values of={node}>
        <Facts list={factsOf(node, known, read)} />
      </Values>
      <MarkList marks={marks} />
      <Board {...{ specs, subjects, range, marks, names }} interval={intervalOf([node])} />
      <Values of={node}>
        <Commands scope={scope} range={range} />
      </Values>
    </>
  );
}

/** A command with its figures, in the order of the question. */
interface Command {
  name: string;
  values: number[];
}

const byCommand = (name: string) => `sum by (cmd) (rate(redis_${name}{$scope}[$w]))`;
const commandFigures: [id: string, title: string, unit: string, expr: string][] = [
  ["calls", "calls", "per_second", byCommand("commands_total")],
  [
    "mean",
    "mean",
    "seconds",
    `${byCommand("commands_duration_seconds_total")} / (${byCommand("commands_total")} > 0)`,
  ],
  [
    "p99",
    "p99",
    "seconds",
    `histogram_quantile(0.99, ${byCommand("commands_latencies_usec")}) / 1e6`,
  ],
  ["time", "time taken", "percent", `100 * ${byCommand("commands_duration_seconds_total")}`],
  ["failed", "failed", "per_second", byCommand("commands_failed_calls_total")],
  ["rejected", "refused", "per_second", byCommand("commands_rejected_calls_total")],
];

const commandColumns: Column<Command>[] = [
  { id: "cmd", title: "command", width: 2, cell: (c) => c.name, order: (c) => c.name },
  ...commandFigures.map(
    ([id, title, unit], i): Column<Command> => ({
      id,
      title,
      number: true,
      wide: i > 2,
      cell: (c) => (
        <span class={i > 3 && c.values[i]! > 0 ? "bad-value" : undefined}>
          {format(c.values[i], unit)}
        </span>
      ),
      order: (c) => c.values[i]!,
    }),
  ),
];

/** The commands of a Redis, those that take most of its time first. */
function Commands({ scope, range }: { scope: string; range: Range }) {
  const window = Math.max(300, windowOf(range));
  const expr = together(commandFigures.map(([, , , e]) => e))
    .replaceAll("$w", `${window}s`)
    .replaceAll("$scope", () => scope);
  const data = useData(
    `commands ${expr}`,
    async (signal) => {
      const map = new Map<string, number[]>();
      for (const { metric, value } of (await query(expr, signal)).result) {
        const name = metric.cmd ?? "";
        const values = map.get(name) ?? commandFigures.map(() => Number.NaN);
        values[Number(metric.q)] = number(value?.[1]);
        map.set(name, values);
      }
      const list = [...map].map(([name, values]): Command => ({ name, values }));
      const worth = (c: Command) => c.values[3]! || 0;
      return list.sort((a, b) => worth(b) - worth(a) || (a.name < b.name ? -1 : 1));
    },
    { every: 10_000, keep: true },
  );
  return (
    <List
      title="Commands"
      note={`of the last ${length(window)}, those that take most time first`}
      what="the commands"
      none="It says nothing of its commands."
      data={data}
      rows={data.value ?? []}
      columns={commandColumns}
      id={(c) => c.name}
    />
  );
}

const gauge = (name: string, legend: string): [string, string] => [
  `max(redis_${name}{$scope}$o)`,
  legend,
];

/** The charts of a Redis. */
const specs: Spec[] = [
  {
    title: "Memory",
    unit: "bytes",
    asks: [
      gauge("memory_used_bytes", "used"),
      gauge("memory_used_rss_bytes", "of the machine"),
      ["max(redis_memory_max_bytes{$scope}$o) > 0", "at most"],
    ],
  },
  { title: "Commands", unit: "per_second", asks: [[rate("commands_processed_total"), "commands"]] },
  { title: "Hit ratio", unit: "ratio", asks: [[hits, "reads that found their key"]] },
  {
    title: "Keys that went",
    unit: "per_second",
    asks: [
      [rate("evicted_keys_total"), "evicted for memory"],
      [rate("expired_keys_total"), "expired"],
    ],
  },
  {
    title: "Latency of commands",
    unit: "seconds",
    note: "p99",
    asks: [
      [
        "histogram_quantile(0.99, sum by (cmd) " +
          "(rate(redis_commands_latencies_usec{$scope}[$w]$o))) / 1e6",
        "{cmd}",
      ],
    ],
  },
  {
    title: "Clients",
    unit: "count",
    asks: [gauge("connected_clients", "connected"), gauge("blocked_clients", "waiting")],
  },
  {
    title: "Replicas behind",
    unit: "bytes",
    asks: [
      [
        "scalar(max(redis_master_repl_offset{$scope}$o)) - " +
          "max by (slave_ip, slave_port) (redis_connected_slave_offset_bytes{$scope}$o)",
        "{slave_ip}:{slave_port}",
      ],
    ],
  },
  {
    title: "Forks and saves",
    unit: "seconds",
    asks: [
      gauge("latest_fork_seconds", "last fork"),
      gauge("rdb_last_bgsave_duration_sec", "last save"),
    ],
  },
  {
    title: "Slow commands",
    unit: "per_second",
    note: "that the slow log got",
    asks: [["clamp_min(sum(deriv(redis_slowlog_last_id{$scope}[$w]$o)), 0)", "slow"]],
  },
  {
    title: "Errors",
    unit: "per_second",
    asks: [["sum by (err) (rate(redis_errors_total{$scope}[$w]$o))", "{err}"]],
  },
  {
    title: "CPU",
    unit: "percent",
    note: "of one processor",
    asks: [
      [`100 * ${rate("cpu_user_seconds_total")}`, "user"],
      [`100 * ${rate("cpu_sys_seconds_total")}`, "system"],
    ],
  },
  {
    title: "Network",
    unit: "bytes_per_second",
    asks: [
      [rate("net_input_bytes_total"), "received"],
      [rate("net_output_bytes_total"), "sent"],
    ],
  },
  {
    title: "Keys",
    unit: "count",
    asks: [["max by (db) (redis_db_keys{$scope}$o)", "{db}"]],
  },
];
