// The list of tables, and one table, say what PromQL says at that moment.
import { URLSearchParams } from "node:url";

/** The number in a text such as 24.7/s, 1.3 ms, 222 KiB. */
function amount(text) {
  const [, digits, unit] = /(-?[\d,.]+(?:e[+-]\d+)?) ?([^ /]*)/.exec(text) ?? [];
  const sizes = { k: 1e3, M: 1e6, ms: 1e-3, µs: 1e-6, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 };
  return Number(digits?.replaceAll(",", "")) * (sizes[unit] ?? 1);
}

/** What the row of a table says of a figure. */
async function figure(page, table, id) {
  const row = page.locator(".table-row", { has: page.getByRole("link", { name: table }) });
  return amount(await row.locator(`[data-figure=${id}]`).textContent());
}

const users = 'node!="",keyspace!~"system(_.*)?"';

/** Drags across a chart and stays above it while what was chosen comes. */
async function zoomInto(page, t, picture) {
  const errors = t.faults.length;
  const before = await page.locator(".chart").count();
  await picture.scrollIntoViewIfNeeded();
  const box = await picture.boundingBox();
  const y = box.y + box.height / 2;
  await page.mouse.move(box.x + box.width * 0.9, y);
  await page.mouse.move(box.x + box.width * 0.7, y);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.85, y, { steps: 4 });
  await page.mouse.move(box.x + box.width * 0.98, y, { steps: 4 });
  await page.mouse.up();
  await t.until(() => /[?&]from=/.test(page.url()), "the part of the time");
  for (const part of [0.97, 0.99, 0.98]) {
    await t.again();
    await page.mouse.move(box.x + box.width * part, y);
    await t.settle();
  }
  t.equal(await page.locator(".chart").count(), before);
  t.equal(t.faults.length, errors);
}

