// The API as the console uses it. The shapes come from the OpenAPI file, of which openapi.d.ts is
// made.
import type { components } from "./openapi";

export type Schemas = components["schemas"];
export type Cluster = Schemas["Cluster"];
export type Node = Schemas["Node"];
export type CatalogGroup = Schemas["CatalogGroup"];
export type CatalogEntry = Schemas["CatalogEntry"];
export type CatalogValue = Schemas["CatalogValue"];
export type Work = Schemas["Work"];
export type Me = Schemas["Me"];
export type Installation = Schemas["Installation"];
export type NewKey = Schemas["NewKey"];
export type MadeKey = Schemas["MadeKey"];

/** Labels of a series. */
export type Labels = Record<string, string>;

/** A bucket of a native histogram: how its ends count, lower end, upper end, count. */
export type Bucket = [number, string, string, string];

/** A native histogram as PromQL answers it. */
export interface Histogram {
  count: string;
  sum: string;
  buckets?: Bucket[];
}

/** A series of an instant query. Times are seconds since 1970. */
export interface Sample {
  metric: Labels;
  value?: [number, string];
  histogram?: [number, Histogram];
}

/** A series of a range query. */
export interface Series {
  metric: Labels;
  values?: [number, string][];
  histograms?: [number, Histogram][];
}

/** What PromQL answers, with what it warns of. */
export interface Answer<T> {
  result: T[];
  warnings: string[];
}

/** A rule as /api/v1/rules has it. */
export interface Rule {
  name: string;
  query: string;
  type: "alerting" | "recording";
  health: string;
  lastError?: string;
  lastEvaluation: string;
  evaluationTime: number;
  state?: "inactive" | "pending" | "firing" | "unknown";
  duration?: number;
  keepFiringFor?: number;
  labels?: Labels;
  annotations?: Labels;
  alerts?: Alert[];
}

/** A group of rules. */
export interface RuleGroup {
  name: string;
  file: string;
  interval: number;
  rules: Rule[];
  lastEvaluation: string;
  evaluationTime: number;
}

/** An alert that is pending or fires. */
export interface Alert {
  labels: Labels;
  annotations: Labels;
  state: "pending" | "firing";
  activeAt: string;
  value: string;
}

/** A condition of a silence on a label; without isEqual it is one that must hold. */
export interface Matcher {
  name: string;
  value: string;
  isRegex: boolean;
  isEqual?: boolean;
}

/** A silence as it is sent; with an id it changes one. */
export interface NewSilence {
  id?: string;
  matchers: Matcher[];
  startsAt: string;
  endsAt: string;
  createdBy: string;
  comment: string;
}

/** A silence, which may have ended. */
export interface Silence extends NewSilence {
  id: string;
  status: { state: "pending" | "active" | "expired" };
}

/** A firing alert as the Alertmanager inside has it: silencedBy are silences, inhibitedBy other
 *  alerts' fingerprints. */
export interface ManagedAlert {
  labels: Labels;
  annotations: Labels;
  fingerprint: string;
  status: { state: string; silencedBy: string[]; inhibitedBy: string[] };
}

/** ApiError is a refusal: what failed, and what to do about it. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly reason: string,
    message: string,
    readonly retryAfter = 0,
  ) {
    super(message);
  }
}

/** Who is signed in, as far as this page knows. */
export interface SignIn {
  known: boolean; // false: the form is shown
  round: number; // counts signing in: what another one saw is not shown
  why: string; // why the form is shown again
  busy: boolean; // the key of the address is on its way
}

let now: SignIn = { known: true, round: 0, why: "", busy: false };
let held = ""; // a key for which the server keeps no session; it lives as long as the page
const listeners = new Set<() => void>();

/** Whether somebody is signed in. A new page takes it so until the API says otherwise. */
export const signedIn = (): SignIn => now;

function change(next: Partial<SignIn>): void {
  now = { ...now, ...next };
  for (const tell of listeners) tell();
}

/** Calls tell whenever that changes, until the function that it returns is called. */
export function onSignIn(tell: () => void): () => void {
  listeners.add(tell);
  return () => listeners.delete(tell);
}

/** Signs in with a key: the server gives the browser a session, in a cookie that no script reads.
 *  Throws an ApiError. */
export async function signIn(key: string): Promise<void> {
  const before = held;
  held = key;
  try {
    await send("/v1/session", { method: "POST" });
    held = "";
  } catch (e) {
    // 409: the key is right, and the server keeps no sessions.
    if (!(e instanceof ApiError && e.status === 409)) {
      held = before;
      throw e;
    }
  }
  change({ known: true, round: now.round + 1, why: "", busy: false });
}

/** Ends the session, for every page of this browser. Without an API it cannot be ended. */
export async function signOut(): Promise<void> {
  if (held) held = "";
  else await send("/v1/session", { method: "DELETE" });
  change({ known: false, why: "" });
}

/** Shows the form, where somebody who is signed in wants to be somebody else. */
export const signInAgain = (): void => change({ known: false, why: "" });

