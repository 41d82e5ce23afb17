// Where a value is right now: what each hop between an agent and an answer does, and how fresh it
// is.
import { type Answer, type Installation, installation, query, type Sample } from "../api";
import { Near } from "../board";
import { Chart } from "../chart";
import { useData } from "../data";
import { Shown, Warnings } from "../faces";
import type { Ask } from "../lines";
import { useAway } from "../marks";
import { usePlace } from "../place";
import { type Range, rangeOf, refreshOf, stamp, windowOf } from "../time";
import { format, length } from "../units";
import { enginesOf, type Hop, hopsOf, watchedLag } from "./hops";
import {
  type Health,
  healthOf,
  type Ledger,
  nowExpr,
  nowOf,
  seldom,
  sumExpr,
  sumsOf,
} from "./ledger";
import { Processes, processes } from "./processes";
import { Share } from "./work";

/** The page. */
export function PipelinePage() {
  const here = useData("installation", installation, { every: 60_000, keep: true });
  return (
    <>
      <div class="page-head">
        <h1>Pipeline</h1>
        <span class="dim">The way of a value from a node to an answer</span>
      </div>
      <Shown data={here} what="the installation" rows={6}>
        {(value) => <Hops here={value} />}
      </Shown>
    </>
  );
}

/** All hops of an installation. */
function Hops({ here }: { here: Installation }) {
  const range = rangeOf(usePlace());
  const when = range.live ? undefined : range.to;
  const key = `${when ?? "now"} ${range.to - range.from}`;
  const known = useData(`processes ${when ?? ""}`, (s) => query(processes, s, when), {
    every: 10_000,
    keep: true,
  });
  const self = known.value?.result.some((s) => s.metric.q === "0") ?? false;
  const all = hopsOf(here);
  const list = self ? all : all.slice(0, 1);
  const now = useData(
    known.value ? `hops ${key} ${self} ${windowOf(range)}` : null,
    (s) => query(nowExpr(list, windowOf(range)), s, when),
    { keep: true },
  );
  const sums = useData(
    known.value ? `sums ${key} ${self}` : null,
    (s) => query(sumExpr(list, range.to - range.from), s, when),
    { every: Math.max(30_000, refreshOf(range)), keep: true },
  );
  return (
    <>
      <Shown data={known} what="the processes" rows={6}>
        {(value) => (
          <>
            {!self && <Off here={here} />}
            <Shown data={now} what="the hops" rows={4}>
              {(answer) => <Line list={list} answer={answer} window={windowOf(range)} />}
            </Shown>
            <section class="panel" aria-labelledby="ledger">
              <div class="panel-head">
                <h2 id="ledger">Ledger</h2>
                <span class="dim">{spanOf(range)}</span>
                <Warnings list={sums.value?.warnings ?? []} />
              </div>
              <Shown data={sums} what="the ledger" rows={4}>
                {(answer) => (
                  <LedgerTable
                    list={list}
                    sums={sumsOf(list, answer)}
                    now={now.value && nowOf(list, now.value)}
                  />
                )}
              </Shown>
            </section>
            {/* A browser asks six things at a time: the hops come first. */}
            {(now.value || now.error) && <Charts range={range} self={self} here={here} />}
            {self && <Processes list={value.result} />}
            <Share />
          </>
        )}
      </Shown>
    </>
  );
}

function spanOf(range: Range): string {
  if (range.live) return `in the last ${length(range.to - range.from)}`;
  return `from ${stamp(range.from).slice(0, 16)} to ${stamp(range.to).slice(0, 16)}`;
}

/** Says why there is so little, and how to have more. */
function Off({ here }: { here: Installation }) {
  const { tls, port } = here.ingest;
  return (
    <section class="panel" data-self="off">
      <h2>The processes do not send their own metrics</h2>
      <p>
        This page shows only what agents report. Each process of Ringwatch can send its own metrics
        through ingest. Make a key that may do nothing else, put this into the configuration of each
        process, and restart it.
      </p>
      <pre tabIndex={0}>ringwatch key create self --scopes write --cluster ringwatch-self</pre>
      <pre tabIndex={0}>{`self:
  url: ${tls ? "https" : "http"}://${tls ? location.hostname : "127.0.0.1"}:${port} # an ingest
  key_file: /etc/ringwatch/self.key # holds the key`}</pre>
    </section>
  );
}

const states: Record<Health, [sign: string, kind: string]> = {
  flowing: ["●", "up"],
  quiet: ["◌", "none"],
  behind: ["◐", "late"],
  dropping: ["▲", "down"],
  unknown: ["?", "none"],
};

/** The hops, from left to right; the three that read the stream stand together. */
function Line({ list, answer, window }: { list: Hop[]; answer: Answer<Sample>; window: number }) {
  const all = nowOf(list, answer);
  const card = (id: string) => {
    const hop = list.find((h) => h.id === id);
    const ledger = all.get(id);
    return hop && ledger ? <Card key={id} hop={hop} ledger={ledger} window={window} /> : null;
  };
  const parts = [["agents"], ["ingest"], ["kafka"], ["store", "recent", "rules"], ["api"]];
  return (
    <ol class={list.length > 1 ? "hops" : "hops single"} aria-label="Hops">
      {parts
        .filter((ids) => ids.some((id) => all.has(id)))
        .map((ids) => (
          <li key={ids[0]}>{ids.map(card)}</li>
        ))}
    </ol>
  );
}

