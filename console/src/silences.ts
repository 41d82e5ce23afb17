// Which alerts are quiet, and why: asked for once for all parts of a page.
import { useEffect, useState } from "preact/hooks";
import {
  ApiError,
  every,
  type Labels,
  managedAlerts,
  type ManagedAlert,
  me,
  onSignIn,
  type Silence,
  silences,
} from "./api";
import { type Data, useData } from "./data";
import { keyOf } from "./watch";

/** Why an alert is quiet. */
export interface Hush {
  silences: Silence[];
  alerts: Labels[]; // that say it already
}

/** What is quiet now. */
export interface Quiet {
  silences: Silence[];
  alerts: ManagedAlert[]; // firing ones that nobody is told of
  of: (labels: Labels) => Hush | undefined;
  away: string; // why nothing is known; empty: it is
}

/** How long a process without an Alertmanager, or of a key that may not ask it, is not asked. */
const restsFor = 10 * 60_000;

let resting: { until: number; quiet: Quiet } | undefined;
let inhibitors = new Map<string, Labels>(); // by fingerprint, which stands for labels
onSignIn(() => (resting = undefined));

/** An alert's labels as one text. Where accounts share receivers the label account is added. */
function idOf(labels: Labels): string {
  return keyOf(Object.fromEntries(Object.entries(labels).filter(([name]) => name !== "account")));
}

async function ask(): Promise<Quiet> {
  if (resting && Date.now() < resting.until) return resting.quiet;
  try {
    const [list, quiet] = await Promise.all([silences(), managedAlerts("quiet")]);
    return quietOf(list, quiet, await namesOf(quiet));
  } catch (e) {
    if (!(e instanceof ApiError) || (e.status !== 501 && e.status !== 403)) throw e;
    const answer = { ...quietOf([], [], new Map()), away: e.message };
    resting = { until: Date.now() + restsFor, quiet: answer };
    return answer;
  }
}

/** The labels of alerts that keep others quiet, by fingerprint. Loud ones are asked for if one is
 *  not known yet. */
async function namesOf(quiet: ManagedAlert[]): Promise<Map<string, Labels>> {
  const wanted = new Set(quiet.flatMap((a) => a.status.inhibitedBy));
  const known = new Map([...inhibitors].filter(([id]) => wanted.has(id)));
  const note = (list: ManagedAlert[]) => {
    for (const a of list) if (wanted.has(a.fingerprint)) known.set(a.fingerprint, a.labels);
  };
  note(quiet);
  if (known.size < wanted.size) note(await managedAlerts("loud"));
  return (inhibitors = known);
}

function found<T>(all: ReadonlyMap<string, T>, id: string): T[] {
  const one = all.get(id);
  return one === undefined ? [] : [one];
}

/** What is quiet, of silences and alerts. */
export function quietOf(
  list: Silence[],
  alerts: ManagedAlert[],
  names: ReadonlyMap<string, Labels>,
): Quiet {
  const byId = new Map(list.map((s) => [s.id, s]));
  const hushes = new Map<string, Hush>();
  for (const { labels, status } of alerts) {
    hushes.set(idOf(labels), {
      silences: status.silencedBy.flatMap((id) => found(byId, id)),
      alerts: status.inhibitedBy.flatMap((id) => found(names, id)),
    });
  }
  return {
    silences: list,
    alerts,
    of: (labels) => hushes.get(idOf(labels)),
    away: "",
  };
}

const quietNow = every(1000, ask);

let round = 0; // counts what this page has changed
const listeners = new Set<() => void>();

/** Makes all parts of the page ask again: a silence was made or ended here. */
export function silencesChanged(): void {
  round++;
  quietNow.forget();
  for (const tell of listeners) tell();
}

/** What is quiet, asked for every ten seconds and when this page has changed it. */
export function useQuiet(): Data<Quiet> {
  const [now, set] = useState(round);
  useEffect(() => {
    const tell = () => set(round);
    listeners.add(tell);
    return () => void listeners.delete(tell);
  }, []);
  return useData(`quiet ${now}`, quietNow, { every: 10_000, keep: true });
}

const myKey = every(60_000, () => me());

/** Why who is signed in cannot change what is quiet, in a sentence; empty: nothing is against it,
 *  or nobody knows yet. */
export function useForbidden(): string {
  const quiet = useQuiet().value;
  const key = useData("me", myKey, { every: 60_000, keep: true }).value;
  if (quiet?.away) return quiet.away;
  if (!key || key.scopes.includes("rules")) return "";
  return noScope;
}

const noScope =
  "This key sees what is quiet and cannot change it: it lacks the scope rules, so sign in with " +
  "one that has it.";

/** What the API said against a change, in a sentence. */
export function refusal(e: Error): string {
  return e instanceof ApiError && e.status === 403 && e.reason === "no_scope" ? noScope : e.message;
}
