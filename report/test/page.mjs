// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Opens report pages in headless Chromium and uses them as a person would.
//
//   node test/page.mjs PAGE…             checks; prints what failed, exit code 1
//   node test/page.mjs --shots DIR PAGE  takes pictures instead: light, dark, narrow, print
//
// CHROMIUM names the browser; READY_MS is how long a page may take (3000).
import { strict as assert } from "node:assert";
import { existsSync, mkdirSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const places = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const executablePath = places.find((place) => place && existsSync(place));
const readyMs = Number(process.env.READY_MS ?? 3000);

const [first, ...rest] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
try {
  if (first === "--shots") {
    await shots(rest[0], rest[1]);
  } else {
    for (const page of [first, ...rest]) await check(page);
  }
} catch (error) {
  console.error(String(error.message ?? error));
  process.exitCode = 1;
} finally {
  await browser.close();
}

async function open(path, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, reducedMotion: "reduce", ...options });
  const page = await context.newPage();
  const faults = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && faults.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => faults.push(`error: ${error.message}`));
  page.on("request", (request) => !/^(file|data|blob):/.test(request.url()) && faults.push(`request: ${request.url()}`));
  page.on("dialog", (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  const start = Date.now();
  await page.goto(pathToFileURL(resolve(path)).href);
  await page.waitForFunction(() => document.documentElement.dataset.ready === "true", null, { timeout: readyMs });
  return { page, faults, context, tookMs: Date.now() - start };
}

async function check(path) {
  const { page, faults, context, tookMs } = await open(path);
  const say = (what) => `${path}: ${what}`;
  assert.ok(tookMs <= readyMs, say(`ready after ${tookMs} ms, not ${readyMs}`));
  assert.equal(await page.evaluate(() => window.injected), undefined, say("a name ran as a script"));
  assert.equal(await page.locator("img, iframe, object, embed, link").count(), 0, say("something is loaded or injected"));
  const hasData = (await page.locator("#timeline").count()) > 0;
  if (hasData) {
    await chartsAreDrawn(page, say);
    await zoomWorks(page, say);
    await tablesWork(page, say);
    await flameWorks(page, say);
  }
  await keyboardReachesAll(page, say);
  await page.locator("nav .theme").click();
  await page.setViewportSize({ width: 360, height: 740 });
  await page.waitForTimeout(150);
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(width <= 360, say(`${width} pixels wide on a screen of 360`));
  assert.deepEqual(faults, [], say(faults.join("; ")));
  await context.close();
  console.log(`${path}: fine, ready after ${tookMs} ms`);
}

async function chartsAreDrawn(page, say) {
  const empty = await page.evaluate(() => {
    const isDrawn = (canvas) => {
      const { width, height } = canvas;
      const pixels = width && height ? canvas.getContext("2d").getImageData(0, 0, width, height).data : [];
      return pixels.some((value) => value > 0);
    };
    const charts = [...document.querySelectorAll("[data-chart]")];
    return charts
      .filter((chart) => {
        const canvases = [...chart.querySelectorAll("canvas")];
        return canvases.length > 0 ? !canvases.every(isDrawn) : chart.children.length === 0;
      })
      .map((chart) => chart.dataset.chart);
  });
  assert.deepEqual(empty, [], say(`charts that are empty: ${empty}`));
  assert.ok((await page.locator("[data-chart]").count()) >= 2, say("there are charts"));
}

async function zoomWorks(page, say) {
  const section = page.locator("#timeline");
  const status = () => section.locator("output").innerText();
  const whole = await status();
  assert.match(whole, /whole run/, say("the timeline begins with the whole run"));
  await section.getByRole("button", { name: "Zoom in" }).click();
  const closer = await status();
  await section.getByRole("button", { name: "Whole run" }).click({ timeout: 2000 }).catch(() => {});
  if (closer === whole) return; // A run of a few bins cannot be looked at more closely.
  assert.equal(await status(), whole, say("the whole run is back"));
  const chart = section.locator("[data-chart=timeline]");
  await chart.focus();
  await page.keyboard.press("+");
  assert.notEqual(await status(), whole, say("the keyboard zooms"));
  await page.keyboard.press("0");
  assert.equal(await status(), whole, say("the keyboard shows the whole run"));
  const box = await section.locator(".u-over").boundingBox();
  await page.mouse.move(box.x + box.width * 0.3, box.y + 60);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.6, box.y + 60, { steps: 4 });
  await page.mouse.up();
  assert.notEqual(await status(), whole, say("dragging zooms"));
  await section.getByRole("button", { name: "Whole run" }).click();
  await section.getByText("calls", { exact: true }).click();
  const select = section.locator("select");
  const options = await select.locator("option").evaluateAll((all) => all.map((option) => option.value));
  await select.selectOption(options[options.length - 1]);
  await select.selectOption("all");
}

