// What comes while somebody looks.
export const tests = {
  "a table that is created is in the list": async (page, t) => {
    await t.open(`#/tables/${t.cluster}`);
    await t.stage("table");
    const row = page.getByRole("row").filter({ hasText: "shop.fresh" });
    await t.until(() => row.first().isVisible(), "its row");
  },

  "an alert that fires is seen, its text as text": async (page, t) => {
    await t.open("#/alerts");
    await t.stage("alert");
    const seen = (text) => page.getByText(text).first().isVisible();
    await t.until(async () => (await seen("ConsoleSeesThis")) && seen("<b>text</b>"), "the alert");
    t.equal(await page.locator("main b").count(), 0);
    const firing = async () =>
      (await t.query('ALERTS{alertname="ConsoleSeesThis",alertstate="firing"}')).length > 0;
    await t.until(firing, "the API has it, too");
  },
};

// Others would see the table and the alert, too.
export const options = Object.fromEntries(
  Object.keys(tests).map((name) => [name, { alone: true }]),
);
