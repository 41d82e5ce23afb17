// The console: signs in, shows the page that the address names.
import { type ComponentType, render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { key, onKey, takeKeyFromAddress } from "./api";
import { Loading } from "./faces";
import { FleetPage } from "./pages/fleet";
import { usePlace } from "./place";
import { Shell, SignIn } from "./shell";

/** The pages. That of the fleet comes with the console; the others come when they are opened, or
 *  when there is nothing else to do. Explore's editor is larger than the rest together, so it
 *  waits. */
const later: Record<string, () => Promise<ComponentType>> = {
  cluster: () => import("./pages/cluster").then((m) => m.ClusterPage),
  node: () => import("./pages/node").then((m) => m.NodePage),
  tables: () => import("./pages/tables").then((m) => m.TablesPage),
  activity: () => import("./pages/activity").then((m) => m.ActivityPage),
  events: () => import("./pages/events").then((m) => m.EventsPage),
  alerts: () => import("./pages/alerts").then((m) => m.AlertsPage),
  pipeline: () => import("./pages/pipeline").then((m) => m.PipelinePage),
  add: () => import("./pages/add").then((m) => m.AddPage),
  explore: () => import("./pages/explore").then((m) => m.ExplorePage),
};
const pages: Record<string, ComponentType> = { fleet: FleetPage };

async function load(name: string): Promise<void> {
  pages[name] ??= await later[name]!();
}

/** Brings the other pages while nobody waits: an API that is away later does not keep them away. */
async function loadRest(): Promise<void> {
  for (const name of Object.keys(later)) if (name !== "explore") await load(name).catch(() => {});
}
window.setTimeout(() => window.requestIdleCallback?.(loadRest) ?? loadRest(), 3000);

/** A page that comes later. */
function Later({ name }: { name: string }) {
  const [, again] = useState(0);
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    setFailed(false);
    load(name).then(
      () => again((n) => n + 1),
      () => setFailed(true),
    );
  }, [name]);
  const Page = pages[name];
  if (Page) return <Page />;
  if (failed) return <p role="alert">This page could not be loaded. Reload it.</p>;
  return <Loading what="the page" rows={6} />;
}

function App() {
  const { path } = usePlace();
  const [known, setKnown] = useState(key);
  useEffect(() => onKey(() => setKnown(key())), []);
  if (!known) return <SignIn />;
  const name = path[0] ?? "fleet";
  return (
    <Shell>
      {Object.hasOwn(pages, name) || Object.hasOwn(later, name) ? (
        <Later key={`${known} ${path.join("/")}`} name={name} />
      ) : (
        <p>
          This page does not exist. <a href="#/">Go to the fleet</a>
        </p>
      )}
    </Shell>
  );
}

takeKeyFromAddress();
render(<App />, document.getElementById("app")!);
