// Adds a node: a key that is made on the spot, what to write where, and whether its first frame
// came.
import { useEffect, useRef, useState } from "preact/hooks";
import {
  ApiError,
  installation,
  type MadeKey,
  type Me,
  makeKey,
  me,
  type Node,
  nodes,
} from "../api";
import { useData, useNow } from "../data";
import { Shown, sentence } from "../faces";
import { nameOf } from "../kinds";
import { link, setParams, usePlace } from "../place";
import { states } from "../states";
import { length } from "../units";

/** What stands in the files, unless the address says otherwise. */
const usual = {
  jar: "/opt/ringwatch/ringwatch-agent.jar",
  config: "/etc/ringwatch/agent.yaml",
  key: "/etc/ringwatch/agent.key",
};

/** Stands where a key would be. */
const noKey = "rw_…";

/** The page. */
export function AddPage() {
  const { params } = usePlace();
  const who = useData("me", me, { every: 60_000 });
  const [made, setMade] = useState<MadeKey | null>(null);
  const here = useData("installation", installation, { every: 60_000, keep: true });
  const { tls, port } = here.value?.ingest ?? { tls: location.protocol === "https:", port: 9471 };
  const ingest = params.get("ingest") ?? `${tls ? "https" : "http"}://${location.hostname}:${port}`;
  return (
    <>
      <div class="page-head">
        <h1>Add a node</h1>
        <span class="dim">Cassandra 4.0 to 6.0 on Java 11 or later; one restart of the node</span>
      </div>
      <div class="steps">
        <div>
          <Shown data={who} what="what this key may do" rows={2}>
            {(mine) => <KeyStep mine={mine} made={made} setMade={setMade} />}
          </Shown>
          <Files
            ingest={ingest}
            source={here.value?.jar}
            keyText={made?.key ?? noKey}
            cluster={params.get("cluster") ?? ""}
          />
        </div>
        <Arrival />
      </div>
    </>
  );
}

/** Makes a key, or says how. */
function KeyStep({
  mine,
  made,
  setMade,
}: {
  mine: Me;
  made: MadeKey | null;
  setMade: (k: MadeKey | null) => void;
}) {
  const may = mine.scopes.includes("admin");
  const { params } = usePlace();
  const cluster = params.get("cluster") ?? "";
  const one = params.get("one") !== "no";
  const [name, setName] = useState(`node-${Date.now().toString(36)}`);
  const [error, setError] = useState<Error | null>(null);
  const [busy, setBusy] = useState(false);
  const submit = async (e: Event) => {
    e.preventDefault();
    if (busy) return;
    setBusy(true);
    setError(null);
    try {
      setMade(
        await makeKey({
          name: name.trim(),
          scopes: ["write"],
          ...(cluster && { clusters: [cluster] }),
          ...(one && { node: "first" }),
        }),
      );
    } catch (e) {
      setError(e instanceof Error ? e : new Error(String(e)));
    } finally {
      setBusy(false);
    }
  };
  const command =
    `ringwatch key create ${shell(name)} --account ${mine.account} --scopes write` +
    `${cluster ? ` --cluster ${shell(cluster)}` : ""}${one ? " --node first" : ""}`;
  return (
    <section class="panel step" aria-labelledby="step-key">
      <h2 id="step-key">
        <Number n={1} /> A key that may only write
      </h2>
      <form onSubmit={submit} class="add-form">
        <label class="field">
          name
          <input
            value={name}
            required
            pattern="[a-z0-9][a-z0-9\-]{0,62}"
            title="1 to 63 of a-z, 0-9 and -"
            disabled={made !== null}
            onInput={(e) => setName(e.currentTarget.value)}
          />
        </label>
        <label class="field">
          cluster
          <input
            value={cluster}
            placeholder="as Cassandra calls it"
            maxLength={63}
            disabled={made !== null}
            onInput={(e) => setParams({ cluster: e.currentTarget.value })}
          />
        </label>
        <label class="field">
          <input
            type="checkbox"
            checked={one}
            disabled={made !== null}
            onChange={(e) => setParams({ one: e.currentTarget.checked ? null : "no" })}
          />
          for one node only: the first that uses it
        </label>
        {may && !made && (
          <button type="submit" class="primary" disabled={busy}>
            {busy ? "Making the key …" : "Make the key"}
          </button>
        )}
      </form>
      {error && (
        <p class="error" role="alert">
          {sentence(error.message)}
          {error instanceof ApiError && error.status === 0 && " Press the button again."}
        </p>
      )}
      {made && (
        <div role="status" data-made={made.name}>
          <p>
            <span class="state up">
              <span aria-hidden="true">✓</span> made
            </span>{" "}
            <strong>{made.name}</strong>. The steps below contain it. Copy it now: it is not shown
            again once you leave this page.
            {made.networks.length > 0 && ` It may be used from ${made.networks.join(", ")} only.`}
            {made.expires && ` It ends at ${made.expires.slice(0, 16).replace("T", " ")} UTC.`}
          </p>
          <button type="button" onClick={() => another(setMade, setName)}>
            Make another key
          </button>
        </div>
      )}
      {!may && (
        <div data-may="no">
          <p>
            The key of this tab, <strong>{mine.key}</strong>, may not make keys: that needs the
            scope admin. Run this where the configuration of the roles is, and put the key in place
            of <code>{noKey}</code> below.
          </p>
          <Copied name="the command" text={command} />
        </div>
      )}
      <p class="dim">
        A key can be revoked at any time: <code>ringwatch key revoke {name}</code>
      </p>
    </section>
  );
}