/** A hop: how it is, what comes in and goes out a second, what waits, and what is special of it. */
function Card({ hop, ledger, window }: { hop: Hop; ledger: Ledger; window: number }) {
  const health = healthOf(hop, ledger);
  const [sign, kind] = states[health];
  const of = `a mean of the last ${length(window)}`;
  const bad = ledger.dropped.filter(([reason]) => !hop.fine?.includes(reason));
  const fine = ledger.dropped.filter(([reason]) => hop.fine?.includes(reason));
  return (
    <article class="hop" data-hop={hop.id} aria-label={hop.name}>
      <header>
        <h2>{hop.name}</h2>
        <span class={`state ${kind}`}>
          <span aria-hidden="true">{sign}</span> {health}
        </span>
      </header>
      <p class="dim">{hop.what}</p>
      <dl>
        <Pair name="in" title={of} value={format(ledger.accepted, "per_second")} />
        <Pair name="out" title={of} value={format(ledger.forwarded, "per_second")} />
        <Pair
          name="dropped"
          title={bad.map(([reason, v]) => `${reason} ${format(v, "per_second")}`).join(", ") || of}
          value={format(total(bad, ledger), "per_second")}
          bad={bad.length > 0}
        />
        {fine.length > 0 && (
          <Pair
            name={hop.fineName ?? "beside"}
            title={fine.map(([reason, v]) => `${reason} ${format(v, "per_second")}`).join(", ")}
            value={format(total(fine, ledger), "per_second")}
          />
        )}
        <Pair name="waiting" value={format(ledger.pending)} />
        {hop.figures.map((f, i) => (
          <Pair
            key={f.title}
            name={f.title}
            value={format(ledger.figures[i], f.unit)}
            bad={f.most !== undefined && ledger.figures[i]! > f.most}
          />
        ))}
      </dl>
    </article>
  );
}

function total(list: [string, number][], ledger: Ledger): number {
  if (Number.isNaN(ledger.accepted)) return Number.NaN;
  return list.reduce((sum, [, v]) => sum + v, 0);
}

function Pair(p: { name: string; value: string; title?: string; bad?: boolean }) {
  return (
    <div title={p.title}>
      <dt>{p.name}</dt>
      <dd class={p.bad ? "bad-value" : undefined} data-figure={p.name}>
        {p.value}
      </dd>
    </div>
  );
}

