// Silences in words: what they match, until when they hold, what is about a node or a cluster.
import type { Labels, Matcher, Silence } from "./api";
import { secondsOf, stamp } from "./time";

/** What somebody wants to keep quiet, as links name it. Empty: anything. */
export interface Target {
  cluster?: string;
  node?: string;
  alert?: string;
}

/** The conditions of a target. */
export function matchersOf({ cluster, node, alert }: Target): Matcher[] {
  const list: [string, string | undefined][] = [
    ["alertname", alert],
    ["cluster", cluster],
    ["node", node],
  ];
  return list.flatMap(([name, value]) =>
    value ? [{ name, value, isRegex: false, isEqual: true }] : [],
  );
}

const wantsEqual = (m: Matcher): boolean => m.isEqual ?? true;

/** Whether a condition holds for labels; a pattern that is none of the browser's holds for
 *  nothing. */
export function holds(m: Matcher, labels: Labels): boolean {
  const value = labels[m.name] ?? "";
  if (!m.isRegex) return (value === m.value) === wantsEqual(m);
  const pattern = patternOf(m.value);
  return pattern !== undefined && pattern.test(value) === wantsEqual(m);
}

function patternOf(text: string): RegExp | undefined {
  try {
    return new RegExp(`^(?:${text})$`);
  } catch {
    return undefined; // Alertmanager's patterns are Go's; what is wrong with one the API says
  }
}

/** Texts that no narrow pattern has all of. */
const anything = ["a", "Zq_7-x", "10.0.0.1:9042 /data"];

/** Whether nothing narrows what is matched: everything, or all but something, would be quiet. */
export function isWide(matchers: Matcher[]): boolean {
  return !matchers.some((m) => {
    if (!wantsEqual(m) || !m.value) return false;
    if (!m.isRegex) return true;
    const pattern = patternOf(m.value);
    return pattern === undefined || anything.some((text) => !pattern.test(text));
  });
}

const operators: [isRegex: boolean, isEqual: boolean, words: string][] = [
  [false, true, "is"],
  [false, false, "is not"],
  [true, true, "is like"],
  [true, false, "is not like"],
];

/** How conditions compare, in words, each with what it is. */
export const comparisons = operators.map(([, , words]) => words);

/** A condition's comparison in words. */
export const comparisonOf = (m: Matcher): string =>
  operators.find(([r, e]) => r === m.isRegex && e === wantsEqual(m))![2];

/** A condition with another comparison. */
export function comparing(m: Matcher, words: string): Matcher {
  const [isRegex, isEqual] = operators.find(([, , w]) => w === words) ?? operators[0]!;
  return { ...m, isRegex, isEqual };
}

/** What conditions match, in words. names are those of nodes by id. */
export function inWords(matchers: Matcher[], names?: ReadonlyMap<string, string>): string {
  const rest = [...matchers];
  /** Takes out the condition that a label has exactly a value. */
  const exactly = (name: string): string | undefined => {
    const at = rest.findIndex((m) => m.name === name && m.value && comparisonOf(m) === "is");
    return at < 0 ? undefined : rest.splice(at, 1)[0]!.value;
  };
  const alert = exactly("alertname");
  const node = exactly("node");
  const cluster = exactly("cluster");
  const more = rest.map((m) => `${m.name} ${comparisonOf(m)} ${m.value || "empty"}`);
  return [
    alert ?? "all alerts",
    node && `of node ${names?.get(node) ?? node}`,
    cluster && `in cluster ${cluster}`,
    more.length > 0 && `whose ${more.join(" and whose ")}`,
  ]
    .filter(Boolean)
    .join(" ");
}

/** How an alert is called that another one is quiet for. */
export function called(by: Labels, of: Labels, names?: ReadonlyMap<string, string>): string {
  const { severity, alertname, node } = by;
  const where = node && node !== of.node ? `of ${names?.get(node) ?? node}` : "";
  return [severity, alertname, where].filter(Boolean).join(" ");
}

/** For how long something may be quiet: a name, and how it is called. */
export const lengths: [id: string, text: string][] = [
  ["1h", "1 h"],
  ["4h", "4 h"],
  ["tomorrow", "until tomorrow 9:00"],
  ["at", "until"],
];

/** When a length ends, in seconds; NaN if the field of "until" has no time. */
export function endOf(id: string, field: string, now: number, isUTC: boolean): number {
  if (id === "1h") return now + 3600;
  if (id === "4h") return now + 4 * 3600;
  if (id === "tomorrow") return tomorrow(now, isUTC);
  return secondsOf(field, isUTC);
}

/** Tomorrow at 9:00 of the clock that is shown, in seconds. */
function tomorrow(now: number, isUTC: boolean): number {
  const d = new Date(now * 1000);
  return isUTC
    ? Date.UTC(d.getUTCFullYear(), d.getUTCMonth(), d.getUTCDate() + 1, 9) / 1000
    : new Date(d.getFullYear(), d.getMonth(), d.getDate() + 1, 9).getTime() / 1000;
}

/** A time without its date if that is today's. Both are in seconds. */
export function soon(secs: number, now: number, isUTC: boolean): string {
  const text = stamp(secs, isUTC).slice(0, 16);
  const today = stamp(now, isUTC).slice(0, 10);
  return text.startsWith(today) ? text.slice(11) : text;
}

/** When a silence begins or ends, in seconds. */
export const secondsAt = (text: string): number => Date.parse(text) / 1000;

const maintenance = /^maintenance:\s*/i;

/** Whether a silence is maintenance, and what its comment says of that. */
export function reasonOf({ comment }: Pick<Silence, "comment">): [boolean, string] {
  return [maintenance.test(comment), comment.replace(maintenance, "").trim()];
}

/** Whether a silence is about a cluster, or one of these nodes of it: it names one of them, and
 *  excludes none. One of all clusters is about none of them. */
export function isAbout(
  { matchers }: Pick<Silence, "matchers">,
  cluster: string,
  nodes: string[],
): boolean {
  const place = matchers.filter((m) => m.name === "cluster" || m.name === "node");
  if (isWide(place)) return false;
  return place.every((m) =>
    m.name === "cluster" ? holds(m, { cluster }) : nodes.some((node) => holds(m, { node })),
  );
}
