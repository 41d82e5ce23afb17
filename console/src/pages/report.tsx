// What a cluster was like on a day: the report's text, and its page as a file.
import { useState } from "preact/hooks";
import { clusters, report } from "../api";
import { download } from "../lines";
import { once, useData } from "../data";
import { Empty, Failed, Shown } from "../faces";
import { setParams, usePlace } from "../place";

/** The report of the cluster and the day that the address names. */
export function ReportPage() {
  const { params } = usePlace();
  const known = useData("clusters", clusters, { every: 60_000 });
  const day = /^\d{4}-\d\d-\d\d$/.test(params.get("day") ?? "") ? params.get("day")! : "";
  return (
    <Shown
      data={known}
      what="the clusters"
      empty="No cluster has sent anything yet, so there is nothing to report."
    >
      {(list) => {
        const named = params.get("of");
        const cluster = named ?? list[0]?.cluster ?? "";
        const names = new Set([...list.map((c) => c.cluster), cluster]);
        return (
          <section class="panel" aria-label="Report">
            <div class="panel-head">
              <h2>{day ? `Report of ${day}, UTC` : "Report of the last 24 hours"}</h2>
              <label class="field">
                cluster
                <select value={cluster} onChange={(e) => setParams({ of: e.currentTarget.value })}>
                  {[...names].map((n) => (
                    <option key={n} value={n}>
                      {n}
                    </option>
                  ))}
                </select>
              </label>
              <label class="field">
                day
                <input
                  type="date"
                  max={new Date().toISOString().slice(0, 10)}
                  value={day}
                  onChange={(e) => setParams({ day: e.currentTarget.value })}
                />
              </label>
              {day && (
                <button type="button" onClick={() => setParams({ day: null })}>
                  Last 24 hours
                </button>
              )}
            </div>
            <Made key={`${cluster} ${day}`} cluster={cluster} day={day} />
          </section>
        );
      }}
    </Shown>
  );
}

function Made({ cluster, day }: { cluster: string; day: string }) {
  // A report is made with some 150 queries, so it is not made again by itself.
  const data = useData(`report ${cluster} ${day}`, (s) => report(cluster, "text", day, s), {
    every: once,
  });
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const save = async () => {
    setBusy(true);
    setError(null);
    try {
      const page = await report(cluster, "html", day);
      const name = cluster.replace(/[^\w.-]+/g, "_");
      download(`${name}-${day || "24h"}.html`, "text/html", page);
    } catch (e) {
      setError(e instanceof Error ? e : new Error(String(e)));
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <p>
        <button
          type="button"
          disabled={busy || data.value === undefined}
          onClick={() => void save()}
        >
          {busy ? "Making the page …" : "Download as HTML"}
        </button>{" "}
        <span class="dim">The page has plots, needs no network and prints well.</span>
      </p>
      {error && <Failed error={error} compact />}
      {data.loading && <p class="dim">The report is being made. This takes some seconds.</p>}
      <Shown data={data} what="the report" rows={10}>
        {(text) =>
          text.trim() ? (
            <pre class="report" tabIndex={0} aria-label={`Report of ${cluster}`}>
              {text}
            </pre>
          ) : (
            <Empty>The report is empty.</Empty>
          )
        }
      </Shown>
    </>
  );
}
