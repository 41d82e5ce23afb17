// What comes while somebody looks.
export const tests = {
  "a table that is created is in the list": async (page, t) => {
    await t.open(`#/tables/${t.cluster}`);
    await t.stage("table");
    await page.getByRole("row").filter({ hasText: "shop.fresh" }).first().waitFor();
  },

  "an alert that fires is seen, its text as text": async (page, t) => {
    await t.open("#/alerts");
    await t.stage("alert");
    await page.getByText("ConsoleSeesThis").first().waitFor();
    await page.getByText("<b>text</b>").first().waitFor();
    t.equal(await page.locator("main b").count(), 0);
    const firing = async () =>
      (await t.query('ALERTS{alertname="ConsoleSeesThis",alertstate="firing"}')).length > 0;
    await t.until(firing, "the API has it, too");
  },
};
