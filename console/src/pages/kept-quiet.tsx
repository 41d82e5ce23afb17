// What was kept quiet on a day, by whom and why, also long after it ended.
import { get, type Silence } from "../api";
import { useData } from "../data";
import { Empty, Failed, Loading } from "../faces";
import { useNames } from "../names";
import type { Day } from "../past";
import { inWords, reasonOf, secondsAt } from "../quiet";
import { clock, useUTC } from "../time";

/** How many are listed. */
const most = 200;

/** Whether a silence may keep alerts of a name and a cluster quiet; empty: of any. */
const concerns = (s: Silence, alert: string, cluster: string): boolean =>
  s.matchers.every((m) => {
    const wanted = { alertname: alert, cluster }[m.name];
    return !wanted || m.isRegex || (m.value === wanted) === (m.isEqual ?? true);
  });

/** A day's silences. */
export function KeptQuiet({ day, alert, cluster }: { day: Day; alert: string; cluster: string }) {
  const isUTC = useUTC();
  const data = useData(
    `kept quiet ${day.begin}`,
    async (signal) => {
      const span = { from: String(day.begin), to: String(day.end), limit: String(most) };
      return get<{ silences: Silence[]; more: boolean }>(
        "/alertmanager/ringwatch/silences",
        span,
        signal,
      );
    },
    { every: 300_000 },
  );
  const list = data.value?.silences.filter((s) => concerns(s, alert, cluster));
  const names = useNames(
    undefined,
    list?.some((s) => s.matchers.some((m) => m.name === "node")) ?? false,
  );
  const at = (text: string, edge: number, end: boolean) => {
    const secs = secondsAt(text);
    return (end ? secs > edge : secs < edge) ? "" : clock(secs, isUTC).slice(0, 5);
  };
  return (
    <section class="panel" aria-label="What was kept quiet">
      <div class="panel-head">
        <h2>Kept quiet on {day.date}</h2>
        <span class="dim">{list?.length}</span>
      </div>
      {list === undefined && data.error && <Failed error={data.error} compact />}
      {list === undefined && !data.error && <Loading what="what was kept quiet" />}
      {list?.length === 0 && <Empty>Nobody kept anything quiet.</Empty>}
      <ul class="past">
        {list?.map((s) => {
          const [isMaintenance, why] = reasonOf(s);
          return (
            <li key={s.id}>
              <span class="past-time">
                {at(s.startsAt, day.begin, false)}–{at(s.endsAt, day.end, true)}
              </span>
              {isMaintenance && <strong>maintenance</strong>}
              <span>
                <bdi>{inWords(s.matchers, names)}</bdi>, by <bdi>{s.createdBy || "nobody"}</bdi>
              </span>
              {why && <bdi class="dim">{why}</bdi>}
            </li>
          );
        })}
      </ul>
      {data.value?.more && <p class="dim">The {most} that began last.</p>}
    </section>
  );
}