/** Takes a key from the address, as `make up` prints it, and takes it out of there. */
export function takeKeyFromAddress(): void {
  const found = /^#key=([^&]+)$/.exec(location.hash);
  if (!found?.[1]) return;
  history.replaceState(null, "", `${location.pathname}#/`);
  change({ known: false, why: "", busy: true });
  signIn(decodeURIComponent(found[1])).catch((e: Error) => change({ why: e.message, busy: false }));
}

/** How many requests this tab has made: the pages are measured by it. */
export const asked = { requests: 0 };

/** The error that an answer is. */
async function failure(answer: Response): Promise<ApiError> {
  const text = await answer.text().catch(() => "");
  let reason = "";
  let message = "";
  try {
    const body = JSON.parse(text);
    if (typeof body === "string") {
      message = body; // Alertmanager's routes say what is wrong so, or in message
    } else if (typeof body.message === "string") {
      message = body.message;
    } else if (typeof body.error === "string") {
      reason = body.errorType ?? "";
      message = body.error;
    } else {
      reason = body.error?.reason ?? "";
      message = body.error?.message ?? "";
    }
  } catch {
    // One line is a sentence of Alertmanager's routes; a page is of a proxy that stands before
    // them.
    if (/^[^<\n]{1,300}\n?$/.test(text)) message = text.trim();
  }
  return new ApiError(
    answer.status,
    reason,
    message || `the API answered ${answer.status} ${answer.statusText}`,
    Number(answer.headers.get("Retry-After") ?? 0),
  );
}

/** Sends a request as who is signed in. Throws an ApiError, also when the API does not answer. */
export async function send(path: string, init: RequestInit = {}): Promise<Response> {
  asked.requests++;
  const { round } = now;
  let answer: Response;
  try {
    answer = await fetch(path, {
      ...init,
      headers: {
        ...init.headers,
        "Ringwatch-Console": "1",
        ...(held && { Authorization: `Bearer ${held}` }),
      },
      credentials: "same-origin",
      redirect: "error",
      cache: "no-store",
    });
  } catch (e) {
    if (e instanceof DOMException && e.name === "AbortError") throw e;
    throw new ApiError(0, "away", "the API does not answer: is the process api up?");
  }
  if (answer.ok) return answer;
  const e = await failure(answer);
  if (answer.status === 401 && path !== "/v1/session" && now.known && now.round === round) {
    // Said once, by the form, and not by each chart. Who never signed in needs no reason.
    const over = "You are no longer signed in: the session has ended, or its key";
    change({ known: false, why: e.reason === "no_key" ? "" : over });
    held = "";
  }
  throw e;
}

/** Asks for JSON. */
export async function get<T>(
  path: string,
  params: Record<string, string> | undefined,
  signal?: AbortSignal,
): Promise<T> {
  const query = params && Object.keys(params).length > 0 ? `?${new URLSearchParams(params)}` : "";
  const answer = await send(path + query, signal ? { signal } : {});
  return (await answer.json()) as T;
}

interface Prom<T> {
  data: T;
  warnings?: string[];
  infos?: string[];
}

/** The clusters that the key may see. */
export const clusters = (signal?: AbortSignal) => get<Cluster[]>("/v1/clusters", undefined, signal);

/** Their nodes: all, those of a cluster, or the one of an id; none of a cluster that is not there,
 *  of which the page that asks says so in its own words. */
export async function nodes(of: { cluster?: string; id?: string } = {}, signal?: AbortSignal) {
  try {
    return await get<Node[]>("/v1/nodes", of, signal);
  } catch (e) {
    if (e instanceof ApiError && e.reason === "unknown_cluster") return [];
    throw e;
  }
}

/** What can be asked by name. */
export const catalog = (signal?: AbortSignal) =>
  get<CatalogGroup[]>("/v1/catalog", undefined, signal);

/** Who asks for how much of Cassandra; needs the scope admin. */
export const work = (signal?: AbortSignal) =>
  get<Work[]>("/v1/qps", { by: "class,client" }, signal);

/** What the key of who is signed in is and may do. */
export const me = (signal?: AbortSignal) => get<Me>("/v1/me", undefined, signal);

/** A question that is asked again after some ms only; forget makes who asks next ask anew. */
export interface Every<T> {
  (): Promise<T>;
  forget(): void;
}

/** What ask answers, asked again after some ms only. Parts of a page that ask within that time
 *  share the answer, so nobody stops the request. */
export function every<T>(ms: number, ask: () => Promise<T>): Every<T> {
  let last: { at: number; answer: Promise<T> } | undefined;
  const forget = () => (last = undefined);
  onSignIn(forget);
  const question = () => {
    if (!last || Date.now() - last.at > ms) {
      const mine = { at: Date.now(), answer: ask() };
      last = mine;
      mine.answer.catch(() => {
        if (last === mine) last = undefined; // who asks next asks anew
      });
    }
    return last.answer;
  };
  return Object.assign(question, { forget });
}

/** How this Ringwatch is installed, and when it was away: of the last minute. Who asks once a
 *  minute has a newer one each time. */
export const installation = every(55_000, () => get<Installation>("/v1/installation", undefined));