export const tests = {
  "zooming with the pointer above a chart or a map leaves the page whole": async (page, t) => {
    const { metric } = await t.first(
      `topk(1, sum by (keyspace, table) (cassandra_table_read_latency_seconds_count{cluster="${t.cluster}"}))`,
    );
    for (const [hash, of] of [
      [`#/node/${t.node}?range=15m`, ".plot"],
      [`#/tables/${t.cluster}/${metric.keyspace}/${metric.table}?range=15m`, ".heat canvas"],
    ]) {
      await t.open(hash);
      const picture = page.locator(`${of} >> visible=true`).first();
      await picture.waitFor();
      await zoomInto(page, t, picture);
    }
  },

  "the list has every table with its reads, latency and size": async (page, t) => {
    const here = `cluster="${t.cluster}",keyspace="shop",table="orders"`;
    const counted = `cassandra_table_read_latency_seconds_count{${here}}[5m]`;
    await t.until(async () => {
      await t.open(`#/tables/${encodeURIComponent(t.cluster)}`);
      const [reads] = await t.query(
        `sum(increase(${counted})) / ` +
          `clamp_max(time() - min(ts_of_first_over_time(${counted})) + 5, 300)`,
      );
      t.near(await figure(page, "shop.orders", "reads"), Number(reads.value[1]), 0.1);
      const [p99] = await t.query(
        `histogram_quantile(0.99, sum(rate(cassandra_table_read_latency_seconds{${here}}[5m])))`,
      );
      t.near(await figure(page, "shop.orders", "readp99"), Number(p99.value[1]), 0.25);
      const [size] = await t.query(`sum(cassandra_table_live_disk_space_used_bytes{${here}})`);
      t.near(await figure(page, "shop.orders", "size"), Number(size.value[1]), 0.02);
      const [count] = await t.query(
        `count(count by (keyspace, table) (cassandra_table_live_sstables{${users}}))`,
      );
      t.equal(await page.locator(".tile strong").first().textContent(), count.value[1]);
      return true;
    }, "the list of tables that equals PromQL");
  },

  "the search finds a table and a metric, and says when it finds nothing": async (page, t) => {
    await t.open("#/fleet");
    const field = page.getByRole("combobox", { name: /^Find a cluster, node, table/ });
    await field.fill("zebra-that-is-nowhere");
    await page.getByText("Nothing has a name like that.").waitFor();
    await field.fill("live_sstables");
    await page.getByRole("option", { name: "cassandra_table_live_sstables metric" }).waitFor();
    await field.fill("shop.order");
    await page
      .getByRole("option", { name: `shop.orders table of ${t.cluster}` })
      .first()
      .click();
    await page.getByRole("heading", { level: 1, name: "shop.orders" }).waitFor();
    t.ok(page.url().includes(`#/tables/${encodeURIComponent(t.cluster)}/shop/orders`), page.url());
  },

  "Cassandra's own tables come when they are asked for, and a link keeps that": async (page, t) => {
    await t.open("#/tables");
    await page.getByPlaceholder("Filter: keyspace, table").fill("system.local");
    await t.until(
      async () => (await page.getByText("No table is called like that.").count()) === 1,
      "system.local left out",
    );
    await page.getByLabel("Cassandra's own").check();
    await page.getByRole("link", { name: "system.local" }).waitFor();
    t.ok(page.url().includes("system=1"), `${page.url()} does not say system=1`);
    await page.reload();
    await page.getByRole("link", { name: "system.local" }).click();
    await page.getByRole("heading", { level: 1, name: "system.local" }).waitFor();
  },

  "a heat map has a table of the same, which equals PromQL's quantiles": async (page, t) => {
    await t.open(`#/tables/${encodeURIComponent(t.cluster)}/shop/orders?range=15m`);
    await page.getByRole("button", { name: "Latency of reads as a table" }).click();
    const section = page.getByRole("region", { name: "Latency of reads, values" });
    await t.until(async () => {
      const times = await section
        .locator("tr[data-at]")
        .evaluateAll((list) => list.map((row) => Number(row.dataset.at)));
      const at = times[12]; // the newest instants may still get values
      // The page's rates look back over a step, and over four frames at least.
      const step = Math.min(...times.slice(1).map((time, i) => Math.abs(time - times[i])));
      const node = (await t.get("/v1/nodes")).find((n) => n.id === t.node);
      const window = Math.max(step, (4 * node.interval_ms) / 1000);
      const cells = await section.locator(`tr[data-at="${at}"] td`).allTextContents();
      const where = `cluster="${t.cluster}",keyspace="shop",table="orders"`;
      const rate = `sum(rate(cassandra_table_read_latency_seconds{${where}}[${window}s]))`;
      const asked = [
        `histogram_quantile(0.5, ${rate})`,
        `histogram_quantile(0.99, ${rate})`,
        `histogram_count(${rate})`,
      ];
      for (const [i, query] of asked.entries()) {
        const { data } = await t.get(`/api/v1/query?${new URLSearchParams({ query, time: at })}`);
        t.near(amount(cells[i]), Number(data.result[0].value[1]), 0.02);
      }
      return true;
    }, "a row of the heat map's table that equals PromQL");
  },

  "a heat map tells time, range and count where the pointer is": async (page, t) => {
    await t.open(`#/tables/${encodeURIComponent(t.cluster)}/shop/orders?range=15m&op=write`);
    const canvas = page.getByRole("img", { name: "Latency of writes" });
    const box = await canvas.boundingBox();
    await t.until(async () => {
      await page.mouse.move(box.x + box.width - 20, box.y + box.height / 2);
      await page.mouse.move(box.x + box.width - 60, box.y + box.height / 2);
      const text = await page.locator(".heat .tip:not(.lanes-tip)").textContent();
      return /\d{4}-\d\d-\d\d .*s to .*s: [\d.]+.*\/s.*p50 .*p99 /.test(text);
    }, "a hint at the pointer");
  },

  "charts and heat maps have one cursor, and marks of the cluster": async (page, t) => {
    await t.open(`#/tables/${encodeURIComponent(t.cluster)}/shop/orders?range=1h`);
    const plot = page.locator('[data-title="Reads and writes"] .u-over');
    const heat = page.getByRole("img", { name: "Latency of reads" });
    await plot.scrollIntoViewIfNeeded();
    await t.until(async () => {
      const box = await plot.boundingBox();
      await page.mouse.move(box.x + box.width / 2, box.y + 20);
      await page.mouse.move(box.x + box.width / 2 + 2, box.y + 20);
      const at = Number(
        await page.locator(".heat-cursor").getAttribute("data-at", { timeout: 1000 }),
      );
      const now = Date.now() / 1000;
      return Math.abs(now - 1800 - at) < 120; // the middle of the last hour
    }, "the chart's cursor on the heat map");
    await heat.scrollIntoViewIfNeeded();
    const time = page.locator('[data-title="Reads and writes"] .legend-time');
    await t.until(async () => {
      const box = await heat.boundingBox();
      await page.mouse.move(box.x + box.width / 2, box.y + 40);
      await page.mouse.move(box.x + box.width / 2 + 2, box.y + 40);
      return /^\d\d:/.test(await time.textContent());
    }, "the heat map's cursor on the chart");
    await page.mouse.move(2, 2);
    await t.until(async () => (await time.textContent()) === "newest", "no cursor any more");
    t.equal(await page.locator(".heat-cursor").count(), 0);
    const start = await t.first(`jvm_start_time_seconds{node="${t.node}"}`);
    if (Date.now() / 1000 - start.value[1] > 3000) return; // it left the hour
    await t.until(async () => {
      return (await page.locator(".marks").allTextContents()).join().includes("was started");
    }, "a mark of the node's start");
  },
};