function another(setMade: (k: null) => void, setName: (name: string) => void): void {
  setMade(null);
  setName(`node-${Date.now().toString(36)}`);
}

/** A word of a command line, whatever is in it. */
function shell(text: string): string {
  return /^[\w.*/-]+$/.test(text) && !/[*]/.test(text)
    ? text
    : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Text in YAML, whatever is in it: JSON's strings are YAML's. */
const yaml = (text: string) => JSON.stringify(text);

function Number({ n }: { n: number }) {
  return <span class="step-number">{n}</span>;
}

/** The jar, the two files and the line. */
function Files({
  ingest,
  source,
  keyText,
  cluster,
}: {
  ingest: string;
  source: string | undefined; // where the jar is beside the server, if that is known
  keyText: string;
  cluster: string;
}) {
  const { params } = usePlace();
  const asked = params.get("jar") ?? usual.jar;
  // It stands in lines for a shell, and whoever sends a link chooses it.
  const good = /^\/[\w./-]+$/.test(asked);
  const jar = good ? asked : usual.jar;
  const plain = /^[a-z]+:\/\/[^/]+$/i.test(ingest.replace(/\/+$/, ""));
  const authority = /^https:/i.test(ingest)
    ? "\n  # ca_file: /etc/ringwatch/ca.crt" +
      "   # if an authority of your own signed ingest's certificate"
    : "";
  const named =
    cluster && !cluster.includes("*")
      ? `\ncluster: ${yaml(cluster)}   # instead of the name in cassandra.yaml`
      : "";
  const text = `ingest:
  urls: [${yaml(ingest.replace(/\/+$/, ""))}]
  key_file: ${usual.key}${authority}
interval: 5s${named}
`;
  return (
    <>
      <section class="panel step" aria-labelledby="step-jar">
        <h2 id="step-jar">
          <Number n={2} /> The agent on the node
        </h2>
        <p>
          One jar, the same for all versions.{" "}
          {source ? (
            <>
              Beside this server it is <code>{source}</code>.
            </>
          ) : (
            <>
              It is in what was unpacked; <code>ringwatch agent-jar DIR</code> takes it out of an
              image or a package.
            </>
          )}{" "}
          Copy it to the node, where Cassandra's user can read it.
        </p>
        <label class="field">
          on the node
          <input
            class="mono long"
            value={asked}
            onInput={(e) => setParams({ jar: e.currentTarget.value })}
          />
        </label>
        {!good && (
          <p class="error" role="alert">
            Use a path such as {usual.jar}, of letters, digits, dots and dashes.
          </p>
        )}
        <Copied name="the copy" text={`scp ${source ?? "ringwatch-agent.jar"} NODE:${jar}`} />
      </section>
      <section class="panel step" aria-labelledby="step-config">
        <h2 id="step-config">
          <Number n={3} /> Its configuration
        </h2>
        <label class="field">
          ingest, as the node reaches it
          <input
            class="mono long"
            type="url"
            value={ingest}
            onInput={(e) => setParams({ ingest: e.currentTarget.value })}
          />
        </label>
        {plain && /\/\/(localhost|127\.|\[::1\])/.test(ingest) && (
          <p class="dim">Only a node on the same machine as ingest reaches this address.</p>
        )}
        {!plain && (
          <p class="error" role="alert">
            Write a URL such as https://ingest.example:9471.
          </p>
        )}
        <h3>
          <code>{usual.config}</code>
        </h3>
        <Copied name="the configuration" text={text} />
        <h3>
          <code>{usual.key}</code>
        </h3>
        <Copied name="the key" text={`${keyText}\n`} off={keyText === noKey} />
        <p class="dim">
          Give both to Cassandra's user, and the key to nobody else:{" "}
          <code>
            chown cassandra {usual.config} {usual.key} && chmod 600 {usual.key}
          </code>
        </p>
      </section>
      <section class="panel step" aria-labelledby="step-line">
        <h2 id="step-line">
          <Number n={4} /> One line for Cassandra's JVM
        </h2>
        <p>
          Add it to <code>jvm-server.options</code>, then restart the node:
        </p>
        <Copied name="the line" text={`-javaagent:${jar}=${usual.config}`} />
        <p>
          If the node has only <code>cassandra-env.sh</code>, add this line there:
        </p>
        <Copied
          name="the line for cassandra-env.sh"
          text={`JVM_OPTS="$JVM_OPTS -javaagent:${jar}=${usual.config}"`}
        />
        <p class="dim">
          Before the restart, <code>ringwatch doctor --agent-config {usual.config}</code> on the
          node checks everything. To remove the agent, remove this line first and the jar last.
        </p>
      </section>
    </>
  );
}

/** Text to copy. */
function Copied({ name, text, off }: { name: string; text: string; off?: boolean }) {
  const [said, setSaid] = useState("");
  const box = useRef<HTMLPreElement>(null);
  useEffect(() => setSaid(""), [text]);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setSaid("Copied");
    } catch {
      // Without https a browser lets no page write there: mark it, so that Ctrl-C copies it.
      const range = document.createRange();
      range.selectNodeContents(box.current!);
      getSelection()?.removeAllRanges();
      getSelection()?.addRange(range);
      setSaid("Selected: press Ctrl-C");
    }
  };
  return (
    <div class="copied">
      <pre ref={box} tabIndex={0} aria-label={name}>
        {text.trimEnd()}
      </pre>
      <button type="button" disabled={off} aria-label={`Copy ${name}`} onClick={copy}>
        {said || "Copy"}
      </button>
    </div>
  );
}

