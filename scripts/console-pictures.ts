/**
 * Takes the pictures of the console anew: `npx -y pnpm@12 console-pictures [directory]`. Default:
 * `docs/pictures`.
 */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { bearerInterceptor, createDevtoolClient, createTaskView } from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { loadConsole } from "@devtool/console";
import { BrowserAccessService } from "@devtool/schema";
import type { Browser, Page } from "playwright-core";
import { launch } from "../test/outer/browser.ts";

const destination = resolve(process.argv[2] ?? "docs/pictures");

/** What the scripted agent plays for the pictures. */
const REVIEW = [
  "think",
  "text I read the three routes. **Two of them** answer before the body is read, so a slow client holds a connection:\\n\\n| route | waits | closes |\\n| --- | --- | --- |\\n| `/upload` | yes | no |\\n| `/health` | no | yes |\\n\\n```ts\\nexport function timeout(request: Request) {\\n  return AbortSignal.any([request.signal, AbortSignal.timeout(30_000)]);\\n}\\n```\\n\\nI will change the limit next.",
  "run printf '\\033[32mok\\033[0m 12 tests\\n\\033[31mfailed\\033[0m 1 test: upload times out\\n'",
  "read limits.ts",
  "write limits.ts export const bodyMs = 30_000;\\nexport const idleMs = 5_000;\\nexport const maxBytes = 4 * 1024 * 1024;\\n",
  "text Done.",
].join("\n");

const workspace = await mkdtemp(join(tmpdir(), "shop-api-"));
await writeFile(join(workspace, "limits.ts"), "export const bodyMs = 10_000;\nexport const idleMs = 5_000;\n");
await mkdir(destination, { recursive: true });
await using server = await serveCodingAgent({ workspace, site: await loadConsole() });
const interceptors = [bearerInterceptor(server.token)];
const transport = createConnectTransport({ baseUrl: server.url, httpVersion: "1.1", interceptors });
const client = createDevtoolClient(transport);
const soon = (): AbortSignal => AbortSignal.timeout(60_000);

for (const prompt of [
  "text Which tests are slow?",
  "text Release notes for 2.4",
  "fail 400",
  "text Rename the module of prices",
]) {
  await createTaskView(client).send(prompt, soon());
}
const review = createTaskView(client);
await review.send(REVIEW, soon());
await review.rename("Slow clients hold connections", soon());
const { id } = review.snapshot().task;

const browser = await launch();
try {
  for (const scheme of ["light", "dark"] as const) {
    for (const width of [1280, 320]) {
      await using page = await open(browser, scheme, width);
      await picture(page, `list-${scheme}-${width}`);
      await page.goto(`${server.url}/console/#/session/${id}`);
      await page.locator(".approval").waitFor();
      await picture(page, `session-${scheme}-${width}`);
      await page.goto(`${server.url}/console/#/new/1`);
      await page.getByRole("textbox").last().fill("/");
      await page.getByRole("listbox").waitFor();
      await picture(page, `new-${scheme}-${width}`);
      await page.goto(`${server.url}/console/#/server`);
      await page.locator(".server li").first().waitFor();
      await picture(page, `server-${scheme}-${width}`);
    }
  }
} finally {
  await browser.close();
  await rm(workspace, { recursive: true });
}

async function open(from: Browser, colorScheme: "light" | "dark", width: number): Promise<Page> {
  const page = await from.newPage({
    colorScheme,
    viewport: { width, height: width > 700 ? 860 : 640 },
    deviceScaleFactor: 2,
  });
  page.on("console", (message) => console.log(message.type(), message.text()));
  const { code } = await createClient(BrowserAccessService, transport).createAccessCode({});
  await page.goto(`${server.url}/console/#code=${code}`);
  await page.locator(".row").first().waitFor();
  return page;
}

async function picture(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: join(destination, `${name}.png`), animations: "disabled" });
}
