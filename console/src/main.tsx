// The console: signs in, shows the page that the address names.
import { type ComponentType, render } from "preact";
import { useEffect, useErrorBoundary, useState } from "preact/hooks";
import { onSignIn, signedIn, takeKeyFromAddress } from "./api";
import { Failed, Loading } from "./faces";
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
  quiet: () => import("./pages/quiet").then((m) => m.QuietPage),
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

const asksAgain = 3000; // ms between two tries to load a page
const reloadedName = "ringwatch.reloaded";

/** Loads the console anew once the server has it: a browser may keep the failure of a part, and
 *  another version of the server has parts of other names. Once a minute at most. */
async function reload(): Promise<void> {
  const last = Number(sessionStorage.getItem(reloadedName) ?? 0);
  if (Date.now() - last < 60_000) return;
  const answer = await fetch("/", { cache: "no-store" });
  if (!answer.ok) return;
  sessionStorage.setItem(reloadedName, String(Date.now()));
  location.reload();
}

/** A page that comes later. While it cannot be loaded it is tried again and again. */
function Later({ name }: { name: string }) {
  const [, again] = useState(0);
  const [failed, setFailed] = useState(false);
  const [fault] = useErrorBoundary();
  useEffect(() => {
    let timer = 0;
    let left = false;
    const run = () =>
      load(name).then(
        () => {
          setFailed(false);
          again((n) => n + 1);
        },
        async () => {
          setFailed(true);
          await reload().catch(() => {});
          if (!left) timer = window.setTimeout(run, asksAgain);
        },
      );
    run();
    return () => {
      left = true;
      clearTimeout(timer);
    };
  }, [name]);
  const Page = pages[name];
  if (fault) return <Failed error={fault instanceof Error ? fault : new Error(String(fault))} />;
  if (Page) return <Page />;
  if (failed) {
    return (
      <p role="alert">
        This page could not be loaded: is the process api up? The console asks again by itself.
      </p>
    );
  }
  return <Loading what="the page" rows={6} />;
}

function App() {
  const { path } = usePlace();
  const [{ known, round, why, busy }, setNow] = useState(signedIn);
  useEffect(() => {
    const changed = () => setNow(signedIn());
    changed(); // it may have, before this listened
    return onSignIn(changed);
  }, []);
  if (!known) return <SignIn key={`${busy} ${why}`} />;
  const name = path[0] ?? "fleet";
  return (
    <Shell>
      {Object.hasOwn(pages, name) || Object.hasOwn(later, name) ? (
        <Later key={`${round} ${path.join("/")}`} name={name} />
      ) : (
        <p>
          This page does not exist. <a href="#/">Go to the fleet</a>
        </p>
      )}
    </Shell>
  );
}

takeKeyFromAddress();
// Also one that is pasted into a page that is open. It comes before usePlace hears of it.
window.addEventListener("hashchange", takeKeyFromAddress);
render(<App />, document.getElementById("app")!);
