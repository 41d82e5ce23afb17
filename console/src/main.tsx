// The console: signs in, shows the page that the address names.
import { type ComponentType, render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { key, onKey, takeKeyFromAddress } from "./api";
import { Loading } from "./faces";
import { AddPage } from "./pages/add";
import { AlertsPage } from "./pages/alerts";
import { ClusterPage } from "./pages/cluster";
import { FleetPage } from "./pages/fleet";
import { NodePage } from "./pages/node";
import { PipelinePage } from "./pages/pipeline";
import { TablesPage } from "./pages/tables";
import { usePlace } from "./place";
import { Shell, SignIn } from "./shell";

/** Explore brings an editor that is larger than the rest together, so it comes when it is opened. */
function Later() {
  const [Page, set] = useState<ComponentType | null>(null);
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    import("./pages/explore").then(
      (m) => set(() => m.ExplorePage),
      () => setFailed(true),
    );
  }, []);
  if (failed) return <p role="alert">Explore could not be loaded: reload the page.</p>;
  return Page ? <Page /> : <Loading what="the editor" />;
}

const pages: Record<string, ComponentType> = {
  fleet: FleetPage,
  cluster: ClusterPage,
  node: NodePage,
  tables: TablesPage,
  explore: Later,
  alerts: AlertsPage,
  pipeline: PipelinePage,
  add: AddPage,
};

function App() {
  const { path } = usePlace();
  const [known, setKnown] = useState(key);
  useEffect(() => onKey(() => setKnown(key())), []);
  if (!known) return <SignIn />;
  const Page = pages[path[0] ?? "fleet"];
  return (
    <Shell>
      {Page ? (
        <Page key={`${known} ${path.join("/")}`} />
      ) : (
        <p>
          There is no such page. <a href="#/">Go to the fleet</a>
        </p>
      )}
    </Shell>
  );
}

takeKeyFromAddress();
render(<App />, document.getElementById("app")!);
