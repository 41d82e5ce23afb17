// Which charts the pages of a cluster and of a node have.
import type { Spec } from "./board";
import type { Range } from "./time";

const latency = "cassandra_client_request_latency_seconds";
const requestPools = "ReadStage|MutationStage|Native-Transport-Requests";
const storagePools = "CompactionExecutor|MemtableFlushWriter|MemtablePostFlush";
const namedPools = `${requestPools}|${storagePools}`;

/** Tasks of thread pools: those that matter each, the rest as one line. */
const pools = (metric: string): Spec["asks"] => [
  [`sum by (pool) (${metric}{$scope,pool=~"${namedPools}"}$o)`, "{pool}"],
  [`sum(${metric}{$scope,pool!~"${namedPools}"}$o)`, "all other pools"],
];

const cpu = (by: string) =>
  `100 * (1 - sum by (${by}) (rate(os_cpu_seconds_total{$scope,mode=~"idle|iowait"}[$w]$o)) ` +
  `/ sum by (${by}) (rate(os_cpu_seconds_total{$scope}[$w]$o)))`;
const disk = (by: string) =>
  `100 * max by (${by}) (1 - os_filesystem_available_bytes{$scope}$o ` +
  `/ os_filesystem_size_bytes{$scope}$o)`;
// Cycles and concurrent phases run beside Cassandra: they are no pauses.
const pauses = (by: string) =>
  `100 * sum by (${by}) ` +
  `(rate(jvm_gc_collection_seconds_total{$scope,gc!~".*(Cycles|Concurrent GC)"}[$w]$o))`;
const errors = (what: string) => `sum(rate(cassandra_client_request_${what}_total{$scope}[$w]$o))`;
const quantile = (q: number, request: string) =>
  `histogram_quantile(${q}, sum(rate(${latency}{$scope,request="${request}"}[$w]$o)))`;

/** Above this many nodes, nobody tells their lines apart: the highest, median and lowest stand. */
export const mostNodes = 12;

/** Of more frames than that the nodes are not asked one by one, if rules recorded their sums. */
export const mostFrames = 200_000;

/**
 * The charts of a cluster. recorded are the names of series that rules have recorded of it: of five
 * minutes each, so a spike stands in them for five. They answer where points are that far apart, or
 * where the nodes are too many to be asked one by one; interval is how far their frames are apart,
 * in seconds.
 */
