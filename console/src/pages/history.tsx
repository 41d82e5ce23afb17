// What fired in the last 30 days and whom it woke: a calendar, and one day of it in detail.
import { useMemo } from "preact/hooks";
import { ApiError, queryRange, type Series } from "../api";
import { useData, useNow } from "../data";
import { Empty, Failed, Loading, sentence, Severity, Shown } from "../faces";
import { Choice } from "../filter";
import { type Message, messages } from "../messages";
import { useNames } from "../names";
import {
  calendarOf,
  type Cell,
  type Day,
  isNight,
  lastDays,
  namesIn,
  type Row,
  sentAt,
  type Spell,
  spellsOf,
} from "../past";
import { link, setParams, usePlace } from "../place";
import { clock, stamp, useUTC } from "../time";
import { length, quote } from "../units";
import { KeptQuiet } from "./kept-quiet";

/** How many alerts the calendar has, and how many lines a day. */
const mostRows = 40;
const mostLines = 200;

/** Seconds between two looks at what fired on a day. */
const step = 60;

interface Past {
  series: Series[];
  messages: Message[];
  more: boolean; // messages before the oldest of these
  away: string; // why messages are not known; empty: they are
}

/** Messages of the days; a process that tells nobody knows of none. */
async function told(from: number, signal: AbortSignal): Promise<Omit<Past, "series">> {
  try {
    return { ...(await messages(from, signal)), away: "" };
  } catch (e) {
    if (!(e instanceof ApiError) || (e.status !== 501 && e.status !== 403)) throw e;
    return { messages: [], more: false, away: e.message };
  }
}

const fired =
  "max by (cluster, alertname, severity) " +
  '(max_over_time(ALERTS{alertstate="firing",alertname!=""}[1h]))';

/** The page. */
export function HistoryPage() {
  const isUTC = useUTC();
  const minute = Math.floor(useNow(60_000) / 60_000) * 60;
  const today = stamp(minute, isUTC).slice(0, 10);
  const days = useMemo(() => lastDays(minute, isUTC), [today, isUTC]);
  const from = days[0]!.begin;
  const data = useData(
    `history ${from}`,
    async (signal): Promise<Past> => {
      const to = Math.ceil(Date.now() / 3_600_000) * 3600;
      const [answer, rest] = await Promise.all([
        queryRange(fired, { from: from + 3600, to, step: 3600 }, signal),
        told(from, signal),
      ]);
      return { series: answer.result, ...rest };
    },
    { every: 300_000, keep: true },
  );
  return (
    <Shown data={data} what="what fired" rows={8}>
      {(past) => <Calendar past={past} days={days} />}
    </Shown>
  );
}

function Calendar({ past, days }: { past: Past; days: Day[] }) {
  const { params } = usePlace();
  const isUTC = useUTC();
  const cluster = params.get("cluster") ?? "";
  const clusters = [...new Set(past.series.map((s) => s.metric.cluster ?? ""))].filter(Boolean);
  const rows = useMemo(
    () => calendarOf(past.series, past.messages, days, isUTC, cluster),
    [past, days, isUTC, cluster],
  );
  const day = days.find((d) => d.date === params.get("day")) ?? days.at(-1)!;
  const alert = params.get("alert") ?? "";
  return (
    <>
      <section class="panel" aria-label="Calendar">
        <div class="panel-head">
          <h2>What fired, and whom it woke</h2>
          <Choice name="cluster" value={cluster} list={clusters.sort()} />
          {alert && (
            <button type="button" onClick={() => setParams({ alert: null })}>
              All alerts
            </button>
          )}
        </div>
        {past.away && <p class="old-note">{sentence(past.away)}</p>}
        {past.more && (
          <p class="old-note">
            There were more messages than are counted here: ringwatch notify history has them.
          </p>
        )}
        {rows.length === 0 ? (
          <Empty>Nothing fired in the last {days.length} days.</Empty>
        ) : (
          <Days rows={rows.slice(0, mostRows)} {...{ days, day, alert }} />
        )}
        {rows.length > mostRows && (
          <p class="dim">
            The first {mostRows} of {rows.length} alerts.
          </p>
        )}
      </section>
      <Spells day={day} alert={alert} cluster={cluster} />
      <Messages day={day} alert={alert} cluster={cluster} list={past.messages} away={past.away} />
      {!past.away && <KeptQuiet day={day} alert={alert} cluster={cluster} />}
    </>
  );
}

