/** A test that a page shows these texts, sooner or later. */
export const shows =
  (hash, ...texts) =>
  async (page, t) => {
    await t.open(hash);
    const main = page.locator("main");
    await t.until(async () => {
      const shown = await main.innerText();
      const missing = texts.filter((text) => !shown.includes(text));
      if (missing.length > 0) throw new Error(`${missing.join(", ")} is not on the page`);
      return true;
    }, `${hash} shows what nodes did`);
  };
