/**
 * Measures the console in headless Chromium, through a real server, and prints what it finds: `npx -y pnpm@12 bench:console`. The targets are
 * 8,000 events a second with no task over 120 ms, and no task over 50 ms while 1,000 sessions scroll.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { bearerInterceptor, createDevtoolClient, textMessage } from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { loadConsole } from "@devtool/console";
import { BrowserAccessService } from "@devtool/schema";
import type { Page } from "playwright-core";
import { launch } from "../../test/outer/browser.ts";

const CHUNKS = 10_000;
const SESSIONS = 1_000;

const workspace = await mkdtemp(join(tmpdir(), "devtool-console-bench-"));
await using server = await serveCodingAgent({ workspace, site: await loadConsole() });
const interceptors = [bearerInterceptor(server.token)];
const transport = createConnectTransport({ baseUrl: server.url, httpVersion: "1.1", interceptors });
const client = createDevtoolClient(transport);
const browser = await launch();
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 860 } });
  await page.addInitScript(observeTasks());
  const { code } = await createClient(BrowserAccessService, transport).createAccessCode({});
  const opened = performance.now();
  await page.goto(`${server.url}/console/#code=${code}`);
  await page.locator("h1").first().waitFor();
  report("first heading", `${(performance.now() - opened).toFixed(0)} ms`);
  await streamed(page);
  await scrolled(page);
} finally {
  await browser.close();
  await rm(workspace, { recursive: true });
}

/** Reads a log of many chunks, and one that is written meanwhile. */
async function streamed(page: Page): Promise<void> {
  const paragraph = "repeat 49 some **words** \ntext and the end.\\n\\n";
  const text = Array.from({ length: CHUNKS / 50 }, () => paragraph).join("\n");
  const { task } = await client.tasks.sendMessage({ message: textMessage(crypto.randomUUID(), text) });
  await longestTask(page);
  const start = performance.now();
  await page.goto(`${server.url}/console/#/session/${task?.id}`);
  await page.locator('.session-about .state[data-state="COMPLETED"]').waitFor();
  const seconds = (performance.now() - start) / 1000;
  report(
    `${CHUNKS} chunks, read`,
    `${(Number(task?.sequence) / seconds).toFixed(0)} events/s, longest task ${await longestTask(page)} ms`,
  );
  await page.goto(`${server.url}/console/#/new/bench`);
  await page.getByLabel("Message").fill(text);
  const sent = performance.now();
  await page.getByRole("button", { name: "Send" }).click();
  await page.locator('.session-about .state[data-state="COMPLETED"]').waitFor();
  const live = (performance.now() - sent) / 1000;
  report(
    `${CHUNKS} chunks, live`,
    `${(CHUNKS / live).toFixed(0)} events/s, longest task ${await longestTask(page)} ms`,
  );
}

async function scrolled(page: Page): Promise<void> {
  for (let made = 0; made < SESSIONS; made += 50) {
    const some = Array.from({ length: 50 }, (_, index) =>
      textMessage(crypto.randomUUID(), `text Session ${made + index}`),
    );
    await Promise.all(some.map((message) => client.tasks.sendMessage({ message })));
  }
  while ((await page.getByRole("button", { name: "Older sessions" }).count()) > 0) {
    await page.getByRole("button", { name: "Older sessions" }).click();
  }
  await longestTask(page);
  for (let step = 0; step < 100; step++) {
    await page.evaluate(`document.querySelector(".rows").scrollTo(0, ${step * 600})`);
  }
  report(`${SESSIONS} sessions, scrolled`, `longest task ${await longestTask(page)} ms`);
}

/** The longest task of the page since the last call, in milliseconds; tasks below 50 ms are not reported by browsers. */
async function longestTask(page: Page): Promise<string> {
  const found: unknown = await page.evaluate(
    "(() => { const last = globalThis.longest; globalThis.longest = 0; return last; })()",
  );
  return Number(found) === 0 ? "below 50" : Number(found).toFixed(0);
}

function observeTasks(): string {
  return `globalThis.longest = 0;
new PerformanceObserver((list) => {
  for (const { duration } of list.getEntries()) globalThis.longest = Math.max(globalThis.longest, duration);
}).observe({ type: "longtask", buffered: true });`;
}

function report(what: string, found: string): void {
  console.log(`${what.padEnd(26)} ${found}`);
}
