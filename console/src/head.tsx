// What stands above the charts of a node or a cluster: its name, its state, its facts.
import type { ComponentChildren } from "preact";
import type { Node } from "./api";
import { State } from "./faces";
import type { Finding } from "./hurts";
import { lastOf, nameOf, silent, watched } from "./kinds";
import { happened } from "./left";
import { link } from "./place";
import { wordOf } from "./states";
import { stamp } from "./time";
import { length } from "./units";

/** The head of a node's page. */
export function NodeHead({ node, children }: { node: Node; children?: ComponentChildren }) {
  return (
    <div class="page-head">
      <span class="crumbs dim">
        <a href={link(["fleet"])}>Fleet</a> /{" "}
        <a href={link(["cluster", node.cluster])}>{node.cluster}</a> / node
      </span>
      <h1 class="name" title={nameOf(node)}>
        {nameOf(node)}
      </h1>
      <State state={node.state} />
      <span class="dim" data-age>
        {node.age_seconds === undefined
          ? "no data yet"
          : `newest data ${length(node.age_seconds)} old`}
      </span>
      {children}
    </div>
  );
}

/** Why the state is not up. */
export function stateOf(node: Node): Finding[] {
  const out: Finding[] = [];
  const age = node.age_seconds === undefined ? "" : ` for ${length(node.age_seconds)}`;
  if (node.left) {
    const text =
      `It was ${happened(node, [])}, and no alert is about it. ` + "If it sends again it is back.";
    out.push({ severity: "warning", name: "The node has left", text });
  }
  if (silent(node)) {
    const why = watched(node)
      ? "Ringwatch's role watch, which reads it, is down or cut off, or reads it no more."
      : "The node is down or cut off, or its agent has stopped.";
    out.push({
      severity: "critical",
      name: "The node is silent",
      text: `No data has come${age}. ${why}`,
    });
  }
  if (node.state === "paused") {
    const since = stamp(Date.parse(node.paused_since ?? "") / 1000);
    const text =
      `Its agent.yaml says paused: true, and the agent reads nothing since ${since}. The node ` +
      "runs, no more is known of it, and no alert is about it. Remove the line to go on.";
    out.push({ severity: "warning", name: "The agent is paused", text });
  }
  if (node.why) {
    const severity = node.state === "not_serving" ? "warning" : "info";
    out.push({ severity, name: `The node is ${wordOf(node.state)}`, text: node.why });
  }
  if (node.state === "late") {
    const text = `No data has come${age}. The node sends every ${length(node.interval_ms / 1000)}.`;
    out.push({ severity: "warning", name: "The node is late", text });
  }
  if (node.claimed_by_several) {
    const text =
      "Several senders have sent frames of this node within 15 minutes. " +
      "Some of these values may be another machine's. Stop the wrong sender.";
    out.push({ severity: "warning", name: "Several senders", text });
  }
  return out;
}

/** The values of a node. The last ones of a silent or paused node are grey, and say of when they
 *  are. */
export function Values({ of, children }: { of: Node; children: ComponentChildren }) {
  const last = lastOf(of);
  if (!last) return <>{children}</>;
  return (
    <>
      <p class="old-note">
        <span aria-hidden="true">◷</span> The last values of {nameOf(of)}, {last}.
      </p>
      <div class="last">{children}</div>
    </>
  );
}

/** A fact: its name, what it is, and all of it if that was cut. */
export type Fact = [name: string, text: string, title?: string];

/** Facts in words; those of which nothing is known are left out. */
export function Facts({ list, children }: { list: Fact[]; children?: ComponentChildren }) {
  return (
    <dl class="facts" aria-label="Facts">
      {list
        .filter(([, text]) => text)
        .map(([name, text, title]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd title={title ?? text}>{text}</dd>
          </div>
        ))}
      {children}
    </dl>
  );
}
