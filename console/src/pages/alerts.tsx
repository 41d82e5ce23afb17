// Alerts: what fires and is about to, worst and newest first; all rules; a report of a day.
import type { ComponentChildren } from "preact";
import { AlertList, AlertState, evaluated, Health, type Known } from "../alerts";
import { type Alert, alerts, rules } from "../api";
import { useData, useNow } from "../data";
import { Empty, Severity, Shown } from "../faces";
import { Choice } from "../filter";
import { link, setParams, usePlace } from "../place";
import { type Quiet, useQuiet } from "../silences";
import { type Column, Table } from "../table";
import { format, length } from "../units";
import { type Fired, firedOf, placeOf, type Watched, watchedOf } from "../watch";
import { HistoryPage } from "./history";
import { ReportPage } from "./report";
import { RulePage } from "./rule";

/** How many alerts are shown; nobody reads more, and filters find the others. */
const mostAlerts = 200;

/** The page. */
export function AlertsPage() {
  const { path, params } = usePlace();
  const data = useData("rules", async (signal): Promise<Known> => {
    const [groups, list] = await Promise.all([rules(signal), alerts()]);
    return { groups, alerts: list };
  });
  if (path.length > 1) return <RulePage data={data} />;
  const view = params.get("view");
  if (view === "report" || view === "history") {
    return (
      <>
        <Head view={view} />
        {view === "report" ? <ReportPage /> : <HistoryPage />}
      </>
    );
  }
  return (
    <>
      <Head view="alerts" />
      <Shown data={data} what="the alerts" rows={8}>
        {(known) => <All known={known} />}
      </Shown>
    </>
  );
}

/** The page's name, and the ways to what belongs to it. */
export function Head({
  view,
  children,
}: {
  view: "alerts" | "history" | "quiet" | "report";
  children?: ComponentChildren;
}) {
  const views: [string, string, string][] = [
    ["alerts", "Now", link(["alerts"], { view: null })],
    ["quiet", "Quiet", link(["quiet"])],
    ["history", "Last 30 days", link(["alerts"], { view: "history" })],
    ["report", "Report of a day", link(["alerts"], { view: "report" })],
  ];
  return (
    <div class="page-head">
      <h1>{view === "quiet" ? "Quiet" : "Alerts"}</h1>
      <nav class="views" aria-label="Alerts">
        {views.map(([id, name, href]) => (
          <a key={id} href={href} aria-current={view === id ? "page" : undefined}>
            {name}
          </a>
        ))}
      </nav>
      {children}
    </div>
  );
}

/** What an alert or a rule is found by. */
function has(want: string, ...texts: (string | undefined)[]): boolean {
  return !want || texts.join(" ").toLowerCase().includes(want);
}