/** Makes a key; needs the scope admin. Its text is not shown again. */
export async function makeKey(wanted: NewKey): Promise<MadeKey> {
  const answer = await send("/v1/keys", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(wanted),
  });
  return (await answer.json()) as MadeKey;
}

/** The rules of the account, by group. */
export async function rules(signal?: AbortSignal): Promise<RuleGroup[]> {
  return (await get<Prom<{ groups: RuleGroup[] }>>("/api/v1/rules", undefined, signal)).data.groups;
}

/** The alerts that are pending or fire, of the last second. */
export const alerts = every(1000, async () => {
  return (await get<Prom<{ alerts: Alert[] }>>("/api/v1/alerts", undefined)).data.alerts;
});

/** What the numbers beside a firing alert suggest. */
export interface Advice {
  alert: string;
  labels: Labels;
  text: string;
}

/** What is to be said of the alerts that fire. */
export const advice = async (signal?: AbortSignal) =>
  (await get<{ advice: Advice[] }>("/v1/advice", undefined, signal)).advice;

const alertmanager = "/alertmanager/api/v2";

/** All silences, also those that ended within the last days. */
export const silences = () => get<Silence[]>(`${alertmanager}/silences`, undefined);

/** The alerts that fire: those that are told, or those that are kept quiet. */
export const managedAlerts = (of: "loud" | "quiet") =>
  get<ManagedAlert[]>(
    `${alertmanager}/alerts`,
    of === "loud" ? { silenced: "false", inhibited: "false" } : { active: "false" },
  );

/** Makes a silence, or changes the one of the id; needs the scope rules. */
export async function putSilence(wanted: NewSilence): Promise<void> {
  await send(`${alertmanager}/silences`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(wanted),
  });
}

/** Ends a silence; needs the scope rules. */
export async function endSilence(id: string): Promise<void> {
  await send(`${alertmanager}/silence/${encodeURIComponent(id)}`, { method: "DELETE" });
}

/** Asks with a form, since expressions may be longer than an address. */
async function prom<T>(
  path: string,
  form: Record<string, string>,
  signal?: AbortSignal,
): Promise<Answer<T>> {
  const answer = await send(path, {
    method: "POST",
    headers: { "Content-Type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams(form),
    ...(signal && { signal }),
  });
  const body = (await answer.json()) as Prom<{ resultType: string; result: unknown }>;
  const { resultType, result } = body.data;
  const list =
    resultType === "scalar" || resultType === "string"
      ? [{ metric: {}, value: result }]
      : (result as unknown[]);
  return { result: list as T[], warnings: [...(body.warnings ?? []), ...(body.infos ?? [])] };
}

/** PromQL at one instant, now unless a time in seconds is given. */
export function query(expr: string, signal?: AbortSignal, time?: number): Promise<Answer<Sample>> {
  const form: Record<string, string> = { query: expr };
  if (time !== undefined) form.time = String(time);
  return prom<Sample>("/api/v1/query", form, signal);
}

/** PromQL at each step of a range, in seconds. */
export function queryRange(
  expr: string,
  range: { from: number; to: number; step: number },
  signal?: AbortSignal,
): Promise<Answer<Series>> {
  const form = {
    query: expr,
    start: String(range.from),
    end: String(range.to),
    step: String(range.step),
  };
  return prom<Series>("/api/v1/query_range", form, signal);
}

/** Values of a label, of what matches if a selector is given. */
export async function labelValues(
  name: string,
  match?: string,
  signal?: AbortSignal,
): Promise<string[]> {
  const path = `/api/v1/label/${encodeURIComponent(name)}/values`;
  return (await get<Prom<string[]>>(path, match ? { "match[]": match } : undefined, signal)).data;
}

/** Names of labels of what matches. */
export async function labelNames(match: string, signal?: AbortSignal): Promise<string[]> {
  return (await get<Prom<string[]>>("/api/v1/labels", { "match[]": match }, signal)).data;
}

/** What is known of each metric. */
export type Metadata = Record<string, { type: string; help: string; unit: string }[]>;

/** The dictionary of metrics, by name. */
export async function metadata(signal?: AbortSignal): Promise<Metadata> {
  return (await get<Prom<Metadata>>("/api/v1/metadata", undefined, signal)).data;
}

/** An expression's syntax, as far as it is read here. */
export interface Tree {
  type: string;
  op?: string;
  lhs?: Tree;
  rhs?: Tree;
  expr?: Tree;
  val?: string;
}

/** The syntax of an expression. */
export async function syntax(expr: string, signal?: AbortSignal): Promise<Tree> {
  const answer = await send("/api/v1/parse_query", {
    method: "POST",
    headers: { "Content-Type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams({ query: expr }),
    ...(signal && { signal }),
  });
  return ((await answer.json()) as Prom<Tree>).data;
}

/** What a cluster was like on a day in UTC, or, without one, in the last 24 hours. */
export async function report(
  cluster: string,
  format: "text" | "html",
  day: string,
  signal?: AbortSignal,
): Promise<string> {
  const params = new URLSearchParams({ format, ...(day && { day }) });
  const path = `/v1/clusters/${encodeURIComponent(cluster)}/report?${params}`;
  return (await send(path, signal ? { signal } : {})).text();
}
