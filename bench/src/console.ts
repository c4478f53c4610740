/**
 * Measures the console in headless Chromium, through a real server, and prints
 * `name value target PASS|FAIL`: `npx -y pnpm@12 bench:console`.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import {
  bearerInterceptor,
  createDevtoolClient,
  textMessage,
} from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { loadConsole } from "@devtool/console";
import { BrowserAccessService } from "@devtool/schema";
import type { Page } from "playwright-core";
import { launch } from "../../test/outer/browser.ts";
import { median, printRow } from "./load/row.ts";

const PAINTS = 5;
const CHUNKS = 10_000;
const SESSIONS = 1_000;

/**
 * Records in the page when its heading is painted, and how long its tasks take.
 */
const OBSERVER = `globalThis.longest = 0;
new PerformanceObserver((list) => {
  for (const { duration } of list.getEntries()) globalThis.longest = Math.max(globalThis.longest, duration);
}).observe({ type: "longtask", buffered: true });
globalThis.painted = new Promise((resolve) => {
  const look = () => requestAnimationFrame(document.querySelector("h1") ? () => resolve(performance.now()) : look);
  look();
});`;

/**
 * Resolves in the page with the first frame that shows all of a session that
 * has ended.
 */
const ALL_SHOWN = `new Promise((resolve) => {
  const parts = ['.session-about .state[data-state="COMPLETED"]', '.scroll[aria-busy="false"]'];
  const look = () => (parts.every((part) => document.querySelector(part)) ? resolve() : requestAnimationFrame(look));
  look();
})`;

const workspace = await mkdtemp(join(tmpdir(), "devtool-console-bench-"));
await using server = await serveCodingAgent({
  workspace,
  site: await loadConsole(),
});
const interceptors = [bearerInterceptor(server.token)];
const transport = createConnectTransport({
  baseUrl: server.url,
  httpVersion: "1.1",
  interceptors,
});
const client = createDevtoolClient(transport);
const browser = await launch();
try {
  await paint();
  const page = await open();
  await stream(page);
  await scroll(page);
} finally {
  await browser.close();
  await rm(workspace, { recursive: true });
}

/**
 * Opens the page with a code, in a browser profile of its own, until its
 * heading is there.
 */
async function open(): Promise<Page> {
  const page = await browser.newPage({
    viewport: { width: 1280, height: 860 },
  });
  await page.addInitScript(OBSERVER);
  const { code } = await createClient(
    BrowserAccessService,
    transport,
  ).createAccessCode({});
  await page.goto(`${server.url}/console/#code=${code}`);
  await page.locator("h1").first().waitFor();
  return page;
}

/**
 * Measures from the navigation to the frame after the heading, with nothing in
 * the cache.
 */
async function paint(): Promise<void> {
  const found: number[] = [];
  for (let round = 0; round < PAINTS; round++) {
    const page = await open();
    found.push(Number(await page.evaluate("globalThis.painted")));
    await page.close();
  }
  printRow({ name: "paint.ms", value: median(found), target: { atMost: 400 } });
}

/**
 * Reads a log of many chunks, and one that is written meanwhile, until all of
 * it is shown.
 */
async function stream(page: Page): Promise<void> {
  const paragraph = "repeat 49 some **words** \ntext and the end.\\n\\n";
  const text = Array.from({ length: CHUNKS / 50 }, () => paragraph).join("\n");
  const { task } = await client.tasks.sendMessage({
    message: textMessage(crypto.randomUUID(), text),
  });
  await longestTask(page);
  await measure(page, "read", () =>
    page.goto(`${server.url}/console/#/session/${task?.id}`),
  );
  await page.goto(`${server.url}/console/#/new/bench`);
  await page.getByLabel("Message").fill(text);
  await longestTask(page);
  await measure(page, "live", () =>
    page.getByRole("button", { name: "Send" }).click(),
  );
}

async function measure(
  page: Page,
  name: string,
  begin: () => Promise<unknown>,
): Promise<void> {
  const start = performance.now();
  await begin();
  // The locators of playwright look every 500 ms after a while, which is more
  // than what is measured.
  await page.evaluate(ALL_SHOWN);
  const seconds = (performance.now() - start) / 1000;
  const shown = await page.locator(".prose > p").count();
  if (shown !== CHUNKS / 50) {
    throw new Error(`the page shows ${shown} paragraphs, not ${CHUNKS / 50}`);
  }
  printRow({
    name: `${name}.events-per-second`,
    value: CHUNKS / seconds,
    target: { atLeast: 8_000 },
  });
  printRow({
    name: `${name}.longest-task-ms`,
    value: await longestTask(page),
    target: { atMost: 120 },
  });
}

async function scroll(page: Page): Promise<void> {
  for (let made = 0; made < SESSIONS; made += 50) {
    const some = Array.from({ length: 50 }, (_, index) =>
      textMessage(crypto.randomUUID(), `text Session ${made + index}`),
    );
    await Promise.all(
      some.map((message) => client.tasks.sendMessage({ message })),
    );
  }
  while (
    (await page.getByRole("button", { name: "Older sessions" }).count()) > 0
  ) {
    await page.getByRole("button", { name: "Older sessions" }).click();
  }
  await longestTask(page);
  for (let step = 0; step < 100; step++) {
    await page.evaluate(
      `document.querySelector(".rows").scrollTo(0, ${step * 600})`,
    );
  }
  printRow({
    name: "scroll.longest-task-ms",
    value: await longestTask(page),
    target: { atMost: 50 },
  });
}

/**
 * The longest task of the page since the last call, in milliseconds. 0 for
 * tasks below 50 ms, which browsers do not report.
 */
async function longestTask(page: Page): Promise<number> {
  const found: unknown = await page.evaluate(
    "(() => { const last = globalThis.longest; globalThis.longest = 0; return last; })()",
  );
  return Number(found);
}
