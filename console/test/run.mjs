// Drives the console in a real browser against a running API, and prints a line a test:
//
//   ok NAME<tab>SECONDS s
//   FAIL NAME: why
//
// The Go test that starts it has started the API and a monitored Cassandra under load. It tells in
// the environment where they are:
//
//   BASE       URL of the API
//   KEY        a key of the account that owns the monitored cluster, OTHER_KEY one of another
//              account, WATCHED_KEY of one with Kafka, Redis and the like, DOING_KEY of one whose
//              nodes do much, EMPTY_KEY of one with nothing
//   CLUSTER    name of the monitored cluster, NODE the id of its node
//   STAGE      URL of what changes the world when a test asks for it (see t.stage)
//   CHROMIUM   path of the browser; /usr/bin/chromium-headless-shell if left out
//   TESTS      the folder of the tests; this one if left out
//   ONLY       runs only tests whose names contain this
//   LANES      how many tests run at once; 3 if left out
//
// Tests run in lanes, each one with a browser of its own, and each test on a signed-in page that
// its lane keeps from test to test. A browser that does not answer any more is killed, and its test
// begins again in a new one, once. What a test needs otherwise its file says under options: a key,
// a size, own (a browser context for it alone), first (it waits long, so it begins first), alone
// (it changes what others see, so it comes last).
import { readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const { BASE, KEY, OTHER_KEY, CLUSTER, NODE, STAGE, ONLY, LANES = "3" } = process.env;
const here = join(dirname(fileURLToPath(import.meta.url)), process.env.TESTS ?? ".");
const patience = 300_000; // ms; machines may be ten times slower from one minute to the next
const longest = 600_000; // ms that a test may take: some things a browser is asked have no end
const silent = 180_000; // ms that a page may take to answer that it is there

/** What a test has at hand. */
class Test {
  constructor({ page, faults, waiting, lost, refused }, key) {
    this.page = page;
    this.key = key;
    this.faults = faults;
    this.waiting = waiting;
    this.lost = lost;
    this.refused = refused;
    this.base = BASE;
    this.cluster = CLUSTER;
    this.node = NODE;
    this.otherKey = OTHER_KEY;
  }

  /** Goes to a place, from a page without data, and waits until nothing is loaded any more. */
  async open(hash) {
    for (const next of ["#/nowhere", hash]) {
      await this.page.evaluate((h) => (location.hash = h), next);
      await this.settle(next);
    }
  }

  /** Waits until the page of a place stands, if one is given, and nothing is a placeholder. */
  async settle(hash) {
    const path = hash?.replace(/^#\/?/, "").split("?", 1)[0].split("/").filter(Boolean);
    const place = path?.map((p) => encodeURIComponent(decodeURIComponent(p))).join("/");
    const settled = (place) => {
      const main = document.querySelector("#main");
      if (!main || (place !== undefined && main.dataset.place !== place)) return false;
      return [...document.querySelectorAll(".bone")].every((e) => {
        const { top, bottom } = e.getBoundingClientRect();
        return top > innerHeight || bottom < 0; // charts out of sight wait
      });
    };
    // polling in ms; else it looks, and the browser draws, 60 times a second.
    const how = { timeout: patience, polling: 100 };
    await this.page.waitForFunction(settled, place, how).catch(async (e) => {
      throw new Error(`${hash ?? "the page"} does not settle: ${await this.unsettled()}: ${e}`);
    });
  }

  /** What a page that does not settle shows, and what it waits for. */
  async unsettled() {
    const shown = await this.page.evaluate(() => {
      const text = document.body.innerText.slice(0, 200).replaceAll("\n", " / ");
      const place = document.querySelector("main")?.dataset.place ?? `no page, but "${text}"`;
      const bones = [...document.querySelectorAll(".bone")].map((e) => {
        const label = e.closest("[aria-label]")?.ariaLabel;
        return `${label} at ${Math.round(e.getBoundingClientRect().top)}`;
      });
      return `it is at ${place} and shows ${bones.join(", ") || "no placeholder"}`;
    });
    const asked = [...this.waiting].map(([request, since]) => {
      const body = request.postData()?.slice(0, 200) ?? "";
      return `${request.url()} ${body} for ${((Date.now() - since) / 1000).toFixed(1)} s`;
    });
    return [
      `${shown}; it waits for ${asked.join(", ") || "no answer"}`,
      ...this.lost.map((l) => `lost ${l}`),
      ...this.faults,
    ].join("; ");
  }

  /** Loads the console anew, as somebody who signs in: what was added for new pages counts. */
  async anew() {
    await this.page.goto("about:blank"); // else only the place would change
    await this.page.goto(`${this.base}/#key=${this.key}`);
    await this.page.locator("#main").waitFor(); // signed in: the form has none
  }

  /** Lets the page ask for its data now, as it does when its tab comes to the front. */
  async again() {
    await this.page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
  }

  /** JSON of a path of the API. */
  async get(path) {
    const a = await fetch(BASE + path, { headers: { Authorization: `Bearer ${this.key}` } });
    if (!a.ok) throw new Error(`${path}: ${a.status} ${await a.text()}`);
    return a.json();
  }

  /** The series of an instant query. */
  async query(expr) {
    return (await this.get(`/api/v1/query?${new URLSearchParams({ query: expr })}`)).data.result;
  }

  /** The first series of an instant query, as soon as there is one: a machine may be slow, so
   *  that a rate or a value is not there yet. */
  async first(expr) {
    let series;
    await this.until(async () => ([series] = await this.query(expr)).length > 0, expr);
    return series;
  }

  /** What the first series of an expression was over the last two minutes: a page shows one of
   *  these values, of when it asked. */
  async lately(expr) {
    const end = Math.floor(Date.now() / 5000) * 5; // points of pages lie on steps of 5 s
    const params = new URLSearchParams({ query: expr, start: end - 120, end, step: 5 });
    const { data } = await this.get(`/api/v1/query_range?${params}`);
    return (data.result[0]?.values ?? []).map(([, value]) => Number(value));
  }

  /** Throws unless a number is one of these, but for a part of it. */
  isOf(shown, values, part) {
    if (!values.some((v) => Math.abs(shown - v) <= part * Math.max(Math.abs(shown), Math.abs(v)))) {
      throw new Error(`${shown} is none of ${values.join(", ")}`);
    }
    return true;
  }

  /** Changes the world, as the Go test offers it. */
  async stage(action) {
    const a = await fetch(`${STAGE}/${action}`, { method: "POST" });
    if (!a.ok) throw new Error(`${action}: ${await a.text()}`);
  }

  ok(condition, message) {
    if (!condition) throw new Error(message);
  }

  equal(a, b) {
    if (a !== b) throw new Error(`${JSON.stringify(a)} is not ${JSON.stringify(b)}`);
  }

  near(a, b, part) {
    if (!(Math.abs(a - b) <= part * Math.max(Math.abs(a), Math.abs(b)))) {
      throw new Error(`${a} is not near ${b}`);
    }
  }

  /** Looks again and again until the condition holds, while the page asks once a second. */
  async until(condition, what) {
    const end = Date.now() + patience;
    let last = "";
    for (let look = 1; Date.now() < end; look++) {
      try {
        if (await condition()) return;
        last = "";
      } catch (e) {
        last = `: ${e.message}`;
      }
      await this.page.waitForTimeout(200); // between two looks
      if (look % 5 === 0) await this.again();
    }
    throw new Error(`${what} did not happen${last}`);
  }
}

/** A page that is signed in, whose faults are written down. */
async function open(browser, key, { width = 1280, height = 900, colorScheme = "dark" } = {}) {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme,
    reducedMotion: "reduce", // what moves while it waits takes processor time
  });
  context.setDefaultTimeout(patience); // of pages that a test opens itself, too
  const page = await context.newPage();
  const faults = [];
  const waiting = new Map(); // since when, ms, by request
  const lost = []; // files of the console that did not come
  const refused = []; // answers that the browser is not signed in
  page.on("request", (r) => waiting.set(r, Date.now()));
  page.on("requestfinished", (r) => waiting.delete(r));
  page.on("requestfailed", (r) => {
    waiting.delete(r);
    const why = r.failure()?.errorText;
    const file = ["document", "script", "stylesheet"].includes(r.resourceType());
    if (file && why !== "net::ERR_ABORTED") lost.push(`${r.url()}: ${why}`); // else it was left
  });
  page.on("response", (r) => {
    if (r.status() === 401) refused.push(r.url());
  });
  page.on("console", (m) => {
    // What the browser says of an answer that is no success is not the console's own word.
    if (m.type() === "error" && !m.text().startsWith("Failed to load resource")) {
      faults.push(m.text());
    }
  });
  page.on("pageerror", (e) => faults.push(e.message));
  await page.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (e) => {
      console.error(`the policy forbids ${e.violatedDirective} of ${e.blockedURI}`);
    });
  });
  await page.goto(`${BASE}/#key=${key}`);
  await page.locator("#main").waitFor(); // signed in: the form has none, and no cookie yet
  return { context, page, faults, waiting, lost, refused };
}

