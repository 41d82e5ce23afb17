// Names that are near a name that does not exist, and how they get into an expression.
import { quote } from "./units";

/** All runs of three letters, the ends marked. */
function parts(text: string): Map<string, number> {
  const padded = `  ${text.toLowerCase()} `;
  const map = new Map<string, number>();
  for (let i = 0; i + 3 <= padded.length; i++) {
    const part = padded.slice(i, i + 3);
    map.set(part, (map.get(part) ?? 0) + 1);
  }
  return map;
}

const words = (text: string) =>
  new Set(
    text
      .toLowerCase()
      .split(/[^a-z0-9]+/)
      .filter(Boolean),
  );

/** The names most like the one asked for, the nearest first; none if none is like it. */
export function nearest(asked: string, names: string[], most = 5): string[] {
  const [own, ownWords] = [parts(asked), words(asked)];
  const size = asked.length + 1;
  return names
    .map((name) => {
      let same = 0;
      for (const [part, n] of parts(name)) same += Math.min(n, own.get(part) ?? 0);
      const theirs = words(name);
      const shared = [...theirs].filter((w) => ownWords.has(w)).length;
      const letters = (2 * same) / (size + name.length + 1);
      const ofWords = (2 * shared) / (ownWords.size + theirs.size || 1);
      return { name, like: 0.7 * letters + 0.3 * ofWords };
    })
    .filter((n) => n.like >= 0.35)
    .sort((a, b) => b.like - a.like || a.name.length - b.name.length)
    .slice(0, most)
    .map((n) => n.name);
}

const text = String.raw`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\`[^\`]*\``;

/** The expression with another metric instead of one. What stands in quotes stays. */
export function withName(expr: string, from: string, to: string): string {
  return expr.replace(new RegExp(`${text}|[a-zA-Z_:][a-zA-Z0-9_:]*`, "g"), (found) =>
    found === from ? to : found,
  );
}

/** The expression with another value of a label instead of one. */
export function withValue(expr: string, label: string, from: string, to: string): string {
  return expr.replace(
    new RegExp(`(${text})|(\\b${label}\\s*=\\s*)(${text})`, "g"),
    (all, quoted: string | undefined, before: string, value: string) =>
      quoted === undefined && valueOf(value) === from ? before + quote(to) : all,
  );
}

/** What a text in quotes says, as far as people write them by hand. */
function valueOf(quoted: string): string {
  const inner = quoted.slice(1, -1);
  return quoted.startsWith("`") ? inner : inner.replace(/\\(["'\\])/g, "$1");
}

/** A selector of an expression, as far as it says what must be there. */
export interface Wanted {
  metric: string; // empty if it names none
  labels: [name: string, value: string][];
}

/** A part of an expression's tree, as /api/v1/parse_query gives it. */
interface Part {
  type?: string;
  name?: string;
  matchers?: { name: string; type: string; value: string }[];
}

/** The selectors of a tree, each once. */
export function selectorsOf(tree: unknown): Wanted[] {
  const all = new Map<string, Wanted>();
  const walk = (part: unknown): void => {
    if (typeof part !== "object" || part === null) return;
    const { type, name, matchers = [] } = part as Part;
    if (type === "vectorSelector" || type === "matrixSelector") {
      const equal = matchers.filter((m) => m.type === "=" && m.value !== "");
      const wanted: Wanted = {
        metric: name || (equal.find((m) => m.name === "__name__")?.value ?? ""),
        labels: equal.filter((m) => m.name !== "__name__").map((m) => [m.name, m.value]),
      };
      all.set(JSON.stringify(wanted), wanted);
    }
    for (const child of Object.values(part)) walk(child);
  };
  walk(tree);
  return [...all.values()];
}
