// Rules and their alerts: how they are found, ordered, and what of them is drawn.
import type { Alert, Labels, Rule, RuleGroup, Tree } from "./api";
import { quote } from "./units";

/** A rule with its place. n counts those of its name in the group. */
export interface Watched {
  rule: Rule;
  file: string;
  group: string;
  interval: number;
  n: number;
}

/** An alert with the rule that it is of; none, if the API does not know the rule's file. */
export interface Fired {
  alert: Alert;
  of?: Watched;
}

/** All rules, in the order of their files. */
export function watchedOf(groups: RuleGroup[]): Watched[] {
  const list: Watched[] = [];
  for (const g of groups) {
    const seen = new Map<string, number>();
    for (const rule of g.rules) {
      const n = seen.get(rule.name) ?? 0;
      seen.set(rule.name, n + 1);
      list.push({ rule, file: g.file, group: g.name, interval: g.interval, n });
    }
  }
  return list;
}

/** The alerts of rules, and of those that no rule of the list has: firing ones first, then the
 *  worst, then the newest. */
export function firedOf(list: Watched[], all: Alert[] = []): Fired[] {
  const fired: Fired[] = list.flatMap((of) =>
    (of.rule.alerts ?? []).map((alert) => ({ alert, of })),
  );
  const known = new Set(fired.map((f) => keyOf(f.alert.labels)));
  for (const alert of all) if (!known.has(keyOf(alert.labels))) fired.push({ alert });
  return fired.sort(
    (a, b) =>
      Number(b.alert.state === "firing") - Number(a.alert.state === "firing") ||
      rank(b.alert) - rank(a.alert) ||
      Date.parse(b.alert.activeAt) - Date.parse(a.alert.activeAt) ||
      (keyOf(a.alert.labels) < keyOf(b.alert.labels) ? -1 : 1),
  );
}

function rank(a: Alert): number {
  return { critical: 3, warning: 2, info: 1 }[a.labels.severity ?? ""] ?? 0;
}

/** Where a rule is in the console; an alert of it, if there is one. */
export function placeOf(w: Watched, alert?: Labels): [string[], Record<string, string | null>] {
  return [
    ["alerts", w.file, w.group, w.rule.name],
    { n: w.n ? String(w.n) : null, alert: alert ? keyOf(alert) : null },
  ];
}

/** A label set as text; the same labels give the same text. */
export function keyOf(labels: Labels): string {
  return JSON.stringify(Object.fromEntries(Object.entries(labels).sort()));
}

/** The label set of a text of keyOf; undefined if it is none. */
export function labelsOf(text: string | null): Labels | undefined {
  if (!text) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
    return Object.values(value).every((v) => typeof v === "string") ? (value as Labels) : undefined;
  } catch {
    return undefined; // somebody has changed the address
  }
}

/** An expression that compares something with a number. */
export interface Comparison {
  left: string;
  op: string;
  limit: number;
}

const flipped: Record<string, string> = { ">": "<", "<": ">", ">=": "<=", "<=": ">=" };
const ops = "==|!=|>=|<=|>|<";
const literal = "[-+]?[\\w.]+(?:[-+]\\d+)?";
const atEnd = new RegExp(`^([\\s\\S]*\\S)\\s*(${ops})(?:\\s*bool\\b)?\\s*(${literal})$`);
const atBegin = new RegExp(`^(${literal})\\s*(${ops})(?:\\s*bool\\b)?\\s*([\\s\\S]*\\S)$`);

/** The sides of a comparison with a number; null if the expression is none. The tree says what the
 *  outermost operation is, the text has the sides. */
export function comparison(text: string, tree: Tree): Comparison | null {
  text = text.trim();
  while (tree.type === "parenExpr" && tree.expr && text.startsWith("(") && text.endsWith(")")) {
    text = text.slice(1, -1).trim();
    tree = tree.expr;
  }
  if (tree.type !== "binaryExpr" || !tree.lhs || !tree.rhs) return null;
  const right = tree.rhs.type === "numberLiteral";
  if (right === (tree.lhs.type === "numberLiteral")) return null;
  const m = (right ? atEnd : atBegin).exec(text);
  if (!m || m[2] !== tree.op) return null;
  const limit = Number(right ? tree.rhs.val : tree.lhs.val);
  if (!Number.isFinite(limit)) return null;
  return right
    ? { left: m[1]!, op: m[2]!, limit }
    : { left: m[3]!, op: flipped[m[2]!] ?? m[2]!, limit };
}

/** Labels that say where something is; every series has them, or a sum of it by some of them. */
export const where = ["cluster", "datacenter", "rack", "node"];

/** An expression's series that have an alert's labels of these names. The labels that its rule adds
 *  are not among them. */
export function only(expr: string, alert: Labels, rule: Rule, of: string[]): string {
  const names = of.filter(
    (n) => n !== "alertname" && n !== "__name__" && !(n in (rule.labels ?? {})) && alert[n],
  );
  if (names.length === 0) return expr;
  const is = names.reduce(
    (inner, n) => `label_replace(${inner}, ${quote(n)}, ${quote(whole(alert[n]!))}, "", "")`,
    "vector(1)",
  );
  return `(${expr}) and on (${names.map(nameOf).join(", ")}) ${is}`;
}

/** A replacement that means itself: $ begins a group's name. */
function whole(text: string): string {
  return text.replaceAll("$", "$$$$");
}

function nameOf(label: string): string {
  return /^[A-Za-z_]\w*$/.test(label) ? label : quote(label);
}

/** The command line that silences an alert for two hours. */
export function silence(labels: Labels): string {
  const shell = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
  const matchers = Object.entries(labels)
    .sort(([a], [b]) => Number(b === "alertname") - Number(a === "alertname"))
    .map(([n, v]) => shell(`${nameOf(n)}=${quote(v)}`));
  return [
    "amtool silence add --duration=2h --comment='seen in the console'",
    ...matchers.map((m) => `  ${m}`),
  ].join(" \\\n");
}

/** How a series is called: what it is of first, then where that is. names are those of nodes. */
export function nameOfSeries(labels: Labels, names?: ReadonlyMap<string, string>): string {
  const { __name__, cluster, node, datacenter, rack, ...more } = labels;
  const of = Object.entries(more).map(([n, v]) => `${n}=${v}`);
  const at = node ? (names?.get(node) ?? node) : [datacenter, rack].filter(Boolean).join(" ");
  return [...of, at, cluster].filter(Boolean).join(", ") || __name__ || "value";
}