function All({ known }: { known: Known }) {
  const { params } = usePlace();
  const watched = watchedOf(known.groups);
  const quiet = useQuiet().value;
  const fired = loudFirst(firedOf(watched, known.alerts), quiet);
  const isQuiet = (a: Alert) => a.state === "firing" && !!quiet?.of(a.labels);
  const hush = params.get("quiet") ?? "";
  const state = params.get("state") ?? "";
  const severity = params.get("severity") ?? "";
  const cluster = params.get("cluster") ?? "";
  const want = (params.get("q") ?? "").trim().toLowerCase();
  const shown = fired.filter(
    ({ alert }) =>
      (!state || alert.state === state) &&
      (!hush || isQuiet(alert) === (hush === "alone")) &&
      (!severity || (alert.labels.severity ?? "none") === severity) &&
      (!cluster || alert.labels.cluster === cluster) &&
      has(want, ...Object.values(alert.labels), ...Object.values(alert.annotations)),
  );
  const found = watched.filter((w) => has(want, w.rule.name, w.rule.query, w.group, w.file));
  const alerting = watched.filter((w) => w.rule.type === "alerting").length;
  const calm = fired.filter((f) => isQuiet(f.alert)).length;
  const count = (s: string) => fired.filter((f) => f.alert.state === s).length;
  const failed = watched.filter((w) => w.rule.health === "err");
  const names = (of: (f: Fired) => string | undefined) =>
    [...new Set(fired.map(of).filter((n): n is string => !!n))].sort();
  return (
    <>
      <ul class="tiles" aria-label="Summary">
        <StateTile
          name="firing"
          value={count("firing") - calm}
          state={state}
          note={calm > 0 ? `, and ${calm} quiet` : ""}
        />
        <StateTile name="pending" value={count("pending")} state={state} />
        <li class="tile">
          <strong>{alerting}</strong>
          <span>alerting rules</span>
        </li>
        <li class="tile">
          <strong class={failed.length ? "tile-down" : ""}>{failed.length}</strong>
          <span>rules fail</span>
        </li>
      </ul>
      <section class="panel" aria-label="Alerts">
        <div class="panel-head">
          <h2>Firing and pending, worst first</h2>
          <Choice name="severity" value={severity} list={names((f) => f.alert.labels.severity)} />
          <Choice name="cluster" value={cluster} list={names((f) => f.alert.labels.cluster)} />
          {(calm > 0 || hush) && (
            <Choice
              name="quiet"
              value={hush}
              all="as well"
              list={[
                ["no", "left out"],
                ["alone", "alone"],
              ]}
            />
          )}
          <label class="field">
            <span class="sr">Filter alerts and rules</span>
            <input
              type="search"
              placeholder="Filter: name, label, text"
              value={params.get("q") ?? ""}
              onInput={(e) => setParams({ q: e.currentTarget.value })}
            />
          </label>
          <span class="dim">
            {shown.length} of {fired.length}
          </span>
        </div>
        {fired.length === 0 && <Calm alerting={alerting} failed={failed.length} />}
        {fired.length > 0 && shown.length === 0 && (
          <Empty>
            No alert is like that.{" "}
            <button
              type="button"
              onClick={() =>
                setParams({ q: null, state: null, severity: null, cluster: null, quiet: null })
              }
            >
              Show all
            </button>
          </Empty>
        )}
        <AlertList list={shown.slice(0, mostAlerts)} />
        {shown.length > mostAlerts && (
          <p class="dim">
            The first {mostAlerts} of {shown.length} alerts. Filter to see the others.
          </p>
        )}
      </section>
      <Rules list={found} all={watched.length} failed={failed} />
    </>
  );
}

/** Says that all is well, and who would notice if it were not. */
function Calm({ alerting, failed }: { alerting: number; failed: number }) {
  if (alerting === 0) {
    return (
      <Empty>
        <p>
          <strong>No rule is evaluated.</strong> The role rules does not run, or it has no rules.
        </p>
      </Empty>
    );
  }
  return (
    <Empty>
      <p>
        <strong>No alert fires.</strong> {alerting}{" "}
        {alerting === 1 ? "rule watches" : "rules watch"}
        {failed === 0 ? ", and all can be evaluated." : `; ${failed} of all rules fail, see below.`}
      </p>
    </Empty>
  );
}

/** Of what fires, what is loud stands first. */
function loudFirst(list: Fired[], quiet: Quiet | undefined): Fired[] {
  const rank = ({ alert }: Fired) =>
    alert.state !== "firing" ? 2 : Number(!!quiet?.of(alert.labels));
  return [...list].sort((a, b) => rank(a) - rank(b));
}

function StateTile({
  name,
  value,
  state,
  note = "",
}: {
  name: string;
  value: number;
  state: string;
  note?: string;
}) {
  const look = name === "firing" ? "tile-down" : "tile-late";
  return (
    <li>
      <button
        type="button"
        class="tile"
        aria-pressed={state === name}
        onClick={() => setParams({ state: state === name ? null : name })}
      >
        <strong class={value > 0 ? look : ""}>{value}</strong>
        <span>
          {name}
          {note}
        </span>
      </button>
    </li>
  );
}

