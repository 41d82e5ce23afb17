// One rule, or one of its alerts: what it asks, how that went, and what to do.
import { useEffect, useState } from "preact/hooks";
import { AlertList, AlertState, evaluated, Health, type Known, Label } from "../alerts";
import { type Labels, query, syntax, type Tree } from "../api";
import { Chart } from "../chart";
import { type Data, useData } from "../data";
import { Empty, Failed, Loading, Severity, Shown } from "../faces";
import { Link, Markdown } from "../markdown";
import { useNames } from "../names";
import { link, usePlace } from "../place";
import { rangeOf, stamp, useUTC } from "../time";
import { format, length, quote } from "../units";
import {
  comparison,
  firedOf,
  keyOf,
  labelsOf,
  nameOfSeries,
  only,
  placeOf,
  silence,
  type Watched,
  watchedOf,
  where,
} from "../watch";
import { filled, shared } from "../fill";
import { useAway } from "../marks";

/** The page of the rule, or the alert, that the address names. */
export function RulePage({ data }: { data: Data<Known> }) {
  const { path, params } = usePlace();
  const [, file, group, name] = path;
  const n = Number(params.get("n") ?? 0);
  const alert = labelsOf(params.get("alert"));
  return (
    <>
      <div class="page-head">
        <p class="crumbs dim">
          <a href={link(["alerts"])}>Alerts</a> › {file} › {group}
        </p>
        <h1 class="broken">{name}</h1>
      </div>
      <Shown data={data} what="the rule" rows={6}>
        {(known) => {
          const same = watchedOf(known.groups).filter(
            (w) => w.file === file && w.group === group && w.rule.name === name,
          );
          const of = same.find((w) => w.n === n) ?? same[0];
          if (of) return <One of={of} same={same} {...(alert && { alert })} />;
          return (
            <Empty>
              <p>
                This rule does not exist. <a href={link(["alerts"])}>See all rules</a>
              </p>
            </Empty>
          );
        }}
      </Shown>
    </>
  );
}

