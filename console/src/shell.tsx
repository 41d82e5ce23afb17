// What surrounds every page: navigation, the time range, the keyboard, signing in.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { alerts, signedIn, signIn, signOut } from "./api";
import { Copy } from "./copy";
import { useData } from "./data";
import { sentence } from "./faces";
import { go, link, type Place, setParams, usePlace } from "./place";
import { QuietForm } from "./quiet-open";
import { Search } from "./search";
import { useQuiet } from "./silences";
import { choose, chosen } from "./theme";
import { fieldOf, linkOf, rangeOf, ranges, secondsOf, setUTC, stamp, useUTC, zoom } from "./time";

/** Pages in the navigation: place, name, key after g. What is under another one is not named. */
const places: [string, string, string][] = [
  ["fleet", "Fleet", "f"],
  ["tables", "Tables", "t"],
  ["activity", "Activity", "y"],
  ["events", "Events", "v"],
  ["explore", "Explore", "e"],
  ["alerts", "Alerts", "a"],
  ["quiet", "Quiet", "q"],
  ["pipeline", "Pipeline", "p"],
  ["add", "Add a node", "n"],
];

/** Pages under others: they are reached from there, and by their keys. */
const under: Record<string, string> = { quiet: "alerts" };

/** The frame around a page. */
export function Shell({ children }: { children: ComponentChildren }) {
  const { path } = usePlace();
  const [help, setHelp] = useState(false);
  const here = path[0] ?? "fleet";
  useKeys(() => setHelp(true));
  useEffect(() => {
    if (here === "node") return; // its page knows its name
    const name = places.find(([p]) => p === here)?.[1] ?? path[1] ?? "Ringwatch";
    document.title = `${name} · Ringwatch`;
  }, [path.join("/")]);
  return (
    <>
      <a
        class="skip"
        href="#main"
        onClick={(e) => {
          e.preventDefault();
          document.getElementById("main")?.focus();
        }}
      >
        Skip to the page
      </a>
      <header class="top">
        <a class="brand" href="#/">
          <Ring /> Ringwatch
        </a>
        <nav aria-label="Pages">
          {places
            .filter(([p]) => !under[p])
            .map(([p, name]) => (
              <a
                key={p}
                href={link([p])}
                aria-current={here === p ? "page" : under[here] === p ? "true" : undefined}
              >
                {name}
                {p === "alerts" && <Firing />}
              </a>
            ))}
        </nav>
        <Search />
        <TimeRange />
        <Settings />
      </header>
      <main id="main" tabIndex={-1} data-place={path.map(encodeURIComponent).join("/")}>
        {children}
      </main>
      <QuietForm load={() => import("./quiet-form").then((m) => m.Form)} />
      {help && <Help close={() => setHelp(false)} />}
    </>
  );
}

function Ring() {
  return (
    <svg width="20" height="20" viewBox="0 0 32 32" fill="none" aria-hidden="true">
      <circle cx="16" cy="16" r="11" class="ring-line" stroke-width="4" />
      <path d="M16 5a11 11 0 0 1 11 11" class="ring-arc" stroke-width="4" />
      <circle cx="16" cy="16" r="3.5" class="ring-dot" />
    </svg>
  );
}

/** How many alerts fire of which somebody is told, and how many are quiet. */
function Firing() {
  const data = useData("alerts", alerts, { every: 10_000 });
  const quiet = useQuiet().value;
  const firing = data.value?.filter((a) => a.state === "firing") ?? [];
  const loud = firing.filter((a) => !quiet?.of(a.labels)).length;
  const calm = firing.length - loud;
  if (firing.length === 0) return null;
  const besides = calm ? `, and ${calm} quiet` : "";
  const title = `${loud} ${loud === 1 ? "alert fires" : "alerts fire"}${besides}`;
  return loud > 0 ? (
    <span class="badge" title={title}>
      {loud}
      {calm > 0 && <span class="sr"> and {calm} quiet</span>}
    </span>
  ) : (
    <span class="badge calm" title={title}>
      {calm} quiet
    </span>
  );
}

/** The time range of all charts. */
function TimeRange() {
  const at = usePlace();
  const isUTC = useUTC();
  const range = rangeOf(at);
  const named = at.params.get("range") ?? "1h";
  const [choosing, setChoosing] = useState(false);
  return (
    <div class="range">
      {!range.live && (
        <button
          type="button"
          class="plain dim range-text"
          title="Choose another time"
          onClick={() => setChoosing(true)}
        >
          {stamp(range.from, isUTC).slice(0, 16)} to {stamp(range.to, isUTC).slice(0, 16)}
        </button>
      )}
      <label>
        <span class="sr">Time range</span>
        <select
          id="range"
          value={range.live ? named : ""}
          onChange={(e) => {
            const value = e.currentTarget.value;
            if (value === "choose") {
              e.currentTarget.value = range.live ? named : "";
              setChoosing(true);
              return;
            }
            setParams({ range: value, from: null, to: null }, false);
          }}
        >
          {!range.live && <option value="">chosen</option>}
          {ranges.map(([name]) => (
            <option key={name} value={name}>
              last {name}
            </option>
          ))}
          <option value="choose">choose …</option>
        </select>
      </label>
      {choosing && <Times at={at} close={() => setChoosing(false)} />}
    </div>
  );
}

