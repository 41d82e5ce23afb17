// The last 30 days: what fired, on which day, and whom it woke.
import { inspect } from "./every.mjs";

const today = () => new Date().toISOString().slice(0, 10);

/** Lets the page hear of a message to somebody about an alert. */
async function withMessage(page, alertname, more = {}) {
  const one = {
    at: new Date().toISOString(),
    receiver: "on-call",
    integration: "email",
    status: "firing",
    group: {},
    alerts: [{ status: "firing", labels: { alertname } }],
    tries: 2,
    ...more,
  };
  await page.route("**/alertmanager/ringwatch/messages?*", (route) =>
    route.fulfill({ json: { messages: [one], more: false } }),
  );
}

/** Lets the page hear of a silence that held until a moment ago. */
async function withSilence(page, of) {
  const now = Date.now();
  const one = {
    id: "one",
    status: { state: "expired" },
    startsAt: new Date(now - 60_000).toISOString(),
    endsAt: new Date(now).toISOString(),
    updatedAt: new Date(now).toISOString(),
    createdBy: "ann<b>",
    comment: "maintenance: the disk is replaced",
    matchers: Object.entries(of).map(([name, value]) => ({
      name,
      value,
      isRegex: false,
      isEqual: true,
    })),
  };
  await page.route("**/alertmanager/ringwatch/silences?*", (route) =>
    route.fulfill({ json: { silences: [one], more: false } }),
  );
}

export const tests = {
  "an alert is in the calendar, and its day says when it fired and who was told": async (
    page,
    t,
  ) => {
    const { metric } = await t.first(
      'max by (alertname) (max_over_time(ALERTS{alertstate="firing"}[1h]))',
    );
    await withMessage(page, metric.alertname);
    await t.open("#/alerts?view=history");
    const row = page.locator(`.days tr[data-alert="${metric.alertname}"]`);
    await row.waitFor();
    const cut = await page.locator(".days").evaluate((e) => e.scrollHeight - e.clientHeight);
    t.ok(cut <= 0, `${cut} pixels of the rows are out of sight`);
    t.equal(await row.locator("td").first().textContent(), "1");
    const cell = row.locator("button").last();
    const label = await cell.getAttribute("aria-label");
    t.ok(label.includes(` on ${today()}: fired in `) && label.includes("told 1 time"), label);
    await cell.click();
    t.ok(page.url().includes(`day=${today()}`), page.url());
    const fired = page.locator('section[aria-label="What fired on the day"]');
    await fired.locator(`li[data-alert="${metric.alertname}"]`).first().waitFor();
    const told = await page.locator('section[aria-label="Whom it woke"] li').textContent();
    t.ok(told.includes(`on-callwas told by email that ${metric.alertname} fires`), told);
    t.ok(told.includes("after 2 tries"), told);
    await inspect(page, t);
    await page.setViewportSize({ width: 380, height: 800 });
    await t.settle();
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    t.ok(wide <= 380, `the page is ${wide} pixels wide`);
  },

  "what was kept quiet on a day stands there, by whom and why": async (page, t) => {
    await withSilence(page, { cluster: t.cluster, alertname: "Loud" });
    await t.open("#/alerts?view=history");
    const quiet = page.locator('section[aria-label="What was kept quiet"]');
    await quiet.locator("li").waitFor();
    const text = await quiet.locator("li").textContent();
    for (const part of ["maintenance", "Loud", t.cluster, "by ann<b>", "the disk is replaced"]) {
      t.ok(text.includes(part), `no ${part}: ${text}`);
    }
    await t.open("#/alerts?view=history&cluster=other");
    await quiet.getByText("Nobody kept anything quiet.").waitFor();
    await page.unroute("**/alertmanager/ringwatch/silences?*"); // the API itself
    await t.open("#/alerts?view=history");
    await quiet
      .getByText(/Nobody kept|by /)
      .first()
      .waitFor();
    await inspect(page, t);
  },

  "what could not be told says why, and a process that tells nobody says so": async (page, t) => {
    await withMessage(page, "Lost<b>", { error: "status 500", tries: 1 });
    await t.open("#/alerts?view=history");
    const lost = page.locator('section[aria-label="Whom it woke"] li');
    await lost.waitFor();
    const text = await lost.textContent();
    t.ok(text.includes("was not told by email that Lost<b> fires"), text);
    t.ok(text.includes("after one try: status 500"), text);
    await page.unroute("**/alertmanager/ringwatch/messages?*");
    await page.route("**/alertmanager/ringwatch/messages?*", (route) =>
      route.fulfill({ status: 501, json: { error: { reason: "x", message: "ask another" } } }),
    );
    await t.open("#/alerts?view=history");
    await page.locator("main").getByText("Ask another.").waitFor();
  },
};

export const options = {
  "what was kept quiet on a day stands there, by whom and why": { own: true },
  "an alert is in the calendar, and its day says when it fired and who was told": { own: true },
  "what could not be told says why, and a process that tells nobody says so": { own: true },
};