const count = (n: number, one: string): string => `${n} ${one}${n === 1 ? "" : "s"}`;

/** What a cell says in words. */
function inWords({ hours, told: times, night }: Cell): string {
  const parts = [hours > 0 ? `fired in ${count(hours, "hour")}` : "did not fire"];
  if (times > 0) parts.push(`told ${count(times, "time")}`);
  if (night > 0) parts.push(`${night} at night`);
  return parts.join(", ");
}

/** How dark a cell is, from 1 to 4: by the part of the day in which the alert fired. */
const shade = (hours: number): number => Math.min(4, 1 + Math.floor(hours / 6));

/** Alerts by day. A number is how often receivers were told; a bar is for how long it fired. */
function Days({ rows, days, day, alert }: { rows: Row[]; days: Day[]; day: Day; alert: string }) {
  const pressed = (d: Day, name: string) => d === day && (alert === "" || alert === name);
  return (
    <section class="days" tabIndex={0} aria-label="Alerts by day">
      <table>
        <thead>
          <tr>
            <th scope="col">alert</th>
            <th scope="col" class="number" title="Messages that a receiver took">
              told
            </th>
            <th scope="col" class="number" title="From 22:00 to 7:00">
              at night
            </th>
            <th scope="col" class="number" title="Hours in which it fired">
              hours
            </th>
            {days.map((d) => (
              <th key={d.date} scope="col" title={d.date}>
                {d.date.slice(8)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.alert} data-alert={row.alert}>
              <th scope="row">
                <Severity name={row.severity} /> {row.alert}
              </th>
              <td class="number">{row.told}</td>
              <td class="number">{row.night}</td>
              <td class="number">{row.hours}</td>
              {row.cells.map((cell, i) => (
                <td key={days[i]!.date}>
                  {(cell.hours > 0 || cell.told > 0) && (
                    <button
                      type="button"
                      class="days-cell"
                      data-shade={cell.hours > 0 ? shade(cell.hours) : undefined}
                      aria-pressed={pressed(days[i]!, row.alert)}
                      aria-label={`${row.alert} on ${days[i]!.date}: ${inWords(cell)}`}
                      title={`${days[i]!.date}: ${inWords(cell)}`}
                      onClick={() => setParams({ day: days[i]!.date, alert: row.alert }, false)}
                    >
                      {cell.told || ""}
                    </button>
                  )}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      <p class="dim">
        A number is how often receivers were told, a bar how much of the day it fired.
      </p>
    </section>
  );
}

/** What was pending or fired on a day. */
function Spells({ day, alert, cluster }: { day: Day; alert: string; cluster: string }) {
  const isUTC = useUTC();
  const of = [alert && `alertname=${quote(alert)}`, cluster && `cluster=${quote(cluster)}`];
  const alerts = `ALERTS{${of.filter(Boolean).join(",") || 'alertname!=""'}}`;
  const expr = `max_over_time(${alerts}[${step}s])`; // also what was over within a step
  const data = useData(
    `spells ${expr} ${day.date} ${day.begin}`,
    async (signal) => {
      const now = Date.now() / 1000;
      const to = Math.min(day.end, Math.ceil(now / step) * step); // what began a moment ago, too
      const { result } = await queryRange(expr, { from: day.begin, to, step }, signal);
      const past = (secs: number) => Math.min(secs, now);
      return spellsOf(result, step).map((s) => ({
        ...s,
        since: past(s.since),
        fired: past(s.fired),
        until: past(s.until),
      }));
    },
    { every: 300_000 },
  );
  const names = useNames(undefined, data.value?.some((s) => s.labels.node) ?? false);
  return (
    <section class="panel" aria-label="What fired on the day">
      <div class="panel-head">
        <h2>
          {alert || "Alerts"} on {day.date}
        </h2>
        <span class="dim">{data.value?.length}</span>
      </div>
      {data.value === undefined && data.error && <Failed error={data.error} compact />}
      {data.value === undefined && !data.error && <Loading what="what fired on the day" />}
      {data.value?.length === 0 && <Empty>Nothing was pending or fired.</Empty>}
      <ul class="past">
        {data.value?.slice(0, mostLines).map((s) => (
          <One key={`${s.since} ${JSON.stringify(s.labels)}`} of={s} {...{ names, isUTC }} />
        ))}
      </ul>
      {(data.value?.length ?? 0) > mostLines && <p class="dim">The newest {mostLines} of them.</p>}
    </section>
  );
}

function One({
  of,
  names,
  isUTC,
}: {
  of: Spell;
  names: ReadonlyMap<string, string>;
  isUTC: boolean;
}) {
  const { alertname, severity, cluster, node, ...rest } = of.labels;
  const at = (secs: number) => clock(secs, isUTC).slice(0, 5);
  const began = Number.isNaN(of.fired) ? of.since : of.fired;
  const waited = of.fired - of.since;
  return (
    <li data-alert={alertname}>
      <span class="past-time">
        {at(began)}–{at(of.until)}
      </span>
      <Severity name={severity ?? ""} />
      <strong>{alertname}</strong>
      <span>
        {Number.isNaN(of.fired)
          ? `was pending for ${length(of.until - of.since + step)} and did not fire`
          : `fired for ${length(of.until - of.fired + step)}`}
        {waited > 0 && `, after ${length(waited)} pending`}
      </span>
      <span class="dim">
        {[node && (names.get(node) ?? node), cluster, ...Object.values(rest)]
          .filter(Boolean)
          .join(", ")}
      </span>
    </li>
  );
}

/** Whom the day's messages went to. */
function Messages({
  day,
  alert,
  cluster,
  list,
  away,
}: {
  day: Day;
  alert: string;
  cluster: string;
  list: Message[];
  away: string;
}) {
  const isUTC = useUTC();
  if (away) return null;
  const shown = list.filter(
    (m) =>
      day.begin <= sentAt(m) &&
      sentAt(m) < day.end &&
      m.alerts.some(
        ({ labels }) =>
          (!alert || labels.alertname === alert) && (!cluster || labels.cluster === cluster),
      ),
  );
  return (
    <section class="panel" aria-label="Whom it woke">
      <div class="panel-head">
        <h2>Messages on {day.date}</h2>
        <span class="dim">{shown.length}</span>
      </div>
      {shown.length === 0 && (
        <Empty>
          No receiver was told anything. <a href={link(["quiet"])}>Quiet</a> shows what is kept from
          them.
        </Empty>
      )}
      <ul class="past">
        {shown.slice(0, mostLines).map((m) => (
          <li key={`${m.at} ${m.receiver} ${m.integration}`} class={m.error ? "bad-value" : ""}>
            <span class="past-time">{clock(sentAt(m), isUTC)}</span>
            <strong>{m.receiver}</strong>
            <span>
              {m.error ? "was not told" : "was told"} by {m.integration} that{" "}
              {namesIn(m).slice(0, 5).join(", ")}
              {m.alerts.length + (m.more ?? 0) > 1 && ` (${m.alerts.length + (m.more ?? 0)})`}{" "}
              {m.status === "firing" ? "fires" : "ended"}
              {isNight(sentAt(m), isUTC) && ", at night"}
            </span>
            {(m.tries > 1 || m.error) && (
              <span class="dim">
                after {m.tries === 1 ? "one try" : `${m.tries} tries`}
                {m.error && `: ${m.error}`}
              </span>
            )}
          </li>
        ))}
      </ul>
      {shown.length > mostLines && <p class="dim">The newest {mostLines} of them.</p>}
    </section>
  );
}