/** That something took too long. */
class Late extends Error {}

const pause = (ms) => new Promise((done) => setTimeout(() => done("late"), ms));

/** What a promise becomes, or Late: where it takes too long, and where its page says nothing. */
async function within(ms, promise, what, page) {
  let ended = false;
  const end = () => (ended = true);
  promise.then(end, end);
  const late = async () => {
    for (const last = Date.now() + ms; !ended && Date.now() < last; ) {
      await pause(Math.min(5000, ms));
      const there = page?.evaluate(() => true).catch(() => true); // it may be between two places
      if ((await Promise.race([there, promise, pause(silent)])) === "late") {
        throw new Late(`the page has not answered for ${silent / 1000} s in ${what}`);
      }
    }
    throw new Late(`${what} took longer than ${ms / 1000} s`);
  };
  return Promise.race([promise, late()]);
}

/** Leaves a kept page as a new one is. */
async function clean(page, { width = 1280, height = 900, colorScheme = "dark" }) {
  await page.unrouteAll({ behavior: "ignoreErrors" });
  await page.setViewportSize({ width, height });
  await page.emulateMedia({ colorScheme });
  await page.evaluate(() => {
    localStorage.clear();
    document.activeElement?.blur();
  });
}

/** A browser, and its pages from test to test. */
class Lane {
  pages = new Map(); // by key

