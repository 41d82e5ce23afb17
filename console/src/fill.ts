// Commands of runbooks with an alert's labels in the place of the words that stand for them.
import type { Labels } from "./api";

/** Words that stand for labels, and the names that the labels may have. */
const words: Record<string, string[]> = {
  CLUSTER: ["cluster"],
  NODE: ["node"],
  KEYSPACE: ["keyspace"],
  TABLE: ["table"],
  GROUP: ["group", "consumergroup"],
  TOPIC: ["topic"],
  BROKER: ["broker"],
  INSTANCE: ["instance"],
};

// Labels come from whoever sends: what a shell or PromQL would take for more than text stays out.
const harmless = /^[\w .:@%+=,/[\]()-]*$/;
const bare = /^[\w.:@%+=,/-]+$/;

/** A command or an expression of a runbook, filled in as far as the labels say. */
export function filled(code: string, labels: Labels): string {
  const value = (names: string[]) => {
    const found = names.map((n) => labels[n]).find(Boolean) ?? "";
    return harmless.test(found) && !found.startsWith("-") ? found : "";
  };
  const [, host = "", port = ""] = /^([\w.-]+):(\d+)$/.exec(value(["instance"])) ?? [];
  const node = value(["node"]);
  let text = code;
  if (host && !host.startsWith("-")) {
    text = text
      .replace(/\bHOST:6379\b/g, `${host}:${port}`)
      .replace(/-h HOST (?!-p)/g, port === "6379" ? `-h ${host} ` : `-h ${host} -p ${port} `)
      .replace(/-h HOST\b/g, `-h ${host}`);
  }
  if (bare.test(node)) text = text.replace(/\bnode forget ADDRESS\b/g, `node forget ${node}`);
  return text.replace(/(ALTER )?\b([A-Z]+)\b/g, (all, statement, word: string, at: number) => {
    const label = statement || !Object.hasOwn(words, word) ? "" : value(words[word]!);
    if (!label) return all;
    const quoted = (text.slice(text.lastIndexOf("\n", at) + 1, at).match(/"/g) ?? []).length % 2;
    return quoted || bare.test(label) ? label : `'${label}'`;
  });
}

/** The labels that all of these have. */
export function shared(list: Labels[]): Labels {
  const [first, ...others] = list;
  return Object.fromEntries(
    Object.entries(first ?? {}).filter(([n, v]) => others.every((l) => l[n] === v)),
  );
}
