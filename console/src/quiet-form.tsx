// The form that keeps alerts quiet.
import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { alerts, type Matcher, type NewSilence, putSilence } from "./api";
import { useData } from "./data";
import { sentence } from "./faces";
import { useNames } from "./names";
import {
  comparing,
  comparisonOf,
  comparisons,
  endOf,
  holds,
  inWords,
  isWide,
  lengths,
  secondsAt,
  soon,
} from "./quiet";
import { type Draft, say } from "./quiet-open";
import { refusal, silencesChanged, useForbidden } from "./silences";
import { fieldOf, secondsOf, useUTC } from "./time";
import { length } from "./units";

const byName = "ringwatch.quiet.by";

/** What somebody has filled in, and what it becomes. */
function useFields({ matchers: first, of }: Draft) {
  const isUTC = useUTC();
  const active = of && of.status.state !== "expired" ? of : undefined;
  const [from, setFrom] = useState(() =>
    of?.status.state === "pending" ? fieldOf(secondsAt(of.startsAt), isUTC).slice(0, 16) : "",
  );
  const [matchers, setMatchers] = useState(() => [...first, ...(first.length ? [] : [empty])]);
  const [until, setUntil] = useState(active ? "at" : "1h");
  const [field, setField] = useState(() => {
    const end = active ? secondsAt(active.endsAt) : Date.now() / 1000 + 3600;
    return fieldOf(end, isUTC).slice(0, 16);
  });
  const [comment, setComment] = useState(of?.comment ?? "");
  const [by, setBy] = useState(() => localStorage.getItem(byName) ?? "");
  const now = Date.now() / 1000;
  const start = from ? secondsOf(from, isUTC) : now;
  const end = endOf(until, field, start, isUTC);
  const wanted = matchers.filter((m) => m.name.trim());
  const silence = (): NewSilence => ({
    ...(active && { id: active.id }),
    matchers: wanted.map((m) => ({ ...m, name: m.name.trim() })),
    startsAt:
      active?.status.state === "active" ? active.startsAt : new Date(start * 1000).toISOString(),
    endsAt: new Date(end * 1000).toISOString(),
    createdBy: by.trim(),
    comment: comment.trim(),
  });
  return {
    ...{ matchers, setMatchers, wanted, until, setUntil, field, setField, end, now, isUTC },
    ...{ from, setFrom, start },
    ...{ comment, setComment, by, setBy, active, silence },
  };
}

const empty: Matcher = { name: "", value: "", isRegex: false, isEqual: true };

/** What is wrong with what is filled in, in a sentence; empty: nothing. */
function faultOf(fields: ReturnType<typeof useFields>): string {
  const { wanted, start, end, now, comment, by } = fields;
  if (wanted.length === 0) return "Say what shall be quiet: at least one condition.";
  if (start < now - 60) return "The beginning must be later than now, or empty.";
  if (Number.isNaN(end)) return "Say until when.";
  if (end <= start) {
    return `The end must be later than ${start > now ? "the beginning" : "now"}.`;
  }
  if (!comment.trim()) return "Say why: others will ask.";
  return by.trim() ? "" : "Say who you are: others will ask.";
}