  async start() {
    this.pages.clear();
    this.browser = await chromium.launch({
      executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium-headless-shell",
      args: ["--no-sandbox", "--disable-dev-shm-usage"],
    });
    const { processInfo } = await (
      await this.browser.newBrowserCDPSession()
    ).send("SystemInfo.getProcessInfo");
    this.pid = processInfo.find(({ type }) => type === "browser").id;
  }

  /** Runs a test, and says how it went: once more where the browser hung. */
  async run(test) {
    let why;
    for (let tries = 2; tries > 0; tries--) {
      if (!this.browser?.isConnected()) await this.start();
      why = await this.attempt(test);
      if (!(why instanceof Late)) break;
      why.message += `; the browser's processes: ${await this.kill()}`;
      console.log(`hung in ${test.name}: ${why.message}`);
    }
    if (!why) return true;
    console.log(`FAIL ${test.name}: ${String(why.message).split("\n").slice(0, 12).join(" | ")}`);
    return false;
  }

  /** Runs a test on a page of its lane, or on one of its own, and returns why it failed. A page on
   *  which one failed is not kept. */
  async attempt({ name, test, options }) {
    const key = options.key ?? KEY;
    const began = Date.now();
    let kept = options.own ? undefined : this.pages.get(key);
    let failure;
    try {
      if (kept) await within(longest, clean(kept.page, options), "the cleaning", kept.page);
      else kept = await within(longest, open(this.browser, key, options), "the opening");
      const { page, faults, waiting, lost } = kept;
      faults.length = 0;
      lost.length = 0;
      waiting.clear();
      await within(longest, test(page, new Test(kept, key)), "the test", page);
      if (faults.length > 0) throw new Error(`the browser says ${faults.join("; ")}`);
      console.log(`ok ${name}\t${((Date.now() - began) / 1000).toFixed(1)} s`);
    } catch (e) {
      failure = e;
      failure.message += kept?.refused.map((r) => ` | refused ${r}`).join("") ?? "";
      if (process.env.SHOTS && !(failure instanceof Late)) {
        const path = join(process.env.SHOTS, `${name.replace(/\W+/g, "-")}.png`);
        await kept?.page.screenshot({ path });
      }
    }
    if (failure instanceof Late) return failure; // nothing of this browser answers
    if (!failure && !options.own) {
      this.pages.set(key, kept);
    } else {
      if (!options.own) this.pages.delete(key);
      await close(kept?.context);
    }
    return failure;
  }

