// Reads what pages show, as numbers and texts.

/** The place of the monitored cluster. */
export const clusterPlace = (t, params = "range=1h") =>
  `#/cluster/${encodeURIComponent(t.cluster)}?${params}`;

/** The place of its node. */
export const nodePlace = (t, params = "range=1h") => `#/node/${t.node}?${params}`;

const sizes = { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 };
const parts = { k: 1e3, M: 1e6, G: 1e9, µs: 1e-6, ms: 1e-3, s: 1, "%": 1, "": 1 };

/** The number that a text such as 1.5 GiB/s or 20 ms stands for, in bytes, seconds and ones. */
export function number(text) {
  const [, value, unit] = /^(-?[\d.,]+)\s*([^\s/]*)(?:\/s)?$/.exec(text.trim()) ?? [];
  if (value === undefined) return Number.NaN;
  return Number(value.replaceAll(",", "")) * (sizes[unit] ?? parts[unit] ?? Number.NaN);
}

/** The newest value of a chart's line, as its legend has it; NaN while there is none. */
export async function newest(page, title, line) {
  const chart = page.locator(`[data-title="${title}"]`).first();
  if ((await chart.count()) === 0) return Number.NaN;
  await chart.scrollIntoViewIfNeeded(); // charts out of sight wait
  const buttons = await chart.locator(".legend button").all();
  for (const b of buttons) {
    const name = await b.locator("span:not(.number)").first().innerText();
    if (name === line) return number(await b.locator(".number").innerText());
  }
  return Number.NaN;
}

/** What the console calls a node, see nameOf of src/kinds.ts. */
export function called({ id, address, facts = {} }) {
  const { hostname: host } = facts;
  if (!host || !address || address === host || address.startsWith(`${host}:`)) {
    return address || host || id;
  }
  return `${host} (${address})`;
}

/** Waits until an element's text has a part. */
export async function shows(page, t, selector, text) {
  await t.until(
    async () => (await page.locator(selector).first().innerText()).includes(text),
    `${selector} shows ${text}`,
  );
}

/** The texts of tables and legends that have less room than they need. A name has a line of its
 *  own, but nothing bounds how long it is: names count only if asked for. */
export async function cutTexts(page, names = false) {
  const cells = `.table [role="cell"]${names ? "" : ":not(:first-child)"}`;
  return page
    .locator(`${cells}, .table [role="columnheader"], .scale, .scale span`)
    .evaluateAll((list) =>
      list
        .filter((e) => e.clientWidth > 0 && e.scrollWidth > e.clientWidth)
        .map((e) => `${e.textContent} (${e.scrollWidth} of ${e.clientWidth} pixels)`),
    );
}

/** A row's cells by the text of one of them. */
export async function cells(page, table, name) {
  const rows = page.getByRole("table", { name: table }).locator(".table-row");
  const row = rows.filter({ hasText: name }).first();
  await row.waitFor();
  return (await row.locator('[role="cell"]').allInnerTexts()).map((text) => text.trim());
}

/** What no page may do, whatever things are called. */
export async function harmless(page, t, hash) {
  t.equal(await page.locator("main img, main b").count(), 0);
  t.equal(await page.evaluate(() => window.struck ?? false), false);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  const room = page.viewportSize().width;
  t.ok(wide <= room, `${hash} is ${wide} pixels wide`);
}