function One({ of, same, alert }: { of: Watched; same: Watched[]; alert?: Labels }) {
  const isUTC = useUTC();
  const { rule } = of;
  const fired = firedOf([of]);
  const one = alert && fired.filter((f) => keyOf(f.alert.labels) === keyOf(alert));
  const at = evaluated(of);
  const facts: [string, string][] = [
    ["file", of.file],
    ["group", `${of.group}, every ${length(of.interval)}`],
    ["evaluated", Number.isNaN(at) ? "never" : stamp(at, isUTC)],
    ["took", format(rule.evaluationTime, "seconds")],
  ];
  if (rule.type === "alerting") {
    facts.unshift(
      ["for", rule.duration ? length(rule.duration) : "at once"],
      ["keep_firing_for", rule.keepFiringFor ? length(rule.keepFiringFor) : "not at all"],
    );
  }
  return (
    <>
      <section class="panel" aria-label="The rule">
        <div class="panel-head">
          <h2>{rule.type === "alerting" ? "Alerting rule" : "Recording rule"}</h2>
          {rule.type === "alerting" && <AlertState state={rule.state ?? "unknown"} />}
          {rule.labels?.severity && <Severity name={rule.labels.severity} />}
          <Health of={rule.health} />
        </div>
        {rule.health === "err" && (
          <div class="face compact" role="alert">
            <p>
              <strong>This rule cannot be evaluated.</strong> {rule.lastError}
            </p>
          </div>
        )}
        <pre class="expr" data-expr tabIndex={0} aria-label="Expression">
          {rule.query}
        </pre>
        <dl class="facts">
          {facts.map(([name, value]) => (
            <div key={name}>
              <dt class="dim">{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
        {Object.keys(rule.labels ?? {}).length > 0 && (
          <p class="alert-labels" aria-label="Labels of the rule">
            {Object.entries(rule.labels ?? {}).map(([n, v]) => (
              <Label name={n} key={n}>
                {v}
              </Label>
            ))}
          </p>
        )}
        {same.length > 1 && (
          <p class="dim">
            Rules of this name:{" "}
            {same.map((w) => (
              <a
                class="same"
                key={w.n}
                href={link(...placeOf(w))}
                aria-current={w.n === of.n ? "true" : undefined}
              >
                {w.rule.labels?.severity ?? `number ${w.n + 1}`}
              </a>
            ))}
          </p>
        )}
      </section>
      <Drawn of={of} {...(alert && { alert })} />
      {rule.type === "alerting" && (
        <section class="panel" aria-label="Alerts of the rule">
          <div class="panel-head">
            <h2>{alert ? "The alert" : "Alerts of this rule"}</h2>
            {alert && <a href={link(...placeOf(of))}>All alerts of this rule</a>}
          </div>
          {(one ?? fired).length === 0 ? (
            <Empty>{alert ? "This alert has ended." : "No alert fires or is pending."}</Empty>
          ) : (
            <AlertList list={(one ?? fired).slice(0, 50)} />
          )}
          {alert && <Silence labels={alert} />}
        </section>
      )}
      {rule.type === "alerting" && (
        <Runbook
          url={rule.annotations?.runbook_url ?? ""}
          labels={alert ?? shared(fired.map((f) => f.alert.labels))}
        />
      )}
      {rule.type === "recording" && (
        <section class="panel" aria-label="What it records">
          <p>
            It records <code>{rule.name}</code>.{" "}
            <a href={link(["explore"], { expr: recorded(rule.name) })}>See it in Explore</a>
          </p>
        </section>
      )}
    </>
  );
}

/** A selector of a name, whatever characters it has. */
function recorded(name: string): string {
  return /^[A-Za-z_:][\w:]*$/.test(name) ? name : `{${quote(name)}}`;
}

/** The graph of the expression; of a comparison with a number its left side and the threshold. */
function Drawn({ of, alert }: { of: Watched; alert?: Labels }) {
  const at = usePlace();
  const range = rangeOf(at);
  const { rule } = of;
  const known = useNames(alert?.cluster);
  const away = useAway(range);
  const tree = useData<Tree>(`syntax ${rule.query}`, (s) => syntax(rule.query, s), {
    every: 86_400_000,
  });
  const sides = tree.value && rule.type === "alerting" ? comparison(rule.query, tree.value) : null;
  const all = sides?.left ?? rule.query;
  // The role rules may map labels, so an alert may have some that the series of the API do not
  // have.
  const near = alert && (tree.value || tree.error) ? only(all, alert, rule, where) : null;
  const seen = useData(near && `labels ${near}`, (s) => query(near!, s), { every: 86_400_000 });
  if (!tree.value && !tree.error) return <Loading what="the graph" rows={4} />;
  if (near && seen.loading) return <Loading what="the graph" rows={4} />;
  const found = (seen.value?.result ?? []).flatMap((one) => Object.keys(one.metric));
  const names = new Set(found.length ? found : where);
  const expr = alert ? only(all, alert, rule, [...names]) : all;
  const limit = sides && `it fires where this is ${sides.op} ${sides.limit}`;
  const marks = firedOf([of])
    .filter((f) => !alert || keyOf(f.alert.labels) === keyOf(alert))
    .slice(0, 20)
    .map(({ alert: a }) => ({
      at: Date.parse(a.activeAt) / 1000,
      kind: "alert" as const,
      text: `${a.labels.alertname ?? ""} began`,
    }));
  return (
    <div class="charts one">
      <Chart
        title={alert ? "What this alert sees" : "What the rule sees"}
        unit="count"
        range={range}
        height={260}
        marks={[...away, ...marks]}
        asks={[{ expr, legend: (l) => nameOfSeries(l, known) }]}
        note={limit ?? "a line only where the expression has a value"}
        {...(sides && { threshold: sides.limit })}
      />
    </div>
  );
}

/** A command line that silences the alert. */
function Silence({ labels }: { labels: Labels }) {
  const [copied, setCopied] = useState("");
  const text = silence(labels);
  const copy = () =>
    navigator.clipboard.writeText(text).then(
      () => setCopied("Copied."),
      () => setCopied("The browser does not allow this: select the text and copy it."),
    );
  return (
    <details class="silence">
      <summary>Silence it in Alertmanager</summary>
      <pre class="expr" tabIndex={0} aria-label="Command line for amtool">
        {text}
      </pre>
      <button type="button" onClick={() => void copy()}>
        Copy as amtool silence
      </button>{" "}
      <span role="status">{copied}</span>
    </details>
  );
}

declare const RUNBOOKS: string; // the file of all shipped runbooks, see build.mjs

let shipped: Promise<Record<string, string>> | null = null;

/** The shipped runbooks by their headings, fetched once. */
function runbooks(): Promise<Record<string, string>> {
  shipped ??= fetch(RUNBOOKS, { credentials: "omit" }).then((answer) => {
    if (!answer.ok)
      throw new Error(`the runbooks could not be loaded (HTTP ${answer.status}): reload the page`);
    return answer.json() as Promise<Record<string, string>>;
  });
  shipped.catch(() => (shipped = null));
  return shipped;
}

/** What to do, with the alert's labels in the commands: the shipped runbook's text, or a link to
 *  another. */
function Runbook({ url, labels }: { url: string; labels: Labels }) {
  const anchor = /\/docs\/runbooks\/[\w-]+\.md#([\w-]+)$/.exec(url)?.[1];
  const [text, setText] = useState<string | null>(null);
  const [error, setError] = useState<Error | null>(null);
  useEffect(() => {
    if (!anchor) return;
    let here = true;
    runbooks().then(
      (all) => {
        const name = Object.keys(all).find((n) => n.toLowerCase() === anchor);
        if (here) setText((name && all[name]) ?? "");
      },
      (e: Error) => here && setError(e),
    );
    return () => {
      here = false;
    };
  }, [anchor]);
  if (!url) return null;
  return (
    <section class="panel" aria-label="Runbook">
      <div class="panel-head">
        <h2>Runbook</h2>
      </div>
      {error && <Failed error={error} compact />}
      {anchor && text === null && !error && <Loading what="the runbook" />}
      {anchor && text ? (
        <Markdown text={text} fill={(code) => filled(code, labels)} />
      ) : (
        (!anchor || text === "") && (
          <p class="broken">
            <Link href={url}>{url}</Link>
          </p>
        )
      )}
    </section>
  );
}