/** Rules by file and group; those that fail once more on top, with what is wrong. */
function Rules({ list, all, failed }: { list: Watched[]; all: number; failed: Watched[] }) {
  const now = useNow(5000);
  const groups = new Map<string, Watched[]>();
  for (const w of list) {
    const id = `${w.file}\n${w.group}`;
    groups.set(id, [...(groups.get(id) ?? []), w]);
  }
  // Groups that alert come before those that record only.
  const records = (part: Watched[]) => Number(part.every((w) => w.rule.type === "recording"));
  const parts = [...groups].sort(([, a], [, b]) => records(a) - records(b));
  return (
    <section class="panel" aria-label="Rules">
      <div class="panel-head">
        <h2>Rules</h2>
        <span class="dim">
          {list.length} of {all}
        </span>
      </div>
      {failed.length > 0 && (
        <ul class="failed-rules" aria-label="Rules that fail">
          {failed.map((w) => (
            <li class="face compact" key={`${w.file} ${w.group} ${w.rule.name} ${w.n}`}>
              <span class="face-sign" aria-hidden="true">
                !
              </span>
              <p>
                <a href={link(...placeOf(w))}>{w.rule.name}</a> fails:{" "}
                {w.rule.lastError || "no reason"}
              </p>
            </li>
          ))}
        </ul>
      )}
      {all === 0 && <Empty>There are no rules.</Empty>}
      {all > 0 && list.length === 0 && (
        <Empty>No rule has this text in its name or expression.</Empty>
      )}
      {parts.map(([id, part]) => {
        const first = part[0]!;
        return (
          <section class="rule-group" key={id} data-group={first.group}>
            <h3>
              <span class="dim">{first.file} / </span>
              {first.group}
              <span class="dim">
                {" "}
                every {length(first.interval)}, {part.length} {part.length === 1 ? "rule" : "rules"}
              </span>
            </h3>
            <Table
              name={`Rules of ${first.group}`}
              columns={columns(now, !records(part))}
              rows={part}
              id={(w) => `${w.rule.name} ${w.n}`}
              href={(w) => link(...placeOf(w))}
              bad={(w) => w.rule.health === "err"}
            />
          </section>
        );
      })}
    </section>
  );
}

function columns(now: number, alerting: boolean): Column<Watched>[] {
  const age = (w: Watched) => now / 1000 - evaluated(w);
  return [
    {
      id: "name",
      title: "rule",
      width: 3,
      cell: (w) => <span title={w.rule.name}>{w.rule.name}</span>,
      order: (w) => w.rule.name,
    },
    {
      id: "severity",
      title: "severity",
      width: 1.4,
      wide: !alerting,
      cell: (w) =>
        w.rule.labels?.severity ? <Severity name={w.rule.labels.severity} /> : <None />,
      order: (w) => w.rule.labels?.severity ?? "",
    },
    {
      id: "state",
      title: "state",
      width: 1.4,
      cell: (w) =>
        w.rule.type === "recording" ? (
          <span class="dim">records</span>
        ) : (
          <AlertState state={w.rule.state ?? "unknown"} />
        ),
      order: (w) => ({ firing: 2, pending: 1 })[w.rule.state as string] ?? 0,
    },
    { id: "health", title: "health", wide: true, cell: (w) => <Health of={w.rule.health} /> },
    {
      id: "last",
      title: "evaluated",
      number: true,
      wide: true,
      cell: (w) => (Number.isNaN(age(w)) ? "–" : `${length(Math.max(0, age(w)))} ago`),
      order: age,
    },
    {
      id: "took",
      title: "took",
      number: true,
      wide: true,
      cell: (w) => format(w.rule.evaluationTime, "seconds"),
      order: (w) => w.rule.evaluationTime,
    },
  ];
}

function None() {
  return <span class="dim">–</span>;
}
