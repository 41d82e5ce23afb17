// Says that nothing matches, and what was perhaps meant.
import { labelNames, labelValues, syntax } from "./api";
import { useData } from "./data";
import { Empty } from "./faces";
import { nearest, selectorsOf, type Wanted, withName, withValue } from "./near";
import { quote } from "./units";

/** What of an expression does not exist, and what is near it. */
interface Miss {
  text: string;
  near: [name: string, expr: string][]; // with the expression that has it
}

/** How many labels are looked up; more is slow, and seldom. */
const mostLabels = 4;

async function misses(expr: string, signal: AbortSignal): Promise<Miss[]> {
  const selectors = selectorsOf(await syntax(expr, signal));
  const names = await labelValues("__name__", undefined, signal);
  const known = new Set(names);
  const out: Miss[] = [];
  for (const wanted of selectors) {
    const { metric } = wanted;
    if (!metric) continue;
    if (known.has(metric)) {
      out.push(...(await missingLabels(expr, wanted, signal)));
      continue;
    }
    out.push({
      text: `There is no metric ${metric}.`,
      near: nearest(metric, names).map((n) => [
        n,
        withValue(withName(expr, metric, n), "__name__", metric, n),
      ]),
    });
  }
  return out;
}

async function missingLabels(
  expr: string,
  { metric, labels }: Wanted,
  signal: AbortSignal,
): Promise<Miss[]> {
  const match = `{__name__=${quote(metric)}}`;
  const out: Miss[] = [];
  for (const [label, value] of labels.slice(0, mostLabels)) {
    const values = await labelValues(label, match, signal);
    if (values.includes(value)) continue;
    if (values.length === 0) {
      const has = await labelNames(match, signal);
      const list = has.filter((l) => l !== "__name__").join(", ");
      out.push({ text: `${metric} has no label ${label}. It has ${list}.`, near: [] });
      continue;
    }
    const near = nearest(value, values);
    out.push({
      text: `${metric} has no ${label}=${quote(value)}.`,
      // Where nothing is like it, what there is helps as much.
      near: (near.length > 0 ? near : values.slice(0, 5)).map((v) => [
        v,
        withValue(expr, label, value, v),
      ]),
    });
  }
  return out;
}

/** Stands where an expression has no series. A click on a near name runs the expression with it. */
export function Nothing({
  expr,
  when,
  use,
}: {
  expr: string;
  when: string;
  use: (expr: string) => void;
}) {
  const { value } = useData(`nothing ${expr}`, (s) => misses(expr, s), { every: 60_000 });
  return (
    <Empty>
      Nothing matches{when}.
      {value?.map((miss) => (
        <div class="miss" key={miss.text}>
          <p>
            {miss.text} {miss.near.length > 0 && "Did you mean:"}
          </p>
          <ul class="near-names">
            {miss.near.map(([name, next]) => (
              <li key={name}>
                <button type="button" onClick={() => use(next)}>
                  <code>{name}</code>
                </button>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </Empty>
  );
}
