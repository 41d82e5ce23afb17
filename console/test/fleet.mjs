// The fleet's page, and what holds on every page.
import { cutTexts } from "./read.mjs";

export const tests = {
  "nodes are there with their figures": async (page, t) => {
    await t.open("#/fleet");
    const [node] = await t.get("/v1/nodes");
    const row = page.getByRole("row").filter({ hasText: node.address });
    t.ok((await row.textContent()).includes(node.state), "the state is another");
    await t.until(async () => {
      const shown = await row.locator('[role="cell"]').nth(7).textContent();
      const [{ value }] = await t.query(
        `100 * max(1 - os_filesystem_available_bytes{node="${t.node}"} / os_filesystem_size_bytes)`,
      );
      t.near(Number.parseFloat(shown), Number(value[1]), 0.02);
      return true;
    }, "the disk that the API says");
  },

  "filters are in the address": async (page, t) => {
    await t.open("#/fleet");
    await page.getByPlaceholder("Filter: name, cluster, rack").fill("nobody");
    await page.getByText("No node is like that.").waitFor();
    t.ok(page.url().includes("q=nobody"), page.url());
    await page.reload();
    await page.getByText("No node is like that.").waitFor();
    await page.getByRole("button", { name: "Show all" }).click();
    await page.getByRole("row").filter({ hasText: t.cluster }).first().waitFor();
  },

  "an API that is away leaves the last data with its age": async (page, t) => {
    await t.open("#/fleet");
    await page.route(/\/v1\/nodes$/, (route) => route.abort());
    await page.getByText(/As of .* ago\. The API does not answer/).waitFor();
    await page.getByRole("row").filter({ hasText: t.cluster }).first().waitFor();
    await page.unroute(/\/v1\/nodes$/);
    await page.getByText(/As of .* ago/).waitFor({ state: "detached" });
  },

  "on a phone nothing of the fleet is cut, and the legend's signs stand beside their words": async (
    page,
    t,
  ) => {
    // The harness has one node, which is up: the answers are those of three.
    const states = ["down", "late", "up"];
    const node = (await t.get("/v1/nodes")).find((n) => n.id === t.node);
    await page.route(/\/v1\/nodes$/, (route) =>
      route.fulfill({
        json: states.map((state, i) => {
          const address = `192.168.100.${100 + i}:7000`;
          const facts = { ...node.facts, hostname: `cassandra-${i}` };
          return { ...node, id: `phone-${i}`, address, facts, state };
        }),
      }),
    );
    await page.route("**/api/v1/alerts", (route) => {
      const alert = { annotations: {}, activeAt: new Date().toISOString(), value: "1" };
      const labels = { alertname: "Waits", severity: "warning", node: "phone-2" };
      const alerts = [{ ...alert, labels, state: "pending" }];
      return route.fulfill({ json: { status: "success", data: { alerts } } });
    });
    await page.route("**/api/v1/query", (route) => {
      const values = ["0.2571", "0.00809", "84.4", "55.5"];
      const result = states.flatMap((_, i) =>
        values.map((v, q) => ({
          metric: { node: `phone-${i}`, q: String(q) },
          value: [Date.now() / 1000, v],
        })),
      );
      return route.fulfill({
        json: { status: "success", data: { resultType: "vector", result } },
      });
    });
    await t.open("#/fleet");
    const rows = page.getByRole("table", { name: "Nodes, worst first" }).locator(".table-row");
    for (const text of ["down", "late", "pending", "257 ms", "84.4 %"]) {
      await rows.getByText(text).first().waitFor();
    }
    const tile = page.getByRole("button", { name: /with alerts/ });
    t.equal((await tile.innerText()).replace(/\s+/g, " "), "0 with alerts"); // one is pending
    t.equal(await rows.filter({ hasText: "down" }).locator(".bad-value").count(), 0);
    t.equal(await rows.filter({ hasText: "cassandra-2" }).locator(".bad-value").count(), 1);
    const cut = await cutTexts(page, true);
    t.ok(cut.length === 0, `cut: ${cut.join(", ")}`);
    const torn = await page.locator(".scale-ramp, .scale-key").evaluateAll((list) =>
      list
        .filter((e) => {
          const parts = [...e.children].map((c) => c.getBoundingClientRect());
          const middles = parts.map((r) => (r.top + r.bottom) / 2);
          return Math.max(...middles) - Math.min(...middles) > 2;
        })
        .map((e) => e.textContent),
    );
    t.ok(torn.length === 0, `on several lines: ${torn.join(", ")}`);
    t.equal(await page.locator(".scale-key").count(), 2);
    // A row's height is the same in the style sheet and in the code that leaves out rows.
    const heights = await rows.evaluateAll((list) => list.map((e) => e.offsetHeight));
    const room = await page.locator(".table-body").evaluate((e) => e.clientHeight);
    t.equal(heights.reduce((a, b) => a + b) + 2, room);
  },

  "a tab that is hidden asks for nothing": async (page, t) => {
    await t.open("#/fleet");
    await page.evaluate(() => {
      Object.defineProperty(document, "hidden", { get: () => true });
    });
    let asked = 0;
    page.on("request", (r) => {
      // The other pages' code may still come; it is asked for once.
      if (!new URL(r.url()).pathname.startsWith("/assets/")) asked++;
    });
    // Meanwhile another tab, which is seen, asks several times.
    const other = await page.context().newPage();
    let asks = 0;
    other.on("request", (r) => {
      if (r.url().endsWith("/v1/nodes")) asks++;
    });
    await other.goto(`${t.base}/#key=${t.key}`);
    await t.until(() => asks > 0, "another tab asks");
    asked = 0; // what was under way has ended
    await t.until(() => asks > 3, "another tab asks again");
    t.equal(asked, 0);
  },

  "everything by keyboard": async (page, t) => {
    await t.open("#/fleet");
    // Metrics have such names, too, and are known first: the cluster is what Enter opens.
    const metrics = page.waitForResponse((r) => r.url().includes("/api/v1/metadata"));
    await page.route("**/v1/clusters*", async (route) => {
      await metrics;
      await page.waitForTimeout(500); // a page that shows them does so by then
      await route.continue();
    });
    await page.keyboard.press("/");
    await page.keyboard.type(t.cluster.slice(0, 6));
    await page.getByRole("option").first().waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL((u) => u.hash.startsWith(`#/cluster/${t.cluster}`));
    await page.keyboard.press("?");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    // The second key counts for 1.5 s after the first, and a machine may be slower than that.
    await t.until(async () => {
      await page.keyboard.press("g");
      await page.keyboard.press("f");
      return new URL(page.url()).hash.startsWith("#/fleet");
    }, "g f");
    // Tab reaches the node's row, and Enter opens it.
    await t.settle("#/fleet");
    const reached = async () =>
      page.evaluate(() => document.activeElement?.classList.contains("row-link"));
    for (let i = 0; i < 60 && !(await reached()); i++) await page.keyboard.press("Tab");
    t.ok(await reached(), "Tab does not reach a node");
    const outline = await page.evaluate(
      () => getComputedStyle(document.activeElement, "::after").outlineStyle,
    );
    t.equal(outline, "solid");
    await page.keyboard.press("Enter");
    await page.waitForURL((u) => u.hash.startsWith("#/node/"));
  },

  "another account's key sees nothing of this one": async (page, t) => {
    await t.open("#/fleet");
    await page.getByText("No node has sent anything yet.").waitFor();
    await t.open(`#/cluster/${t.cluster}`);
    const text = await page.locator("main").textContent();
    t.ok(!text.includes("127.0.0.1"), text.slice(0, 300));
    await t.open(`#/node/${t.node}`);
    t.ok(!(await page.locator("main").textContent()).includes("127.0.0.1"), "the node is seen");
  },

  "a wrong key is told so, and the key leaves the address": async (page, t) => {
    t.ok(!page.url().includes("rw_"), page.url());
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("API key").fill("rw_nobodyhasthiskeynobodyhasthiskey");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").waitFor();
    await page.getByLabel("API key").fill(t.key);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("row").filter({ hasText: t.cluster }).first().waitFor();
    t.equal(await page.evaluate(() => JSON.stringify(localStorage).includes("rw_")), false);
  },
};

export const options = {
  "on a phone nothing of the fleet is cut, and the legend's signs stand beside their words": {
    width: 380,
  },
  "a tab that is hidden asks for nothing": { own: true },
  "everything by keyboard": { own: true },
  "another account's key sees nothing of this one": { key: process.env.EMPTY_KEY },
  "a wrong key is told so, and the key leaves the address": { own: true },
};
