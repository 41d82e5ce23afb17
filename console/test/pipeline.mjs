// The pages Pipeline and Add a node, against the API that they read.
import { number } from "./read.mjs";

/** The text of a number in a hop's card. */
const figure = (page, hop, name) =>
  page.locator(`[data-hop="${hop}"] [data-figure="${name}"]`).first().innerText();

/** The number that a text such as 1.23/s or 12.3 k begins with. */
function size(text) {
  const [, digits, unit] = /^([\d.,]+) ?(k|M|G)?/.exec(text) ?? [];
  return (
    (Number((digits ?? "NaN").replaceAll(",", "")) * { k: 1e3, M: 1e6, G: 1e9 }[unit ?? "k"]) /
    (unit ? 1 : 1e3)
  );
}

export const tests = {
  "the pipeline's hops carry what PromQL says, and each ledger is whole": async (page, t) => {
    await t.open("#/pipeline?range=15m");
    for (const hop of ["agents", "ingest", "kafka", "store", "recent", "rules", "api"]) {
      await page.locator(`article[data-hop="${hop}"]`).waitFor();
    }
    const expr = "sum(rate(ringwatch_store_frames_written_total[80s]))";
    await t.until(async () => {
      const values = await t.lately(expr);
      const shown = size(await figure(page, "store", "out"));
      return shown > 0 && t.isOf(shown, values, 0.1);
    }, "the store's rate on the page and in PromQL");
    // A frame may be on its way at the instant of a look.
    await t.until(
      async () => (await figure(page, "store", "waiting")) === "0",
      "no frame waits for the store",
    );
    await page.locator('table tr[data-hop="store"] td').first().waitFor();
    for (const hop of ["agents", "ingest", "kafka", "store"]) {
      const cells = await page.locator(`table tr[data-hop="${hop}"] td`).allInnerTexts();
      const [accepted, forwarded, dropped] = cells.map(size);
      t.ok(accepted > 0, `${hop} has accepted ${cells[0]}`);
      t.near(accepted, forwarded + dropped, 0.1);
    }
  },

  "the hops are asked for in a handful of selectors, and a quantile is PromQL's": async (
    page,
    t,
  ) => {
    const asked = new Set();
    page.on("request", (r) => {
      const expr = new URLSearchParams(r.postData() ?? "").get("query") ?? "";
      const hops = r.url().endsWith("/api/v1/query") && /ringwatch_agent_frames/.test(expr);
      if (hops) asked.add(expr);
    });
    await t.open("#/pipeline?range=15m");
    await t.until(async () => asked.size >= 2, "the hops and the ledger are asked for");
    for (const expr of asked) {
      const tree = await t.get(`/api/v1/parse_query?${new URLSearchParams({ query: expr })}`);
      const selectors = JSON.stringify(tree.data).match(/"type":"vectorSelector"/g).length;
      t.ok(selectors <= 6, `${selectors} selectors: ${expr}`);
    }
    const expr = "histogram_quantile(0.99, sum(rate(ringwatch_ingest_seconds[80s])))";
    await t.until(async () => {
      const values = await t.lately(expr);
      const shown = number(await figure(page, "ingest", "answered, p99"));
      return shown > 0 && t.isOf(shown, values, 0.25); // a bucket is a fifth
    }, "the quantile on the page and in PromQL");
  },

  "the pipeline names each process": async (page, t) => {
    await t.open("#/pipeline");
    const table = page.getByRole("table", { name: "Processes of Ringwatch" });
    await table.waitFor();
    for (const { metric } of await t.query("ringwatch_process_up == 1")) {
      t.ok((await table.innerText()).includes(metric.instance), `${metric.instance} is listed`);
    }
  },

  "the pipeline shows who asks to a key with the scope admin": async (page, t) => {
    const { scopes } = await t.get("/v1/me");
    await t.open("#/pipeline");
    const share = scopes.includes("admin") ? "shown" : "hidden";
    await page.locator(`[data-share="${share}"]`).waitFor();
  },

  "a key without admin is told how to get one": async (page, t) => {
    await page.route("**/v1/me", async (route) => {
      const answer = await route.fetch();
      await route.fulfill({ json: { ...(await answer.json()), scopes: ["read"] } });
    });
    await t.open("#/add");
    await page.locator('[data-may="no"]').waitFor();
    t.equal(await page.getByRole("button", { name: "Make the key" }).count(), 0);
    const command = await page.getByLabel("the command", { exact: true }).innerText();
    t.ok(command.startsWith("ringwatch key create "), command);
    await t.open("#/pipeline");
    await page.locator('[data-share="hidden"]').waitFor();
    await page.unrouteAll({ behavior: "wait" });
  },

  "add a node: a key is made, stands in the file, and its first frame turns the page green": async (
    page,
    t,
  ) => {
    const cluster = `"><img src=x onerror=alert(1)>`;
    await t.open(`#/add?cluster=${encodeURIComponent(cluster)}`);
    await page.getByText("Waiting for its first frame").waitFor();
    await page.getByRole("button", { name: "Make the key" }).click();
    await page.locator("[data-made]").waitFor();
    const key = (await page.getByLabel("the key", { exact: true }).innerText()).trim();
    t.ok(/^rw_\w{10}_\w{43}$/.test(key), "the key is whole");
    const config = await page.getByLabel("the configuration", { exact: true }).innerText();
    t.ok(config.includes(JSON.stringify(cluster)), config);
    t.equal(await page.locator("main img").count(), 0);
    // A node that was not there: the list of nodes gets one more.
    await page.route("**/v1/nodes", async (route) => {
      const answer = await route.fetch();
      const list = await answer.json();
      const id = "00000000-0000-4000-8000-000000000001";
      const last_seen = new Date().toISOString();
      const fresh = { ...list[0], id, address: cluster, state: "up", last_seen };
      await route.fulfill({ json: [...list, fresh] });
    });
    await page.locator('[data-arrived="1"]').waitFor();
    t.ok((await page.locator(".arrived").innerText()).includes(cluster), "its address is shown");
    t.equal(await page.locator("main img").count(), 0);
    await page.unrouteAll({ behavior: "wait" });
  },
};
