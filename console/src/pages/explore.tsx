// Explore: expressions of PromQL, each as a graph, a table, or both. The address has all of them.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ApiError, onSignIn } from "../api";
import { Copy } from "../copy";
import { Editor, type Fault, faultOf, language } from "../editor";
import { sentence } from "../faces";
import { type Place, usePlace } from "../place";
import { GraphOf, TableOf } from "../results";
import { curlOf, grafanaOf, letter } from "../share";
import { linkOf, rangeOf } from "../time";
import { Dictionary } from "./dictionary";

/** An expression and how it is shown. */
interface Query {
  expr: string;
  graph: boolean;
  table: boolean;
  off: boolean;
}

/** The expressions that a place names: expr, and at the same place of show what is shown of it:
 *  g a graph, t a table, x nothing for now. */
function queriesOf({ params }: Place): Query[] {
  const shows = (params.get("show") ?? "").split(",");
  return params.getAll("expr").map((expr, i) => {
    const show = shows[i] || "g";
    return { expr, graph: show.includes("g"), table: show.includes("t"), off: show.includes("x") };
  });
}

/** The link of expressions at a time range. */
function hashOf(list: Query[], { params }: Place): string {
  const all = new URLSearchParams();
  for (const name of ["range", "from", "to"]) {
    const value = params.get(name);
    if (value !== null) all.set(name, value);
  }
  for (const q of list) all.append("expr", q.expr);
  const show = list.map((q) => `${q.graph ? "g" : ""}${q.table ? "t" : ""}${q.off ? "x" : ""}`);
  if (show.some((s) => s !== "g")) all.set("show", show.join(","));
  const text = all.toString();
  return `#/explore${text && `?${text}`}`;
}

const pastName = "ringwatch.explore.past";
const mostPast = 50;

function past(): string[] {
  try {
    const list: unknown = JSON.parse(sessionStorage.getItem(pastName) ?? "[]");
    return Array.isArray(list) ? list.filter((e) => typeof e === "string") : [];
  } catch {
    return [];
  }
}

// What somebody asked is not for whoever signs in next.
onSignIn(() => sessionStorage.removeItem(pastName));

const fresh: Query = { expr: "", graph: true, table: false, off: false };

const examples: [string, string][] = [
  [
    "Requests a second, by cluster and kind",
    "sum by (cluster, request) " +
      '(rate(cassandra_client_request_latency_seconds_count{node!=""}[5m]))',
  ],
  [
    "Read latency p99, by node",
    "histogram_quantile(0.99, sum by (node) " +
      '(rate(cassandra_client_request_latency_seconds{node!="",request="Read"}[5m])))',
  ],
  [
    "Latency of writes as a heat map",
    'sum(rate(cassandra_client_request_latency_seconds{node!="",request="Write"}[5m]))',
  ],
  [
    "The fullest disks",
    'topk(10, 1 - os_filesystem_available_bytes{node!=""} / os_filesystem_size_bytes)',
  ],
];

