// What two real nodes are doing, caused by TestDoing: each page shows it.
const shows = (hash, ...texts) => async (page, t) => {
  await t.open(hash);
  const main = page.locator("main");
  await t.until(async () => {
    const shown = await main.innerText();
    const missing = texts.filter((text) => !shown.includes(text));
    if (missing.length > 0) throw new Error(`${missing.join(", ")} is not on the page`);
    return true;
  }, `${hash} shows ${texts.join(", ")}`);
};

export const tests = {};
