// What pages say of silences: beside an alert, above a node or a cluster, in a list.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { endSilence, type Labels, type Silence } from "./api";
import { useNow } from "./data";
import { sentence } from "./faces";
import { useNames } from "./names";
import { link } from "./place";
import { called, inWords, isAbout, reasonOf, secondsAt, soon } from "./quiet";
import { draftOf, openForm, say } from "./quiet-open";
import { type Hush, refusal, silencesChanged, useForbidden, useQuiet } from "./silences";
import { stamp, useUTC } from "./time";
import { length } from "./units";

/** That something is quiet, with a shape beside the word. */
export function QuietMark({ children = "quiet" }: { children?: ComponentChildren }) {
  return (
    <span class="quiet-mark">
      <span aria-hidden="true">◌</span> {children}
    </span>
  );
}

/** A length without what nobody waits for: seconds beside minutes. */
const roughly = (secs: number): string => length(secs > 120 ? Math.ceil(secs / 60) * 60 : secs);

/** Until when a silence holds, who made it, and why. */
export function Terms({ of }: { of: Silence }) {
  const isUTC = useUTC();
  const now = useNow(10_000) / 1000;
  const [begin, end] = [secondsAt(of.startsAt), secondsAt(of.endsAt)];
  const [isMaintenance, why] = reasonOf(of);
  const from = begin > now ? `from ${soon(begin, now, isUTC)} ` : "";
  const ended = of.status.state === "expired";
  return (
    <>
      {isMaintenance && <strong>maintenance</strong>}{" "}
      <time title={`${stamp(begin, isUTC)} to ${stamp(end, isUTC)}`}>
        {ended ? "until" : `${from}until`} {soon(end, now, isUTC)}
      </time>
      {!ended && begin <= now && <span class="dim"> ({roughly(end - now)} more)</span>}, by{" "}
      <bdi>{of.createdBy || "nobody"}</bdi>
      {why && (
        <>
          : <bdi class="quiet-why">{why}</bdi>
        </>
      )}
    </>
  );
}

/** Changes and ends a silence. Who cannot, has no buttons. */
export function Actions({ of, what }: { of: Silence; what: string }) {
  const forbidden = useForbidden();
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  if (forbidden) return null;
  const end = async () => {
    setBusy(true);
    try {
      await endSilence(of.id);
      document.getElementById("main")?.focus({ preventScroll: true }); // the button goes
      say(`No longer quiet: ${what}.`);
      silencesChanged();
    } catch (e) {
      setError(refusal(e as Error));
    }
    setBusy(false);
  };
  return (
    <span class="quiet-actions">
      <button
        type="button"
        class="plain toggle"
        aria-label={`Change: ${what}`}
        aria-haspopup="dialog"
        onClick={() => openForm(draftOf(of))}
      >
        Change…
      </button>
      <button
        type="button"
        class="plain toggle"
        aria-label={`End: ${what}`}
        disabled={busy}
        onClick={() => void end()}
      >
        End
      </button>
      {error && (
        <span class="error" role="alert">
          {sentence(error)}
        </span>
      )}
    </span>
  );
}

/** Why an alert is quiet. */
export function Why({
  of,
  labels,
  names,
}: {
  of: Hush;
  labels: Labels;
  names: ReadonlyMap<string, string>;
}) {
  return (
    <div class="quiet-lines">
      {of.silences.map((s) => (
        <p key={s.id}>
          <Terms of={s} /> <Actions of={s} what={inWords(s.matchers, names)} />
        </p>
      ))}
      {of.alerts.length > 0 && (
        <p>
          {of.alerts
            .slice(0, 3)
            .map((by) => called(by, labels, names))
            .join(", ")}{" "}
          {of.alerts.length === 1 ? "says" : "say"} it already
        </p>
      )}
    </div>
  );
}

/** How many silences stand above a page; more are on the page Quiet. */
const mostAbove = 4;

/** What is quiet of a cluster, or of nodes of it. */
export function QuietAbove({ cluster, nodes }: { cluster: string; nodes: string[] }) {
  const list = (useQuiet().value?.silences ?? []).filter(
    (s) => s.status.state === "active" && isAbout(s, cluster, nodes),
  );
  const names = useNames(cluster, list.length > 0);
  if (list.length === 0) return null;
  return (
    <section class="panel quiet-above" aria-label="What is quiet">
      {list.slice(0, mostAbove).map((s) => {
        const what = inWords(s.matchers, names);
        return (
          <p key={s.id}>
            <QuietMark>Quiet</QuietMark> <span>{what}</span>, <Terms of={s} />{" "}
            <Actions of={s} what={what} />
          </p>
        );
      })}
      {list.length > mostAbove && (
        <p>
          {list.length - mostAbove} more under <a href={link(["quiet"])}>Quiet</a>
        </p>
      )}
    </section>
  );
}