/** Asks for the two ends of the time range. */
function Times({ at, close }: { at: Place; close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const isUTC = useUTC();
  const [[from, to], set] = useState(() => {
    const range = rangeOf(at);
    return [fieldOf(range.from, isUTC), fieldOf(range.to, isUTC)];
  });
  const [a, b] = [secondsOf(from!, isUTC), secondsOf(to!, isUTC)];
  useEffect(() => dialog.current?.showModal(), []);
  const submit = (e: Event) => {
    e.preventDefault();
    if (!(a < b)) return;
    zoom(a, b);
    close();
  };
  return (
    <dialog ref={dialog} onClose={close} aria-label="Time range">
      <form class="times" onSubmit={submit}>
        <h2>Time range</h2>
        <label>
          from
          <input
            type="datetime-local"
            step={1}
            required
            value={from}
            onInput={(e) => set([e.currentTarget.value, to!])}
          />
        </label>
        <label>
          to
          <input
            type="datetime-local"
            step={1}
            required
            value={to}
            onInput={(e) => set([from!, e.currentTarget.value])}
          />
        </label>
        <p class={a >= b ? "error" : "dim"} role={a >= b ? "alert" : undefined}>
          {a >= b
            ? "The end must be later than the beginning."
            : `Times are ${isUTC ? "UTC" : "local"}.`}
        </p>
        <p>
          <button type="submit" disabled={!(a < b)}>
            Show
          </button>{" "}
          <button type="button" onClick={() => dialog.current?.close()}>
            Close
          </button>
        </p>
      </form>
      <Copy name="Copy a link to this time" text={() => linkOf(at)} />
    </dialog>
  );
}

/** Theme, clock, help and leaving. */
function Settings() {
  const isUTC = useUTC();
  const [theme, setTheme] = useState(chosen);
  const [failed, setFailed] = useState("");
  return (
    <div class="settings">
      <button
        type="button"
        class="plain"
        title="Times are UTC or local"
        aria-label={`Times are ${isUTC ? "UTC" : "local"}; change`}
        onClick={() => setUTC(!isUTC)}
      >
        {isUTC ? "UTC" : "local"}
      </button>
      <button
        type="button"
        class="plain"
        title="Light, dark, or as the system is"
        aria-label={`Theme: ${theme || "system"}; change`}
        onClick={() => {
          const next = theme === "" ? "dark" : theme === "dark" ? "light" : "";
          choose(next);
          setTheme(next);
        }}
      >
        {theme === "dark" ? "☾" : theme === "light" ? "☀" : "◑"}
      </button>
      <button
        type="button"
        class="plain"
        title={failed || "End the session of this browser"}
        onClick={() => signOut().catch((e: Error) => setFailed(sentence(e.message)))}
      >
        {failed ? "Sign out: try again" : "Sign out"}
      </button>
    </div>
  );
}

/** Keys that work everywhere but in fields: / finds, ? helps, g and a letter goes to a page. */
function useKeys(help: () => void): void {
  useEffect(() => {
    let went = -Infinity; // ms, when g was pressed: the page may be busy for long after that
    const press = (e: KeyboardEvent) => {
      const field = (e.target as HTMLElement).closest("input, textarea, select, [contenteditable]");
      if (field || e.ctrlKey || e.metaKey || e.altKey) return;
      if (e.key === "/") document.getElementById("search")?.focus();
      else if (e.key === "?") help();
      else if (e.key === "g") {
        went = e.timeStamp;
        return;
      } else if (e.timeStamp - went < 1500) {
        const hit = places.find(([, , k]) => k === e.key);
        if (!hit) return;
        go([hit[0]]);
      } else return;
      went = -Infinity;
      e.preventDefault();
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, []);
}

function Help({ close }: { close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const keys: [string, string][] = [
    ["/", "find a cluster, a node, a table or a metric"],
    ["?", "this help"],
    ...places.map(([, name, k]): [string, string] => [`g ${k}`, name]),
    ["Esc", "close, or leave a field"],
  ];
  return (
    <dialog ref={dialog} onClose={close} aria-label="Keyboard">
      <h2>Keyboard</h2>
      <dl class="keys">
        {keys.map(([k, what]) => (
          <div key={k}>
            <dt>
              <kbd>{k}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <p class="dim">Drag across a chart to see that time on all charts.</p>
      <form method="dialog">
        <button type="submit">Close</button>
      </form>
    </dialog>
  );
}

/** Asks for an API key. The place stays: whoever followed a link is there after that. */
export function SignIn() {
  const [text, setText] = useState("");
  const [error, setError] = useState(signedIn().why);
  const [busy, setBusy] = useState(signedIn().busy);
  useEffect(() => {
    document.title = "Sign in · Ringwatch";
  }, []);
  const submit = async (e: Event) => {
    e.preventDefault();
    const value = text.trim();
    if (!value || busy) return;
    setBusy(true);
    setError("");
    await signIn(value).catch((e: Error) => setError(e.message));
    setBusy(false);
  };
  return (
    <main class="signin">
      <form onSubmit={submit}>
        <h1>
          <Ring /> Ringwatch
        </h1>
        <label for="key">API key</label>
        <input
          id="key"
          type="password"
          autocomplete="off"
          spellcheck={false}
          value={text}
          placeholder="rw_…"
          aria-describedby="key-note"
          onInput={(e) => setText(e.currentTarget.value)}
        />
        <p id="key-note" class="dim">
          You stay signed in for a week. The first start printed a key;{" "}
          <code>ringwatch key create</code> makes more.
        </p>
        {error && (
          <p class="error" role="alert">
            {sentence(error)}
          </p>
        )}
        <button type="submit" disabled={busy || !text.trim()}>
          {busy ? "Signing in …" : "Sign in"}
        </button>
      </form>
    </main>
  );
}