/** The page. */
export function ExplorePage() {
  const at = usePlace();
  const named = queriesOf(at);
  const list = named.length > 0 ? named : [fresh];
  const exprs = JSON.stringify(list.map((q) => q.expr));
  const known = useRef(exprs);
  // What is in the boxes: at once in latest, and with the next drawing in texts.
  const [texts, setTexts] = useState(() => list.map((q) => q.expr));
  const latest = useRef(texts);
  const [version, setVersion] = useState(0);
  const [round, setRound] = useState(0);
  const [history, setHistory] = useState(past);
  const promql = useMemo(language, []);
  useEffect(() => () => promql.destroy(), [promql]);
  const fill = (next: string[]) => {
    latest.current = next;
    setTexts(next);
    setVersion((v) => v + 1);
  };
  useEffect(() => {
    if (known.current === exprs) return;
    known.current = exprs; // somebody went back, or followed a link
    fill(list.map((q) => q.expr));
  }, [exprs]);
  const shownTexts = list.map((q, i) => texts[i] ?? q.expr);

  const write = (next: Query[], replace: boolean) => {
    known.current = JSON.stringify(next.map((q) => q.expr));
    const hash = hashOf(next, at);
    if (hash === location.hash) return;
    if (!replace) {
      location.hash = hash;
      return;
    }
    window.history.replaceState(null, "", hash);
    window.dispatchEvent(new HashChangeEvent("hashchange"));
  };
  const run = () => {
    const now = list.map((q, i) => latest.current[i] ?? q.expr);
    const all = [...new Set([...now.filter((t) => t.trim()), ...past()])].slice(0, mostPast);
    sessionStorage.setItem(pastName, JSON.stringify(all));
    setHistory(all);
    setRound(round + 1);
    write(
      list.map((q, i) => ({ ...q, expr: now[i]! })),
      false,
    );
  };
  const alter = (i: number, change: Partial<Query>) => {
    write(
      list.map((q, j) => (i === j ? { ...q, ...change } : q)),
      true,
    );
  };
  const add = (expr: string) => {
    const now = list.map((q, i) => latest.current[i] ?? q.expr);
    const empty = now.findIndex((t) => !t.trim());
    if (expr && empty >= 0) {
      fill(now.map((t, i) => (i === empty ? expr : t)));
      write(
        list.map((q, i) => (i === empty ? { ...q, expr } : q)),
        false,
      );
    } else {
      fill([...now, expr]);
      write([...list, { ...fresh, expr }], !expr);
    }
  };
  const rewrite = (i: number, expr: string) => {
    const now = list.map((q, j) => (j === i ? expr : (latest.current[j] ?? q.expr)));
    fill(now);
    write(
      list.map((q, j) => (j === i ? { ...q, expr } : q)),
      false,
    );
  };
  /** The link of the expressions with one more, in the first box that is empty. */
  const hrefOf = (expr: string) => {
    const empty = list.findIndex((q) => !q.expr.trim());
    return hashOf(
      list.map((q, i) => (i === empty ? { ...q, expr } : q)),
      at,
    );
  };
  const remove = (i: number) => {
    fill(latest.current.filter((_, j) => j !== i));
    write(
      list.filter((_, j) => j !== i),
      false,
    );
  };
  const active = list.filter((q) => q.expr.trim() && !q.off).map((q) => q.expr);
  return (
    <>
      <div class="page-head explore-head">
        <h1>Explore</h1>
        <span class="explore-tools">
          <Past
            list={history}
            use={add}
            clear={() => {
              sessionStorage.removeItem(pastName);
              setHistory([]);
            }}
          />
          <Copy name="Copy link" text={() => linkOf(at)} />
          <Copy
            name="Copy as Grafana panel"
            text={() => grafanaOf(active)}
            disabled={active.length === 0}
          />
        </span>
      </div>
      {list.map((q, i) => (
        <QueryPanel
          key={i}
          at={at}
          name={letter(i)}
          query={q}
          text={shownTexts[i]!}
          promql={promql}
          round={round}
          only={list.length === 1}
          focus={list.length === 1 && !q.expr}
          version={version}
          change={(t) => {
            latest.current = list.map((q, j) => (i === j ? t : (latest.current[j] ?? q.expr)));
            setTexts(latest.current);
          }}
          run={run}
          alter={(change) => alter(i, change)}
          rewrite={(expr) => rewrite(i, expr)}
          remove={() => remove(i)}
        />
      ))}
      <p>
        <button type="button" onClick={() => add("")}>
          Add an expression
        </button>
      </p>
      {list.some((q) => !q.expr.trim()) && <Dictionary hrefOf={hrefOf} />}
      {list.every((q) => !q.expr.trim()) && (
        <section class="panel" aria-label="Examples">
          <h2>Examples</h2>
          <ul class="examples">
            {examples.map(([name, expr]) => (
              <li key={name}>
                <button type="button" class="plain" onClick={() => add(expr)}>
                  <span>{name}</span>
                  <code class="dim">{expr}</code>
                </button>
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}

function QueryPanel({
  at,
  name,
  query,
  text,
  version,
  promql,
  round,
  only,
  focus,
  change,
  run,
  alter,
  rewrite,
  remove,
}: {
  at: Place;
  name: string;
  query: Query;
  text: string;
  version: number;
  promql: ReturnType<typeof language>;
  round: number;
  only: boolean;
  focus: boolean;
  change: (text: string) => void;
  run: () => void;
  alter: (change: Partial<Query>) => void;
  rewrite: (expr: string) => void;
  remove: () => void;
}) {
  const [failed, setFailed] = useState<{ expr: string; fault: Fault } | null>(null);
  const { expr } = query;
  const fail = (e: Error | undefined) => {
    const bad = e instanceof ApiError && (e.status === 400 || e.status === 422);
    setFailed(bad ? { expr, fault: faultOf(e.message) } : null);
  };
  const range = rangeOf(at);
  const asked = expr.trim() !== "" && !query.off;
  const fault = asked && failed?.expr === expr && text === expr ? failed.fault : null;
  const changed = text !== expr;
  const nothing = !query.graph && !query.table;
  const toggles: [string, boolean, Partial<Query>][] = [
    ["Graph", query.graph, { graph: !query.graph }],
    ["Table", query.table, { table: !query.table }],
  ];
  return (
    <section class="panel query" aria-label={`Expression ${name}`} data-query={name}>
      <div class="query-box">
        <span class="query-name" aria-hidden="true">
          {name}
        </span>
        <Editor
          label={`Expression ${name}, PromQL`}
          value={text}
          version={version}
          promql={promql}
          fault={fault}
          focus={focus}
          change={change}
          run={run}
        />
        <button type="button" class="primary" title="Shift+Enter" onClick={run}>
          Run
        </button>
      </div>
      {fault && (
        <p class="error" role="alert">
          {fault.line !== undefined && `Line ${fault.line}, column ${fault.column}: `}
          {sentence(fault.message)}
        </p>
      )}
      <div class="query-tools">
        {toggles.map(([title, on, next]) => (
          <button
            type="button"
            class="plain toggle"
            key={title}
            aria-pressed={on}
            onClick={() => alter(next)}
          >
            {title}
          </button>
        ))}
        <button
          type="button"
          class="plain toggle"
          aria-pressed={query.off}
          onClick={() => alter({ off: !query.off })}
        >
          {query.off ? "Disabled" : "Disable"}
        </button>
        <Copy
          name="Copy as curl"
          text={() => curlOf(expr, range, query.table && !query.graph, location.origin)}
          disabled={!expr.trim()}
        />
        <button type="button" class="plain" disabled={only && !expr} onClick={remove}>
          Remove
        </button>
        {changed && <span class="dim">Changed: press Run to see it.</span>}
      </div>
      {asked && query.graph && <GraphOf {...{ expr, range, round, fail }} use={rewrite} />}
      {asked && query.table && <TableOf {...{ expr, range, round, fail }} use={rewrite} />}
      {asked && nothing && <p class="dim">The graph and the table are both hidden.</p>}
    </section>
  );
}

/** What was run in this tab, the newest first. */
function Past({
  list,
  use,
  clear,
}: {
  list: string[];
  use: (expr: string) => void;
  clear: () => void;
}) {
  const details = useRef<HTMLDetailsElement>(null);
  return (
    <details
      class="past"
      ref={details}
      onKeyDown={(e) => {
        if (e.key === "Escape") details.current!.open = false;
      }}
    >
      <summary>History</summary>
      <div class="past-list">
        {list.length === 0 && <p class="dim">No expression was run in this tab yet.</p>}
        <ul>
          {list.map((expr) => (
            <li key={expr}>
              <button
                type="button"
                class="plain"
                title={expr}
                onClick={() => {
                  details.current!.open = false;
                  use(expr);
                }}
              >
                <code>{expr}</code>
              </button>
            </li>
          ))}
        </ul>
        {list.length > 0 && (
          <button type="button" onClick={clear}>
            Forget all
          </button>
        )}
      </div>
    </details>
  );
}
