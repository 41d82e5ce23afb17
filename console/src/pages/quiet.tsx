// Quiet: what is kept quiet now and which alerts that is, what will be, and what ended lately.
import { useEffect } from "preact/hooks";
import type { ManagedAlert, Silence } from "../api";
import { Empty, sentence, Severity, Shown } from "../faces";
import { useNames } from "../names";
import { link, setParams, usePlace } from "../place";
import { called, inWords, matchersOf, secondsAt } from "../quiet";
import { draftOf, openForm } from "../quiet-open";
import { Actions, Terms } from "../quiet-notes";
import { type Quiet, useForbidden, useQuiet } from "../silences";
import { Head } from "./alerts";

/** How many silences of a kind are listed, and how many alerts of one. */
const mostSilences = 100;
const mostAlerts = 10;

/** The page. */
export function QuietPage() {
  const data = useQuiet();
  const forbidden = useForbidden();
  useLinked();
  return (
    <>
      <Head view="quiet">
        <button
          type="button"
          class="primary head-link"
          aria-haspopup="dialog"
          onClick={() => openForm({ matchers: [] })}
        >
          Keep something quiet…
        </button>
      </Head>
      <Shown data={data} what="what is quiet" rows={6}>
        {(quiet) =>
          quiet.away ? (
            <Empty>{sentence(quiet.away)}</Empty>
          ) : (
            <>
              {forbidden && <p class="old-note">{sentence(forbidden)}</p>}
              <Lists quiet={quiet} />
            </>
          )
        }
      </Shown>
    </>
  );
}

/** Opens the form for what the address names, as links in messages do. */
function useLinked(): void {
  const { params } = usePlace();
  const of = {
    cluster: params.get("cluster") ?? "",
    node: params.get("node") ?? "",
    alert: params.get("alert") ?? "",
  };
  useEffect(() => {
    const matchers = matchersOf(of);
    if (matchers.length === 0) return;
    const closed = () => setParams({ cluster: null, node: null, alert: null });
    openForm({ matchers, closed });
  }, [JSON.stringify(of)]);
}

function Lists({ quiet }: { quiet: Quiet }) {
  const names = useNames(
    undefined,
    quiet.silences.some((s) => s.matchers.some((m) => m.name === "node")) ||
      quiet.alerts.some((a) => a.labels.node),
  );
  const of = (state: Silence["status"]["state"]) =>
    quiet.silences.filter((s) => s.status.state === state);
  const end = (s: Silence) => secondsAt(s.endsAt);
  const begin = (s: Silence) => secondsAt(s.startsAt);
  const ended = of("expired").sort((a, b) => end(b) - end(a));
  const common = { names, alerts: quiet.alerts };
  return (
    <>
      <Silences
        title="Quiet now"
        list={of("active").sort((a, b) => end(a) - end(b))}
        none="Nothing is kept quiet by anybody."
        {...common}
      />
      <Repeated quiet={quiet} names={names} />
      {of("pending").length > 0 && (
        <Silences
          title="Later"
          list={of("pending").sort((a, b) => begin(a) - begin(b))}
          none=""
          {...common}
        />
      )}
      <Silences
        title="Ended lately"
        list={ended}
        none="None has ended in the last days."
        {...common}
      />
    </>
  );
}

function Silences({
  title,
  list,
  none,
  names,
  alerts,
}: {
  title: string;
  list: Silence[];
  none: string;
  names: ReadonlyMap<string, string>;
  alerts: ManagedAlert[];
}) {
  return (
    <section class="panel" aria-label={title}>
      <div class="panel-head">
        <h2>{title}</h2>
        <span class="dim">{list.length > 0 && list.length}</span>
      </div>
      {list.length === 0 && <Empty>{none}</Empty>}
      <ul class="quiet-list">
        {list.slice(0, mostSilences).map((s) => (
          <One key={s.id} of={s} names={names} alerts={alerts} />
        ))}
      </ul>
      {list.length > mostSilences && (
        <p class="dim">
          The first {mostSilences} of {list.length}.
        </p>
      )}
    </section>
  );
}

/** A silence with the alerts that it keeps quiet. */
function One({
  of,
  names,
  alerts,
}: {
  of: Silence;
  names: ReadonlyMap<string, string>;
  alerts: ManagedAlert[];
}) {
  const forbidden = useForbidden();
  const what = inWords(of.matchers, names);
  const { state } = of.status;
  const hit = alerts.filter((a) => a.status.silencedBy.includes(of.id));
  return (
    <li class={state === "expired" ? "dim" : undefined} data-silence={of.id}>
      <div class="alert-head">
        <span class="alert-name">{what}</span>
        {state !== "expired" ? (
          <Actions of={of} what={what} />
        ) : (
          !forbidden && (
            <button
              type="button"
              class="plain toggle quiet-actions"
              aria-label={`Again: ${what}`}
              aria-haspopup="dialog"
              onClick={() => openForm(draftOf(of))}
            >
              Again…
            </button>
          )
        )}
      </div>
      <p>
        <Terms of={of} />
      </p>
      {state === "active" &&
        (hit.length === 0 ? (
          <p class="dim">No alert of these fires now.</p>
        ) : (
          <Alerts list={hit} names={names} />
        ))}
    </li>
  );
}

/** Alerts by name and node, in a line. */
function Alerts({ list, names }: { list: ManagedAlert[]; names: ReadonlyMap<string, string> }) {
  return (
    <p class="alert-labels">
      {list.slice(0, mostAlerts).map(({ labels, fingerprint }) => (
        <span class="label" key={fingerprint}>
          <Severity name={labels.severity ?? ""} />{" "}
          <a href={link(["alerts"], { q: labels.alertname ?? "" })}>{labels.alertname}</a>{" "}
          {labels.node && (names.get(labels.node) ?? labels.node)}
        </span>
      ))}
      {list.length > mostAlerts && <span class="dim">and {list.length - mostAlerts} more</span>}
    </p>
  );
}

/** Alerts that say what another one says already, but for those that somebody keeps quiet. */
function Repeated({ quiet, names }: { quiet: Quiet; names: ReadonlyMap<string, string> }) {
  const groups = new Map<string, ManagedAlert[]>();
  for (const a of quiet.alerts) {
    if (a.status.inhibitedBy.length === 0 || a.status.silencedBy.length > 0) continue;
    const first = quiet.of(a.labels)?.alerts[0];
    const by = first ? called(first, {}, names) : "another alert";
    groups.set(by, [...(groups.get(by) ?? []), a]);
  }
  if (groups.size === 0) return null;
  return (
    <section class="panel" aria-label="Said by another alert">
      <div class="panel-head">
        <h2>Said by another alert</h2>
      </div>
      <ul class="quiet-list">
        {[...groups].map(([by, list]) => (
          <li key={by}>
            <div class="alert-head">
              <span class="alert-name">{by}</span>
              <span class="dim">keeps quiet what follows from it</span>
            </div>
            <Alerts list={list} names={names} />
          </li>
        ))}
      </ul>
    </section>
  );
}
