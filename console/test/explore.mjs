// Explore: what is typed runs, its values are the API's, its faults stand at the box.

import { URLSearchParams } from "node:url";
import { cutTexts } from "./read.mjs";

const box = (page, letter) => page.getByRole("textbox", { name: `Expression ${letter}, PromQL` });

/** Takes a completion; asks for it again where the API was away. */
async function complete(page, t, name) {
  const option = page.getByRole("option", { name }).first();
  await t.until(async () => {
    if (await option.isVisible()) return true;
    await page.keyboard.press("Control+Space");
    await page.waitForTimeout(1000);
    return false;
  }, `the completion ${name}`);
  await option.click();
}

/** What is in the clipboard after a button was pressed. The page says so for two seconds only,
 *  which a slow machine may not see. */
async function copied(page, t, name) {
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.evaluate(() => globalThis.navigator.clipboard.writeText(""));
  await page.getByRole("button", { name }).first().click();
  const read = () => page.evaluate(() => globalThis.navigator.clipboard.readText());
  await t.until(async () => (await read()) !== "", `${name} copies`);
  return read();
}

const open = (exprs, more = {}) => {
  const all = new URLSearchParams(more);
  for (const e of exprs) all.append("expr", e);
  return `#/explore?${all}`;
};

export const tests = {
  "what is typed runs with Shift+Enter, and its value is the API's": async (page, t) => {
    await t.open("#/explore");
    await box(page, "A").click();
    await page.keyboard.type("count(cassandra_table_live_sstables");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Shift+Enter");
    await page.locator('[data-result="graph"] [role=img]').waitFor();
    t.ok(
      new URLSearchParams(page.url().split("?")[1]).get("expr").startsWith("count(cassandra"),
      `${page.url()} has no expression`,
    );
    await page.getByRole("button", { name: "Table", exact: true }).click();
    const cell = page.locator('[data-result="table"] .table-row .number');
    const answer = await t.first("count(cassandra_table_live_sstables)");
    await t.until(async () => (await cell.textContent()) === answer.value[1], "the API's value");
    await page.getByText("History", { exact: true }).click();
    await page.getByRole("button", { name: "count(cassandra_table_live_sstables)" }).waitFor();
  },

  "names and labels are completed from the API, and the policy forbids nothing": async (
    page,
    t,
  ) => {
    await t.open("#/explore");
    await box(page, "A").click();
    await page.keyboard.type("cassandra_table_live_sst", { delay: 20 });
    await complete(page, t, "cassandra_table_live_sstables");
    await page.keyboard.type('{keyspace="', { delay: 20 });
    await complete(page, t, "shop");
    t.ok(
      (await box(page, "A").textContent()).includes(
        'cassandra_table_live_sstables{keyspace="shop"',
      ),
      "the completions are not in the box",
    );
  },

  "a fault stands at the box with its position": async (page, t) => {
    await t.open(open(["sum(up)\n+ rate(up)"]));
    const alert = page.locator('[data-query="A"]').getByRole("alert");
    await alert.getByText("Line 2, column 8: Expected type range vector").waitFor();
    await page.locator(".cm-lintRange-error").first().waitFor();
  },

  "a link has all expressions; one that is disabled is not asked": async (page, t) => {
    await t.open(open(["count(up)", "sum(up) + 41"], { show: "t,tx" }));
    await page.locator('[data-query="A"] [data-result="table"]').waitFor();
    t.equal(await page.locator('[data-query="B"] [data-result]').count(), 0);
    await page.getByRole("button", { name: "Disabled" }).click();
    const answer = await t.first("sum(up) + 41");
    const cell = page.locator('[data-query="B"] .table-row .number');
    await t.until(async () => (await cell.textContent()) === answer.value[1], "the second value");
    await page.locator('[data-query="A"]').getByRole("button", { name: "Remove" }).click();
    await t.until(
      async () => (await box(page, "A").textContent()) === "sum(up) + 41",
      "the second as the first",
    );
    t.equal(new URLSearchParams(page.url().split("?")[1]).getAll("expr").length, 1);
  },

  "Explore begins with the metrics: a group, a search, and a click plots": async (page, t) => {
    await t.open("#/explore");
    const table = page.getByRole("table", { name: "Metrics" });
    await table.waitFor();
    const groups = page.getByRole("group", { name: "Groups of metrics" });
    const { data } = await t.get("/api/v1/metadata");
    const [{ help, type, unit }] = data.os_memory_available_bytes;
    await groups.getByRole("button", { name: /^Tables/ }).click();
    await t.until(async () => {
      const names = await table.locator(".row-link .mono").allInnerTexts();
      return names.length > 0 && names.every((n) => n.startsWith("cassandra_table_"));
    }, "only metrics of tables");
    await groups.getByRole("button", { name: /^Tables/ }).click();
    // From the keyboard: the field, the first row, Enter.
    // Names come before descriptions.
    await page.getByRole("searchbox", { name: "Search metrics" }).fill("memory available");
    const first = table.locator(".table-row").first();
    const there = async () => (await first.innerText()).startsWith("os_memory_available_bytes");
    await t.until(there, "the metric of that name");
    const row = (await first.innerText()).split("\n").filter(Boolean);
    t.equal(row.join("|"), ["os_memory_available_bytes", help, type, unit].join("|"));
    await first.locator(".row-link").focus();
    await page.keyboard.press("Enter");
    await page.locator('[data-result="graph"] [role=img]').waitFor();
    t.equal(await box(page, "A").textContent(), "os_memory_available_bytes");
    await page.goBack(); // to the search
    await t.until(there, "the search again");
  },

  "a counter is plotted as a rate, a histogram as a quantile, each in the first empty box": async (
    page,
    t,
  ) => {
    await t.open(open(["count(up)"]));
    for (const [letter, name, expr] of [
      [
        "B",
        "os_context_switches_total",
        "sum by (cluster, mode) (rate(os_context_switches_total[5m]))",
      ],
      [
        "C",
        "cassandra_client_request_latency_seconds",
        "histogram_quantile(0.99, sum by (cluster, request, message) " +
          "(rate(cassandra_client_request_latency_seconds[5m])))",
      ],
    ]) {
      await page.getByRole("button", { name: "Add an expression" }).click();
      await page.getByRole("searchbox", { name: "Search metrics" }).fill(name);
      await page.getByRole("link", { name }).first().click();
      await t.until(async () => (await box(page, letter).textContent()) === expr, expr);
      await page.locator(`[data-query="${letter}"] [data-result="graph"] .plot`).waitFor();
    }
    t.equal(new URLSearchParams(page.url().split("?")[1]).getAll("expr").length, 3);
  },

  "any two times can be chosen, and a copied link fixes the time": async (page, t) => {
    await t.open(open(["count(up)"], { range: "15m" }));
    const shared = new URL(await copied(page, t, "Copy link"));
    const times = (hash) => {
      const params = new URLSearchParams(hash.split("?")[1]);
      return ["range", "from", "to"].map((name) => params.get(name));
    };
    const [range, from, to] = times(shared.hash);
    t.equal(range, null);
    t.equal(Number(to) - Number(from), 900);
    await page.getByLabel("Time range").first().selectOption("choose");
    const dialog = page.getByRole("dialog", { name: "Time range" });
    await dialog.getByLabel("from").fill("2026-11-20T10:00");
    await dialog.getByLabel("to", { exact: true }).fill("2026-11-20T09:00");
    await dialog.getByText("The end must be later than the beginning.").waitFor();
    await dialog.getByLabel("to", { exact: true }).fill("2026-11-20T11:30");
    await dialog.getByRole("button", { name: "Show" }).click();
    await page.waitForURL((u) => u.hash.includes("from="));
    const chosen = ["2026-11-20T10:00Z", "2026-11-20T11:30Z"].map((s) => Date.parse(s) / 1000);
    t.equal(times(new URL(page.url()).hash).join(), ["", ...chosen].join());
    await page.getByText("2026-11-20 10:00 to 2026-11-20 11:30").waitFor();
  },

  "five thousand metrics are a few rows, and nothing of them hangs over a phone's edge": async (
    page,
    t,
  ) => {
    const names = Array.from({ length: 5000 }, (_, i) => `thing_${i}_${"of_many_".repeat(8)}bytes`);
    const of = (n) => [n, [{ type: "gauge", help: `What ${n} counts. `.repeat(4), unit: "bytes" }]];
    await page.route("**/api/v1/metadata", (route) =>
      route.fulfill({ json: { status: "success", data: Object.fromEntries(names.map(of)) } }),
    );
    await page.setViewportSize({ width: 380, height: 800 });
    await t.open("#/explore");
    const rows = page.getByRole("table", { name: "Metrics" }).locator(".table-row");
    await rows.first().waitFor();
    t.ok((await rows.count()) < 60, `${await rows.count()} rows stand in the page`);
    t.equal(await page.evaluate(() => document.documentElement.scrollWidth), 380);
    t.equal((await cutTexts(page)).join(), "");
    await page.getByRole("searchbox", { name: "Search metrics" }).fill("thing_4999_");
    await t.until(async () => (await rows.count()) === 1, "the one that is searched for");
    await page.unrouteAll({ behavior: "wait" });
  },

  "a name and a value that do not exist have near ones, and a click runs them": async (page, t) => {
    await t.open(open([`sum(cassandra_table_live_sstable{cluster="${t.cluster}x"})`]));
    await page.getByText("There is no metric cassandra_table_live_sstable.").waitFor();
    await page.getByRole("button", { name: "cassandra_table_live_sstables", exact: true }).click();
    await page.getByText(`has no cluster="${t.cluster}x"`).waitFor();
    await page.getByRole("button", { name: t.cluster, exact: true }).click();
    await page.locator('[data-result="graph"] .plot').waitFor();
    t.equal(
      await box(page, "A").textContent(),
      `sum(cassandra_table_live_sstables{cluster="${t.cluster}"})`,
    );
  },

  "an axis of bytes stands at powers of two": async (page, t) => {
    await page.addInitScript(() => {
      window.drawn = [];
      const draw = window.CanvasRenderingContext2D.prototype.fillText;
      window.CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
        window.drawn.push(text);
        return draw.call(this, text, ...rest);
      };
    });
    await t.anew();
    await t.open(open(["20 * 1024 ^ 3 + 0 * sum(os_memory_total_bytes)"]));
    await page.locator('[data-result="graph"] .plot').waitFor();
    await t.until(async () => {
      const texts = await page.evaluate(() => window.drawn.filter((s) => / [KMGT]?i?B$/.test(s)));
      return ["0 B", "4 GiB", "8 GiB", "12 GiB", "16 GiB", "20 GiB"].every((s) =>
        texts.includes(s),
      );
    }, "0, 4, 8, 12, 16 and 20 GiB");
  },

  "a native histogram is a heat map and a row of quantiles": async (page, t) => {
    const where = `cluster="${t.cluster}",keyspace="shop",table="orders"`;
    const expr = `sum(rate(cassandra_table_read_latency_seconds{${where}}[5m]))`;
    await t.open(open([expr], { show: "gt", range: "15m" }));
    await page.getByRole("img", { name: "Histogram: newest p50" }).waitFor();
    const p99 = page.locator('[data-result="table"] .table-row .number').last();
    await t.until(async () => {
      const [answer] = await t.query(`histogram_quantile(0.99, ${expr})`);
      const text = await p99.textContent();
      const shown = parseFloat(text) * { s: 1, ms: 1e-3, µs: 1e-6 }[text.split(" ")[1]];
      t.near(shown, Number(answer.value[1]), 0.2);
      return true;
    }, "the quantile of the API");
  },

  "curl has the key as a variable only, Grafana's panel has unit and data source": async (
    page,
    t,
  ) => {
    const expr = `rate(cassandra_table_read_latency_seconds_sum{table='orders'}[5m])`;
    await t.open(open([expr, "os_filesystem_size_bytes"]));
    const curl = await copied(page, t, "Copy as curl");
    t.ok(curl.includes('"Authorization: Bearer $KEY"'), "the key is no variable");
    t.ok(!curl.includes(t.key), "the key is in the command");
    t.ok(curl.includes(`'query=${expr.replaceAll("'", "'\\''")}'`), curl);
    const panel = JSON.parse(await copied(page, t, "Copy as Grafana panel"));
    t.equal(panel.type, "timeseries");
    t.equal(panel.datasource.uid, "${datasource}");
    t.equal(panel.targets[0].expr, expr);
    t.equal(panel.fieldConfig.overrides[0].properties[0].value, "bytes");
  },
};

export const options = {
  "an axis of bytes stands at powers of two": { own: true },
};
