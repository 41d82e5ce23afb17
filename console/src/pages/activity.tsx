// What nodes do and who they do it for: tasks, repairs, clients, slow queries.
import type { ComponentType } from "preact";
import type { Of } from "../activity";
import { Clients } from "../clients";
import { useOf, Whose } from "../parts";
import { link, usePlace } from "../place";
import { Repairs } from "../repairs";
import { SlowQueries } from "../slow";
import { Tasks } from "../tasks";

const views: [id: string, name: string, View: ComponentType<{ of: Of }>][] = [
  ["tasks", "Tasks", ({ of }) => <Tasks of={of} filtered />],
  ["repairs", "Repairs", Repairs],
  ["clients", "Clients", Clients],
  ["queries", "Slow queries", SlowQueries],
];

/** The page. */
export function ActivityPage() {
  const view = usePlace().params.get("view");
  const of = useOf();
  const [here, , View] = views.find(([id]) => id === view) ?? views[0]!;
  return (
    <>
      <div class="page-head">
        <h1>Activity</h1>
        <nav class="views" aria-label="Activity">
          {views.map(([id, name], i) => (
            <a
              key={id}
              href={link(["activity"], {
                view: i > 0 ? id : null,
                cluster: of.cluster || null,
                node: of.node || null,
              })}
              aria-current={here === id ? "page" : undefined}
            >
              {name}
            </a>
          ))}
        </nav>
        <span class="head-link fields">
          <Whose of={of} ofNodes={here !== "repairs"} />
        </span>
      </div>
      <View of={of} key={here} />
    </>
  );
}