  /** Kills the browser, and says what its processes did: their states and CPU times. */
  async kill() {
    const said = [];
    const own = await standing(this.pid);
    for (const id of (await readdir("/proc")).filter((f) => /^\d+$/.test(f))) {
      const { type, state, group, seconds } = await standing(id);
      if (group === own.group) said.push(`${type} ${state} ${seconds} s`);
    }
    if (own.group > 1) process.kill(-own.group, "SIGKILL"); // of this browser alone
    this.browser = undefined;
    return said.join(", ");
  }

  async end() {
    if (this.browser) await close(this.browser);
  }
}

/** What proc(5) says of a process; nothing of one that has ended. */
async function standing(id) {
  const read = (name) => readFile(`/proc/${id}/${name}`, "utf8").catch(() => "");
  const stat = await read("stat");
  const [state, , group, ...rest] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [, type = "browser"] = /--type=([\w-]+)/.exec(await read("cmdline")) ?? [];
  const seconds = (Number(rest[8]) + Number(rest[9])) / 100; // a tick is 10 ms
  return { type, state, group: Number(group), seconds };
}

/** Closes a browser or a context, unless it hangs. What still answers requests in a test's place
 *  would end all of this if its page went. */
async function close(what) {
  const ended = async () => {
    for (const page of what?.pages?.() ?? []) await page.unrouteAll({ behavior: "ignoreErrors" });
    await what?.close();
  };
  await Promise.race([ended().catch(() => {}), pause(60_000)]);
}

/** Runs tests in lanes, and returns how many failed. */
async function runAll(list, lanes) {
  const next = list[Symbol.iterator]();
  let failed = 0;
  const work = async (lane) => {
    for (const test of next) if (!(await lane.run(test))) failed++;
  };
  await Promise.all(lanes.map(work));
  return failed;
}

const all = [];
const files = (await readdir(here)).filter((f) => f.endsWith(".mjs") && f !== "run.mjs").sort();
for (const file of files) {
  const { tests = {}, options = {} } = await import(join(here, file));
  for (const [title, test] of Object.entries(tests)) {
    const name = `${file.slice(0, -4)}: ${title}`;
    if (!ONLY || name.includes(ONLY)) all.push({ name, test, options: options[title] ?? {} });
  }
}
const first = all.filter((t) => t.options.first);
const alone = all.filter((t) => t.options.alone);
const rest = all.filter((t) => !t.options.first && !t.options.alone);
const lanes = Array.from({ length: Number(LANES) }, () => new Lane());
let failed = await runAll([...first, ...rest], lanes);
failed += await runAll(alone, lanes.slice(0, 1));
await Promise.all(lanes.map((lane) => lane.end()));
process.exit(failed > 0 ? 1 : 0);