export function clusterSpecs(
  recorded: ReadonlySet<string>,
  nodes: number,
  range: Range,
  interval: number,
  diskNote: string,
): Spec[] {
  const frames = (nodes * (range.to - range.from)) / interval;
  const asked = range.step >= 300 || frames > mostFrames;
  // Steps that are longer than a record have the mean or the highest of several.
  const long = range.step > 300;
  const isRecorded = (name: string) => asked && recorded.has(name);
  const record = (over: "avg" | "max", name: string, request: string | null, exact: string) => {
    if (!isRecorded(name)) return exact;
    const selector = `${name}{$scope${request === null ? "" : `,request="${request}"`}}`;
    const value = long ? `${over}_over_time(${selector}[$w])` : selector;
    return request === null ? `sum by (request) (${value})` : `sum(${value})`;
  };
  const quantiles = (request: string): Spec["asks"] =>
    [50, 95, 99].map((p) => [
      record("max", `cluster_request:${latency}:p${p}_5m`, request, quantile(p / 100, request)),
      `p${p}`,
    ]);
  const by = (name: string, of: string, longNote: string) =>
    isRecorded(name) ? `${of}, ${long ? longNote : "recorded over 5 min each"}` : of;
  const counted = `cluster_request:${latency}:rate5m`;
  const latencyNote = by(
    `cluster_request:${latency}:p99_5m`,
    "at coordinators",
    "highest recorded 5 min of each step",
  );
  const each = (expr: (by: string) => string): Spec["asks"] =>
    nodes <= mostNodes
      ? [[expr("node"), "{node}"]]
      : [
          [`max(${expr("node")})`, "highest of the nodes"],
          [`quantile(0.5, ${expr("node")})`, "median of the nodes"],
          [`min(${expr("node")})`, "lowest of the nodes"],
        ];
  const dropped = (matcher: string) =>
    `sum(rate(cassandra_dropped_message_dropped_total{$scope,${matcher}}[$w]$o))`;
  const reads = "READ.*|RANGE.*";
  const writes = "(COUNTER_)?MUTATION.*";
  return [
    {
      title: "Requests",
      unit: "per_second",
      note: by(counted, "at coordinators", "mean of recorded 5 min"),
      asks: [
        [
          record("avg", counted, null, `sum by (request) (rate(${latency}_count{$scope}[$w]))`),
          "{request}",
        ],
      ],
    },
    {
      title: "Failed requests",
      unit: "per_second",
      note: "at coordinators",
      asks: [
        [errors("timeouts"), "timeouts"],
        [errors("unavailables"), "unavailable"],
        [errors("failures"), "failures"],
      ],
    },
    {
      title: "Read latency",
      unit: "seconds",
      asks: quantiles("Read"),
      note: latencyNote,
    },
    {
      title: "Write latency",
      unit: "seconds",
      asks: quantiles("Write"),
      note: latencyNote,
    },
    {
      title: "Pending compactions",
      unit: "count",
      asks: each((by) => `sum by (${by}) (cassandra_compaction_pending_tasks{$scope})`),
      threshold: 100,
    },
    {
      title: "Dropped messages",
      unit: "per_second",
      asks: [
        [dropped(`message=~"${reads}"`), "reads"],
        [dropped(`message=~"${writes}"`), "writes"],
        [dropped(`message!~"${reads}|${writes}"`), "others"],
      ],
    },
    {
      title: "Hints written",
      unit: "per_second",
      asks: each((by) => `sum by (${by}) (rate(cassandra_storage_hints_total{$scope}[$w]))`),
    },
    { title: "Disk used", unit: "percent", asks: each(disk), threshold: 75, note: diskNote },
    {
      title: "Tasks waiting in thread pools",
      unit: "count",
      asks: [
        ...pools("cassandra_thread_pool_pending_tasks"),
        ["sum(cassandra_thread_pool_blocked_tasks{$scope})", "blocked, all pools"],
      ],
    },
    { title: "CPU busy", unit: "percent", asks: each(cpu), threshold: 90 },
    { title: "Pauses for garbage collection", unit: "percent", asks: each(pauses) },
    { title: "Network", unit: "bytes_per_second", asks: network() },
  ];
}

const network = (): Spec["asks"] => [
  [`sum(rate(os_network_received_bytes_total{$scope,device!="lo"}[$w]$o))`, "received"],
  [`sum(rate(os_network_transmitted_bytes_total{$scope,device!="lo"}[$w]$o))`, "sent"],
];

const mode = (matcher: string): string =>
  `100 * sum(rate(os_cpu_seconds_total{$scope,mode${matcher}}[$w]$o)) ` +
  `/ sum(rate(os_cpu_seconds_total{$scope}[$w]$o))`;
const quantilesOf = (request: string): Spec["asks"] =>
  [0.5, 0.95, 0.99].map((q) => [quantile(q, request), `p${100 * q}`]);
const gauge = (metric: string, legend: string): [string, string] => [
  `sum(${metric}{$scope}$o)`,
  legend,
];
const rate = (metric: string, legend: string): [string, string] => [
  `sum(rate(${metric}{$scope}[$w]$o))`,
  legend,
];

/** Requests are counted once, by their coordinator, and tables' by each replica. */
const coordinated = "that this node coordinates";