/** What each hop took, passed on and dropped: nothing may be missing between them. */
function LedgerTable({
  list,
  sums,
  now,
}: {
  list: Hop[];
  sums: Map<string, Ledger>;
  now: Map<string, Ledger> | undefined;
}) {
  return (
    <section class="ledger" tabIndex={0} aria-label="Ledger of all hops">
      <table class="plain-table">
        <thead>
          <tr>
            <th scope="col">hop</th>
            <th scope="col" class="number">
              accepted
            </th>
            <th scope="col" class="number">
              forwarded
            </th>
            <th scope="col" class="number">
              dropped
            </th>
            <th scope="col" class="number">
              waiting now
            </th>
            <th scope="col">dropped by reason</th>
          </tr>
        </thead>
        <tbody>
          {list.map((h) => {
            const l = sums.get(h.id)!;
            return (
              <tr key={h.id} data-hop={h.id}>
                <th scope="row">{h.name}</th>
                <td class="number">{whole(l.accepted)}</td>
                <td class="number">{whole(l.forwarded)}</td>
                <td class="number">{whole(total(l.dropped, l))}</td>
                <td class="number">{format(now?.get(h.id)?.pending)}</td>
                <td>
                  {l.dropped.map(([reason, v]) => (
                    <span class="reason" key={reason}>
                      {reason || "unknown"} <span class="number">{whole(v)}</span>
                    </span>
                  ))}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}

/** PromQL's increase is seldom whole, but frames are. */
function whole(v: number): string {
  return Number.isNaN(v) ? "–" : format(Math.round(v));
}

function line(legend: string, expr: string): Ask {
  return { expr, legend: () => legend };
}

/** Whose limit refuses, by the label refused. */
const limits: Record<string, string> = { account: "an account", node: "a node" };

/** The part of reads that the last minutes had whole. */
function hitRate(window: string): string {
  const of = (match: string) => `sum(rate(ringwatch_recent_reads_total${match}${window}))`;
  return `${of('{result="hit"}')} / (${of("")} > 0)`;
}

/** The lag of our consumers: as they say it, and while one is away as a watched Kafka says it. */
const lag = `sum by (group) (ringwatch_stream_lag_records) or ${watchedLag}`;

/** What is worth a look over time. */
function Charts({ range, self, here }: { range: Range; self: boolean; here: Installation }) {
  const { stream, store, recent } = enginesOf(here);
  const marks = useAway(range);
  const w = `[${windowOf(range)}s]`;
  const rate = (s: string) => `sum(rate(${s}${w}))`;
  const rare = `[${seldom(windowOf(range))}s]`;
  const p99 = (s: string, window = w) => `histogram_quantile(0.99, sum(rate(${s}${window})))`;
  const byGroup = (l: Record<string, string>) => (l.group ?? "").replace(/^ringwatch-/, "");
  const chart = (title: string, unit: string, asks: Ask[], note?: string) => (
    <Near key={title}>
      {(near) => (
        <Chart paused={!near} {...{ title, unit, asks, range, marks, ...(note && { note }) }} />
      )}
    </Near>
  );
  const agents = [
    chart("Frames of agents", "per_second", [
      line("made", rate('ringwatch_agent_frames_total{node!=""}')),
      line("sent", rate('ringwatch_agent_frames_sent_total{node!=""}')),
      line("dropped", rate('ringwatch_agent_frames_dropped_total{node!=""}')),
    ]),
    chart("Frames waiting at agents", "count", [
      line("in memory", 'sum(ringwatch_agent_queue_frames{node!=""})'),
      line("on disk", 'sum(ringwatch_agent_spool_frames{node!=""})'),
    ]),
  ];
  if (!self) return <div class="charts">{agents}</div>;
  return (
    <div class="charts">
      {chart("Frames through the hops", "per_second", [
        line("agents", rate('ringwatch_agent_frames_sent_total{node!=""}')),
        line("ingest", rate("ringwatch_ingest_frames_forwarded_total")),
        line("store", rate("ringwatch_store_frames_written_total")),
        line("recent", rate("ringwatch_recent_written_total")),
        line("rules", rate('ringwatch_stream_handled_total{group="ringwatch-rules"}')),
      ])}
      {chart("Frames dropped", "per_second", [
        line("agents", rate('ringwatch_agent_frames_dropped_total{node!=""}')),
        line("ingest", rate("ringwatch_ingest_frames_dropped_total")),
        line(stream, rate('ringwatch_stream_publish_dropped_total{producer="ingest"}')),
        line("store", rate("ringwatch_store_frames_dropped_total")),
        line("recent", rate('ringwatch_recent_dropped_total{reason!="inactive"}')),
      ])}
      {chart("Consumer lag", "count", [{ expr: lag, legend: byGroup }], "records")}
      {chart("Oldest record waiting", "seconds", [
        { expr: "max by (group) (ringwatch_stream_pending_age_seconds)", legend: byGroup },
      ])}
      {chart(
        "Time at each hop",
        "seconds",
        [
          line("ingest", p99("ringwatch_ingest_seconds")),
          line(stream, p99('ringwatch_stream_publish_seconds{producer="ingest"}')),
          line(recent, p99("ringwatch_recent_write_seconds")),
          line(`${store}, reads`, p99('ringwatch_ring_request_seconds{reader="store"}')),
          line("API", p99("ringwatch_api_request_seconds")),
        ],
        "p99",
      )}
      {chart("Closing and rolling up windows", "seconds", [
        line("closing, p99", p99("ringwatch_store_window_close_seconds", rare)),
        {
          expr:
            "histogram_quantile(0.99, sum by (level) " +
            `(rate(ringwatch_store_rollup_compute_seconds${rare})))`,
          legend: (l) => `rollup of ${l.level ?? ""}, p99`,
        },
      ])}
      {chart("Windows", "count", [
        line("open", "sum(ringwatch_store_windows_open)"),
        line("set aside", "sum(ringwatch_store_windows_set_aside)"),
      ])}
      {chart(`Reads that ${recent} answered`, "ratio", [line("hit rate", hitRate(w))])}
      {chart(
        "Memory of the last 15 minutes",
        "bytes",
        here.recent === "redis"
          ? [
              line("Redis", "max(ringwatch_recent_redis_memory_bytes)"),
              line("Redis, at most", "max(ringwatch_recent_redis_memory_max_bytes) > 0"),
            ]
          : [
              line("in use", "sum(ringwatch_recent_memory_bytes)"),
              line("at most", "sum(ringwatch_recent_memory_max_bytes)"),
            ],
      )}
      {chart("Requests to the API", "per_second", [
        {
          expr: `sum by (code) (rate(ringwatch_api_requests_total${w}))`,
          legend: (l) => l.code ?? "",
        },
      ])}
      {chart(
        "Limits of accounts",
        "per_second",
        [
          {
            expr: `sum by (of, refused) (rate(ringwatch_limit_decisions_total${w}))`,
            legend: ({ of = "", refused = "" }) =>
              refused === "none" ? `${of} within` : `${of} over the limit of ${limits[refused]}`,
          },
        ],
        "all accounts added up",
      )}
      {chart("Rules", "per_second", [
        line("evaluated", rate("ringwatch_rules_evaluations_total")),
        line("failed", rate("ringwatch_rules_failures_total")),
        line("missed", rate("ringwatch_rules_missed_total")),
      ])}
      {agents}
    </div>
  );
}