/** The form; close is called when it is closed. */
export function Form({ begin, close }: { begin: Draft; close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const fields = useFields(begin);
  const [error, setError] = useState("");
  const [sure, setSure] = useState(""); // the conditions that somebody was asked about
  const [busy, setBusy] = useState(false);
  const forbidden = useForbidden();
  const { wanted, start, end, now, isUTC, active } = fields;
  const names = useNamesOf(wanted);
  const what = inWords(wanted, names);
  const asked = JSON.stringify(wanted);
  const begins = useRef<HTMLInputElement>(null); // what is to be filled in first
  useEffect(() => {
    dialog.current?.showModal();
    begins.current?.focus();
  }, []);
  const submit = async (e: Event) => {
    e.preventDefault();
    const fault = faultOf(fields);
    setError(fault);
    if (fault || busy) return;
    if (isWide(wanted) && sure !== asked) return setSure(asked);
    setBusy(true);
    try {
      await putSilence(fields.silence());
    } catch (cause) {
      setBusy(false);
      return setError(refusal(cause as Error));
    }
    localStorage.setItem(byName, fields.by.trim());
    silencesChanged();
    const later = start > now ? `from ${soon(start, now, isUTC)} ` : "";
    say(`Quiet ${later}until ${soon(end, now, isUTC)}: ${what}.`);
    dialog.current?.close();
  };
  return (
    <dialog ref={dialog} class="quiet-form" onClose={close} aria-labelledby="quiet-title">
      <form onSubmit={submit} noValidate>
        <h2 id="quiet-title">{active ? "Change what is quiet" : "Keep quiet"}</h2>
        <p class="quiet-what">{what}</p>
        <Matchers fields={fields} names={names} {...(begin.matchers.length === 0 && { begins })} />
        {active?.status.state !== "active" && (
          <label class="quiet-field">
            from
            <input
              type="datetime-local"
              aria-describedby="quiet-from"
              value={fields.from}
              onInput={(e) => fields.setFrom(e.currentTarget.value)}
            />
          </label>
        )}
        {active?.status.state !== "active" && (
          <p class="dim" id="quiet-from">
            {fields.from ? "It begins then." : "It begins now unless you give a time."}
          </p>
        )}
        <Until fields={fields} />
        <label class="quiet-field">
          because
          <input
            ref={begin.matchers.length > 0 ? begins : null}
            required
            maxLength={1000}
            value={fields.comment}
            placeholder="the disk is being replaced"
            onInput={(e) => fields.setComment(e.currentTarget.value)}
          />
        </label>
        <label class="quiet-field">
          by
          <input
            required
            maxLength={200}
            value={fields.by}
            placeholder="your name"
            autocomplete="name"
            onInput={(e) => fields.setBy(e.currentTarget.value)}
          />
        </label>
        <Preview wanted={wanted} />
        {isWide(wanted) && wanted.length > 0 && sure === asked && (
          <p class="error" role="alert">
            Nothing narrows this: alerts of every cluster would be quiet. Press again if you want
            that.
          </p>
        )}
        {error && (
          <p class="error" role="alert">
            {sentence(error)}
          </p>
        )}
        {forbidden && <p class="error">{sentence(forbidden)}</p>}
        <p>
          {!forbidden && (
            <button type="submit" disabled={busy}>
              {isWide(wanted) && sure === asked
                ? "Keep all of it quiet"
                : active
                  ? "Change it"
                  : "Keep quiet"}
            </button>
          )}{" "}
          <button type="button" onClick={() => dialog.current?.close()}>
            Close
          </button>
        </p>
      </form>
    </dialog>
  );
}

/** The names of nodes, if one is named. */
function useNamesOf(wanted: Matcher[]): ReadonlyMap<string, string> {
  const of = (name: string) => wanted.find((m) => m.name === name && comparisonOf(m) === "is");
  return useNames(
    of("cluster")?.value || undefined,
    wanted.some((m) => m.name === "node"),
  );
}

type Fields = ReturnType<typeof useFields>;

/** The conditions, each of which can be changed. */
function Matchers({
  fields: { matchers, setMatchers },
  names,
  begins,
}: {
  fields: Fields;
  names: ReadonlyMap<string, string>;
  begins?: RefObject<HTMLInputElement | null>; // the first field, if they are to be filled in
}) {
  const put = (at: number, ...next: Matcher[]) =>
    setMatchers((old) => [...old.slice(0, at), ...next, ...old.slice(at + 1)]);
  return (
    <details class="quiet-matchers" open={begins !== undefined}>
      <summary>What it matches</summary>
      <datalist id="quiet-labels">
        {["alertname", "cluster", "node", "severity", "datacenter", "rack"].map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <ul>
        {matchers.map((m, at) => (
          <li key={at}>
            <input
              ref={at === 0 && begins ? begins : null}
              list="quiet-labels"
              aria-label={`Label of condition ${at + 1}`}
              placeholder="label"
              value={m.name}
              onInput={(e) => put(at, { ...m, name: e.currentTarget.value })}
            />
            <select
              aria-label={`Comparison of condition ${at + 1}`}
              value={comparisonOf(m)}
              onChange={(e) => put(at, comparing(m, e.currentTarget.value))}
            >
              {comparisons.map((words) => (
                <option key={words}>{words}</option>
              ))}
            </select>
            <input
              class="long"
              aria-label={`Value of condition ${at + 1}`}
              placeholder="value"
              value={m.value}
              onInput={(e) => put(at, { ...m, value: e.currentTarget.value })}
            />
            <button
              type="button"
              class="plain"
              aria-label={`Remove condition ${at + 1}`}
              title="Remove"
              onClick={() => put(at)}
            >
              ✕
            </button>
            {m.name === "node" && names.has(m.value) && (
              <span class="dim">{names.get(m.value)}</span>
            )}
          </li>
        ))}
      </ul>
      <button type="button" onClick={() => put(matchers.length, empty)}>
        Add a condition
      </button>
    </details>
  );
}

/** For how long. */
function Until({ fields }: { fields: Fields }) {
  const { until, setUntil, field, setField, end, now, isUTC } = fields;
  const later = end > now ? `, in ${length(end - now)}` : "";
  return (
    <fieldset class="quiet-until">
      <legend>for how long</legend>
      {lengths.map(([id, text]) => (
        <span key={id}>
          <label>
            <input
              type="radio"
              name="until"
              value={id}
              checked={until === id}
              onChange={() => setUntil(id)}
            />
            {text}
          </label>
          {id === "at" && (
            <input
              type="datetime-local"
              aria-label="Until this time"
              value={field}
              onInput={(e) => {
                setField(e.currentTarget.value);
                setUntil("at");
              }}
            />
          )}
        </span>
      ))}
      <p class="dim" aria-live="polite">
        {Number.isNaN(end) ? "" : `It ends at ${soon(end, now, isUTC)}${later}. `}
        Times are {isUTC ? "UTC" : "local"}.
      </p>
    </fieldset>
  );
}

/** Which of the alerts that fire would be quiet. */
function Preview({ wanted }: { wanted: Matcher[] }) {
  const fired = useData("alerts", alerts, { every: 10_000, keep: true }).value;
  if (!fired || wanted.length === 0) return null;
  const hit = fired.filter((a) => a.state === "firing" && wanted.every((m) => holds(m, a.labels)));
  const names = [...new Set(hit.map((a) => a.labels.alertname ?? ""))].sort();
  return (
    <p class="dim" data-preview={hit.length}>
      {hit.length === 0
        ? "No alert of these fires now."
        : `${hit.length === 1 ? "1 alert" : `${hit.length} alerts`} of these fire${
            hit.length === 1 ? "s" : ""
          } now: ${names.slice(0, 5).join(", ")}${names.length > 5 ? " and others" : ""}.`}
    </p>
  );
}
