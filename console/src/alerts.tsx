// Alerts and rules as pages show them.
import { type ComponentChildren } from "preact";
import { advice, type Alert, type RuleGroup } from "./api";
import { useData, useNow } from "./data";
import { Severity } from "./faces";
import { useNames } from "./names";
import { link } from "./place";
import { QuietButton } from "./quiet-open";
import { QuietMark, Why } from "./quiet-notes";
import { useQuiet } from "./silences";
import { stamp, useUTC } from "./time";
import { format, length, number } from "./units";
import { type Fired, keyOf, placeOf, type Watched } from "./watch";

/** What is known of rules. An API whose configuration names other rule files than that of the role
 *  rules has alerts of rules that it does not list. */
export interface Known {
  groups: RuleGroup[];
  alerts: Alert[];
}

/** An alert's state, with a shape of its own beside its colour. */
export function AlertState({ state }: { state: string }) {
  const signs: Record<string, string> = { firing: "●", pending: "◐", inactive: "○" };
  const looks: Record<string, string> = { firing: "down", pending: "late", inactive: "" };
  return (
    <span class={`state ${looks[state] ?? ""}`}>
      <span aria-hidden="true">{signs[state] ?? "?"}</span> {state}
    </span>
  );
}

/** Alerts with all that they say. */
export function AlertList({ list }: { list: Fired[] }) {
  const now = useNow(5000);
  const isUTC = useUTC();
  const names = useNames(
    undefined,
    list.some(({ alert }) => alert.labels.node),
  );
  const firing = list.some(({ alert }) => alert.state === "firing");
  const quiet = useQuiet().value;
  const said = useData(firing ? "advice" : null, advice, { every: 30_000 }).value ?? [];
  const words = new Map(said.map((a) => [keyOf(a.labels), a.text]));
  return (
    <ul class="alert-list">
      {list.map(({ alert, of }) => {
        const { alertname, severity, cluster, datacenter, rack, node, ...more } = alert.labels;
        const { summary, description, address, ...rest } = alert.annotations;
        const since = Date.parse(alert.activeAt) / 1000;
        const id = keyOf(alert.labels);
        const hush = alert.state === "firing" ? quiet?.of(alert.labels) : undefined;
        return (
          <li
            key={of ? `${of.file} ${of.group} ${of.n} ${id}` : id}
            class={`alert-item ${severity ?? ""} ${hush ? "hushed" : ""}`}
            data-alert={alertname}
          >
            <div class="alert-head">
              <AlertState state={alert.state} />
              {hush && <QuietMark />}
              <Severity name={severity ?? ""} />
              {of ? (
                <a class="alert-name" href={link(...placeOf(of, alert.labels))}>
                  {alertname}
                </a>
              ) : (
                <span class="alert-name" title="The API does not know which file its rule is in">
                  {alertname}
                </span>
              )}
              <span class="dim" title={stamp(since, isUTC)}>
                for {length(now / 1000 - since)}, since {stamp(since, isUTC)}
              </span>
              <span class="alert-value" title={alert.value}>
                value <strong>{format(number(alert.value))}</strong>
              </span>
              <QuietButton
                of={{
                  ...(cluster && { cluster }),
                  ...(node && { node }),
                  ...(alertname && { alert: alertname }),
                }}
                what={[alertname, node && (names.get(node) ?? node)].filter(Boolean).join(" of ")}
              />
            </div>
            {hush && <Why of={hush} labels={alert.labels} names={names} />}
            {summary && <p class="alert-summary">{summary}</p>}
            {description && <p class="dim">{description}</p>}
            {alert.state === "firing" && words.has(id) && (
              <p class="alert-advice">{words.get(id)}</p>
            )}
            <p class="alert-labels">
              {cluster && (
                <Label name="cluster">
                  <a href={link(["cluster", cluster])}>{cluster}</a>
                </Label>
              )}
              {node && (
                <Label name="node">
                  <a href={link(["node", node])} title={node}>
                    {names.get(node) ?? (address || node)}
                  </a>
                </Label>
              )}
              {Object.entries({ datacenter, rack, ...more }).map(
                ([n, v]) =>
                  v && (
                    <Label name={n} key={n}>
                      {v}
                    </Label>
                  ),
              )}
              {Object.entries(rest).map(
                ([n, v]) =>
                  n !== "runbook_url" && (
                    <Label name={n} key={`annotation ${n}`}>
                      {v}
                    </Label>
                  ),
              )}
            </p>
          </li>
        );
      })}
    </ul>
  );
}

/** A label with its name. */
export function Label({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <span class="label">
      <span class="dim">{name}</span> {children}
    </span>
  );
}

/** A rule's health in words, with a shape. */
export function Health({ of }: { of: string }) {
  if (of === "err") return <span class="bad-value">▲ fails</span>;
  return of === "ok" ? <span>✓ ok</span> : <span class="dim">? not evaluated</span>;
}

/** When a rule was evaluated, in seconds; NaN: never. */
export function evaluated(w: Watched): number {
  const at = Date.parse(w.rule.lastEvaluation) / 1000;
  return at > 0 ? at : Number.NaN;
}