/** The charts of a node, in groups. */
export const nodeGroups: { name: string; specs: Spec[] }[] = [
  {
    name: "Requests",
    specs: [
      {
        title: "Requests",
        unit: "per_second",
        note: coordinated,
        asks: [[`sum by (request) (rate(${latency}_count{$scope}[$w]$o))`, "{request}"]],
      },
      {
        ...{ title: "Read latency", unit: "seconds", note: coordinated },
        asks: quantilesOf("Read"),
      },
      {
        ...{ title: "Write latency", unit: "seconds", note: coordinated },
        asks: quantilesOf("Write"),
      },
      {
        title: "Failed requests",
        unit: "per_second",
        note: coordinated,
        asks: [
          [errors("timeouts"), "timeouts"],
          [errors("unavailables"), "unavailable"],
          [errors("failures"), "failures"],
          ["sum(rate(cassandra_dropped_message_dropped_total{$scope}[$w]$o))", "dropped messages"],
        ],
      },
      {
        title: "Clients",
        unit: "count",
        asks: [gauge("cassandra_client_connected_native_clients", "connections")],
      },
      {
        title: "Hints written",
        unit: "per_second",
        asks: [rate("cassandra_storage_hints_total", "hints")],
      },
    ],
  },
  {
    name: "Operating system",
    specs: [
      {
        title: "CPU",
        unit: "percent",
        asks: [
          [mode('="user"'), "user"],
          [mode('="system"'), "system"],
          [mode('="nice"'), "low priority"],
          [mode('="iowait"'), "waiting for disks"],
          [mode('="steal"'), "taken by other machines"],
          [mode('=~"irq|softirq"'), "interrupts"],
        ],
      },
      {
        title: "Load",
        unit: "count",
        asks: [
          gauge("os_load1", "1 min"),
          gauge("os_load5", "5 min"),
          gauge("os_cpus", "processors"),
        ],
      },
      {
        title: "Memory",
        unit: "bytes",
        asks: [
          [
            "sum(os_memory_total_bytes{$scope}$o) - sum(os_memory_available_bytes{$scope}$o)",
            "used",
          ],
          gauge("os_memory_cached_bytes", "page cache"),
          gauge("os_memory_total_bytes", "all"),
        ],
      },
      {
        title: "Disk traffic",
        unit: "bytes_per_second",
        asks: [
          rate("os_disk_read_bytes_total", "read"),
          rate("os_disk_written_bytes_total", "written"),
        ],
      },
      {
        title: "Disks used and busy",
        unit: "percent",
        asks: [
          [disk("mount"), "{mount} used"],
          ["100 * sum by (device) (rate(os_disk_io_seconds_total{$scope}[$w]$o))", "{device} busy"],
        ],
      },
      { title: "Network", unit: "bytes_per_second", asks: network() },
    ],
  },
  {
    name: "JVM and garbage collection",
    specs: [
      {
        title: "Heap",
        unit: "bytes",
        asks: [gauge("jvm_heap_used_bytes", "used"), gauge("jvm_heap_max_bytes", "most")],
      },
      {
        title: "Time in garbage collection",
        unit: "percent",
        asks: [["100 * sum by (gc) (rate(jvm_gc_collection_seconds_total{$scope}[$w]$o))", "{gc}"]],
      },
      {
        title: "Length of a collection",
        unit: "seconds",
        note: "mean",
        asks: [
          [
            "sum by (gc) (rate(jvm_gc_collection_seconds_total{$scope}[$w]$o)) " +
              "/ (sum by (gc) (rate(jvm_gc_collections_total{$scope}[$w]$o)) > 0)",
            "{gc}",
          ],
        ],
      },
      {
        title: "Used after a collection",
        unit: "bytes",
        asks: [["sum by (pool) (jvm_memory_pool_collection_used_bytes{$scope}$o)", "{pool}"]],
      },
      {
        title: "Buffers outside the heap",
        unit: "bytes",
        asks: [["sum by (pool) (jvm_buffer_pool_used_bytes{$scope}$o)", "{pool}"]],
      },
      { title: "Threads", unit: "count", asks: [gauge("jvm_threads", "threads")] },
    ],
  },
  {
    name: "Thread pools",
    specs: [
      { title: "Active tasks", unit: "count", asks: pools("cassandra_thread_pool_active_tasks") },
      { title: "Pending tasks", unit: "count", asks: pools("cassandra_thread_pool_pending_tasks") },
      { title: "Blocked tasks", unit: "count", asks: pools("cassandra_thread_pool_blocked_tasks") },
    ],
  },
  {
    name: "Caches",
    specs: [
      {
        title: "Hit rate",
        unit: "percent",
        asks: [
          [
            "100 * sum by (cache) (rate(cassandra_cache_hits_total{$scope}[$w]$o)) " +
              "/ (sum by (cache) (rate(cassandra_cache_requests_total{$scope}[$w]$o)) > 0)",
            "{cache}",
          ],
        ],
      },
      {
        title: "Cache requests",
        unit: "per_second",
        asks: [["sum by (cache) (rate(cassandra_cache_requests_total{$scope}[$w]$o))", "{cache}"]],
      },
      {
        title: "Cache size",
        unit: "bytes",
        asks: [["sum by (cache) (cassandra_cache_size_bytes{$scope}$o)", "{cache}"]],
      },
    ],
  },
  {
    name: "Commit log, compaction and streaming",
    specs: [
      {
        title: "Wait for the commit log",
        unit: "seconds",
        note: "p99",
        asks: ["commit", "segment_allocation"].map((what): [string, string] => [
          "histogram_quantile(0.99, sum(rate(" +
            `cassandra_commit_log_waiting_on_${what}_seconds{$scope}[$w]$o)))`,
          what === "commit" ? "to sync" : "for a segment",
        ]),
      },
      {
        title: "Commit log size",
        unit: "bytes",
        asks: [gauge("cassandra_commit_log_size_bytes", "size")],
      },
      {
        title: "Tasks waiting",
        unit: "count",
        asks: [
          gauge("cassandra_compaction_pending_tasks", "compactions"),
          gauge("cassandra_commit_log_pending_tasks", "commit log"),
          gauge("cassandra_memtable_pool_pending_flush_tasks", "flushes"),
        ],
      },
      {
        title: "Compacted",
        unit: "bytes_per_second",
        asks: [rate("cassandra_compaction_compacted_bytes_total", "compacted")],
      },
      {
        title: "Memtables",
        unit: "bytes",
        asks: [
          gauge("cassandra_table_memtable_on_heap_data_size_bytes", "on the heap"),
          gauge("cassandra_table_memtable_off_heap_data_size_bytes", "outside the heap"),
        ],
      },
      {
        title: "Streams",
        unit: "count",
        asks: [gauge("cassandra_node_streams", "under way")],
      },
    ],
  },
  {
    name: "Ringwatch's agent",
    specs: [
      {
        title: "Agent's CPU",
        unit: "percent",
        note: "of one processor",
        asks: [
          ["100 * sum(rate(ringwatch_agent_pass_cpu_seconds_total{$scope}[$w]$o))", "reading"],
        ],
      },
      {
        title: "Frames",
        unit: "per_second",
        asks: [
          rate("ringwatch_agent_frames_sent_total", "sent"),
          rate("ringwatch_agent_frames_dropped_total", "dropped"),
          rate("ringwatch_agent_send_errors_total", "failed sends"),
        ],
      },
      {
        title: "Frames waiting",
        unit: "bytes",
        asks: [
          gauge("ringwatch_agent_queue_bytes", "in memory"),
          gauge("ringwatch_agent_spool_bytes", "on disk"),
        ],
      },
      {
        title: "Sent",
        unit: "bytes_per_second",
        asks: [rate("ringwatch_agent_sent_bytes_total", "sent")],
      },
    ],
  },
];
