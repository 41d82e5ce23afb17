// The faces of data that is not there: loading, nothing, failed, old, not allowed.
import type { ComponentChildren } from "preact";
import { ApiError, signInAgain } from "./api";
import type { Data } from "./data";
import { useNow } from "./data";
import { signOf, wordOf } from "./states";
import { length } from "./units";

/** What an error says to do. */
function remedy(e: Error): string {
  if (!(e instanceof ApiError))
    return "Reload the page. If it happens again, report a fault of the console.";
  switch (e.status) {
    case 0:
      return "The console asks again by itself.";
    case 401:
      return "Sign in with another key.";
    case 403:
      return "Sign in with a key that has this scope.";
    case 429:
    case 503:
      return "The console asks again by itself.";
    default:
      return "";
  }
}

/** Says what failed and what to do. */
export function Failed({ error, compact }: { error: Error; compact?: boolean }) {
  const rights = error instanceof ApiError && (error.status === 401 || error.status === 403);
  const what = !rights
    ? "This could not be loaded."
    : error instanceof ApiError && error.status === 401
      ? "This key does not sign you in."
      : "This key may not see this.";
  return (
    <div class={compact ? "face compact" : "face"} role="alert">
      <span class="face-sign" aria-hidden="true">
        {rights ? "⊘" : "!"}
      </span>
      <p>
        <strong>{what}</strong> {sentence(error.message)} {remedy(error)}
      </p>
      {rights && !compact && (
        <button type="button" onClick={signInAgain}>
          Sign in with another key
        </button>
      )}
    </div>
  );
}

/** A message as a sentence: it begins with a capital letter and ends with a dot. */
export function sentence(text: string): string {
  const t = text.trim();
  if (!t) return "";
  return t[0]!.toUpperCase() + t.slice(1) + (/[.!?]$/.test(t) ? "" : ".");
}

/** Stands where data will be. */
export function Loading({ rows = 3, what = "data" }: { rows?: number; what?: string }) {
  return (
    <div class="loading" role="status" aria-label={`Loading ${what}`}>
      {Array.from({ length: rows }, (_, i) => (
        <div class="bone" key={i} />
      ))}
    </div>
  );
}

/** Says that there is nothing, and why that may be. */
export function Empty({ children }: { children: ComponentChildren }) {
  return <div class="face quiet">{children}</div>;
}

/**
 * Shows data in whatever state it is: what was heard last stays, greyed with its age, while the API
 * is away.
 */
export function Shown<T>({
  data,
  children,
  rows,
  what,
  empty,
}: {
  data: Data<T>;
  children: (value: T) => ComponentChildren;
  rows?: number;
  what?: string;
  empty?: ComponentChildren;
}) {
  if (data.value === undefined) {
    if (data.error) return <Failed error={data.error} />;
    return <Loading {...(rows && { rows })} {...(what && { what })} />;
  }
  const nothing = Array.isArray(data.value) && data.value.length === 0 && empty;
  return (
    <>
      {data.error && <Old data={data} />}
      <div class={data.error ? "old" : undefined}>
        {nothing ? <Empty>{empty}</Empty> : children(data.value)}
      </div>
    </>
  );
}

/** Says how old what is shown is, and why. */
export function Old({ data }: { data: Data<unknown> }) {
  const now = useNow();
  return (
    <p class="old-note" role="status">
      <span aria-hidden="true">◷</span> As of {length((now - data.at) / 1000)} ago.{" "}
      {sentence(data.error?.message ?? "")}
    </p>
  );
}

/** What PromQL warns of: rollups instead of samples, nodes that could not be asked. */
export function Warnings({ list }: { list: string[] }) {
  if (list.length === 0) return null;
  return (
    <details class="warnings">
      <summary>
        {list.some((w) => w.includes("rollups")) ? "from rollups" : `${list.length} notes`}
      </summary>
      <ul>
        {list.map((w) => (
          <li key={w}>{w}</li>
        ))}
      </ul>
    </details>
  );
}

/** A node's state, with a shape of its own beside its colour. */
export function State({ state }: { state: string }) {
  return (
    <span class={`state ${state}`}>
      <span aria-hidden="true">{signOf(state)}</span> {wordOf(state)}
    </span>
  );
}

/** How much an alert matters, with a shape of its own. */
export function Severity({ name }: { name: string }) {
  const signs: Record<string, string> = { critical: "▲", error: "▲", warning: "△", info: "▷" };
  return (
    <span class={`severity ${name}`}>
      <span aria-hidden="true">{signs[name] ?? "▷"}</span> {name || "none"}
    </span>
  );
}