/** Whether a node in this state is down, or has left. */
const silent = (state: string) => state === "down" || !states.includes(state);

/** A node that has come since the page was opened, or has begun to send again. */
export function newNodes(before: Map<string, string>, now: Node[]): Node[] {
  return now.filter((n) => {
    if (!n.last_seen || silent(n.state)) return false;
    const state = before.get(n.id);
    return state === undefined || silent(state);
  });
}

/** Waits for the first frame of a node that was not there, or was silent, when the page was
 *  opened. */
function Arrival() {
  const list = useData("arrivals", (s) => nodes({}, s), { keep: true });
  const [before, setBefore] = useState<Map<string, string> | null>(null);
  const [began] = useState(Date.now);
  const [seen, setSeen] = useState<Node[]>([]);
  const now = useNow();
  useEffect(() => {
    if (!list.value) return;
    if (!before) {
      setBefore(new Map(list.value.map((n) => [n.id, n.state])));
      return;
    }
    const fresh = newNodes(before, list.value);
    // Who has come once stays, with what is known of it now.
    setSeen((old) => [...old.filter((n) => !fresh.some((f) => f.id === n.id)), ...fresh]);
  }, [list.value]);
  const were = before
    ? `${before.size} ${before.size === 1 ? "node was" : "nodes were"} there`
    : "…";
  return (
    <section class="panel step arrival" aria-labelledby="step-frame" data-arrived={seen.length}>
      <h2 id="step-frame">
        <Number n={5} /> Its first frame
      </h2>
      <div role="status" aria-live="polite">
        {seen.length === 0 ? (
          <p>
            <span class="waits" aria-hidden="true" /> Waiting for its first frame …
          </p>
        ) : (
          seen.map((n) => (
            <p class="arrived" key={n.id}>
              <span class="state up">
                <span aria-hidden="true">✓</span>{" "}
                <strong class="cut" title={nameOf(n)}>
                  {nameOf(n)}
                </strong>{" "}
                sends
              </span>{" "}
              <span class="cut" title={`${n.cluster} / ${n.datacenter} / ${n.rack}`}>
                {n.cluster} / {n.datacenter} / {n.rack}
              </span>{" "}
              <a href={link(["node", n.id])}>Look at the node</a>
            </p>
          ))
        )}
      </div>
      <p class="dim">
        {list.error && !list.value ? (
          sentence(list.error.message)
        ) : (
          <>
            {were} when this page was opened {length((now - began) / 1000)} ago. A node that was
            down and sends again counts too. The first frame comes some seconds after Cassandra has
            started. If it does not come, look in Cassandra's log for <code>ringwatch-agent:</code>.
          </>
        )}
      </p>
    </section>
  );
}