async function tablesWork(page, say) {
  const files = page.locator("#files .table");
  const rows = () => files.locator("tbody tr").count();
  const n = await rows();
  assert.ok(n > 0, say("files are listed"));
  await files.getByRole("button", { name: "operations" }).click();
  assert.equal(await files.locator("th[aria-sort=descending]").innerText(), "operations ▼".replace(" ▼", ""), say("it is sorted"));
  await files.getByRole("button", { name: "operations" }).click();
  assert.equal(await files.locator("th[aria-sort=ascending]").count(), 1, say("it is sorted the other way"));
  const filter = files.getByRole("searchbox");
  if ((await filter.count()) > 0) {
    await filter.fill("there is no such file");
    assert.equal(await rows(), 0, say("the filter hides what does not match"));
    await filter.fill("");
    assert.equal(await rows(), n, say("the filter can be cleared"));
  }
  await files.locator("button.row").first().click();
  await files.getByRole("button", { name: "Copy" }).click();
  await page.waitForFunction(() => /copied|not allow/.test(document.querySelector("#files .table .status").textContent));
}

async function flameWorks(page, say) {
  const flame = page.locator("#flame");
  if ((await flame.count()) === 0) return;
  const canvas = flame.locator("canvas");
  await canvas.focus();
  await page.keyboard.press("ArrowUp");
  const status = await flame.locator("output").innerText();
  assert.notEqual(status, "", say("the keyboard moves in the flame graph"));
  await page.keyboard.press("Enter");
  assert.ok(await flame.getByRole("button", { name: "Whole program" }).isEnabled(), say("the flame graph is zoomed"));
  await page.keyboard.press("Escape");
  await flame.getByRole("searchbox").fill("a");
  await flame.getByRole("searchbox").fill("");
}

/// Every control that can be seen gets the focus by the Tab key; of a group of
/// radio buttons one does.
async function keyboardReachesAll(page, say) {
  const n = await page.evaluate(() => {
    const all = [...document.querySelectorAll("a[href], button, select, input, summary, [tabindex='0']")];
    const groups = new Set();
    const wanted = all.filter((element) => {
      if (element.disabled || element.closest("[hidden]") || !element.checkVisibility()) return false;
      if (element.type !== "radio") return true;
      const isFirst = !groups.has(element.name);
      groups.add(element.name);
      return isFirst;
    });
    wanted.forEach((element) => { element.dataset.wanted = element.type === "radio" ? element.name : "yes"; });
    window.scrollTo(0, 0);
    document.activeElement?.blur();
    return wanted.length;
  });
  for (let presses = 0; presses < n + 20; presses += 1) {
    await page.keyboard.press("Tab");
    await page.evaluate(() => {
      const focused = document.activeElement;
      if (focused.type === "radio") {
        document.querySelectorAll("[data-wanted]").forEach((element) => element.dataset.wanted === focused.name && delete element.dataset.wanted);
      }
      delete focused.dataset.wanted;
    });
  }
  const missed = await page.evaluate(() => [...document.querySelectorAll("[data-wanted]")].map((element) => element.outerHTML.slice(0, 120)));
  assert.deepEqual(missed, [], say(`not reached by the keyboard: ${missed}`));
}

async function shots(directory, path) {
  mkdirSync(directory, { recursive: true });
  const take = async (name, options, media) => {
    const { page, context } = await open(path, options);
    if (media) await page.emulateMedia({ media });
    await page.waitForTimeout(300);
    await page.screenshot({ path: `${directory}/${name}.png`, fullPage: true });
    await context.close();
  };
  await take("light", {});
  await take("dark", { colorScheme: "dark" });
  await take("narrow", { viewport: { width: 390, height: 844 } });
  await take("print", { viewport: { width: 794, height: 1123 } }, "print");
}
