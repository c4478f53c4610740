import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { serveCodingAgent } from "@devtool/coding-agent";
import { fileText } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import type { DevtoolServer } from "@devtool/server";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LEFT_TO_CI } from "../depth.ts";
import {
  bundle,
  CHROMIUM,
  launch,
  type Site,
  serveFiles,
} from "../outer/browser.ts";

const EXAMPLE = fileURLToPath(
  new URL("../../examples/react/", import.meta.url),
);

describe.skipIf(CHROMIUM === undefined)(
  "React in Chromium (skipped without Chromium)",
  () => {
    let base: string;
    let browser: Browser;
    let example: Site;
    let readme: Site;
    let server: DevtoolServer;

    beforeAll(async () => {
      base = temporaryDirectory();
      const html = fileText(EXAMPLE, "index.html");
      example = await siteOf(html, "../../examples/react/page.tsx");
      readme = await siteOf(
        '<!doctype html><body><script type="module" src="/page.js"></script></body>',
        await snippet(),
      );
      server = await serveCodingAgent({
        workspace: base,
        allowedOrigins: [example.origin, readme.origin],
      });
      browser = await launch();
    });
    afterAll(async () => {
      await browser?.close();
      await server?.close();
      await example?.[Symbol.asyncDispose]();
      await readme?.[Symbol.asyncDispose]();
    });

    it.skipIf(LEFT_TO_CI !== "")(
      `runs the page of the README as it stands${LEFT_TO_CI}`,
      async () => {
        await using page = await open(readme);
        await page.getByLabel("Message").fill("write readme.txt From the page");
        await page.getByLabel("Message").press("Enter");
        await page.getByRole("button", { name: "Allow once" }).click();
        await expect
          .poll(() => readFile(join(base, "readme.txt"), "utf8").catch(String))
          .toBe("From the page");
        await page
          .getByRole("button", { name: "Allow once" })
          .waitFor({ state: "detached" });
      },
    );

    it("edits what a call writes before it is approved, and says who answered", async () => {
      await using page = await open(example);
      await send(page, "write edited.txt proposed\ntext Done.");
      await page.getByLabel("Content").fill("changed");
      await page
        .getByRole("button", { name: /\(changed\)/ })
        .first()
        .click();
      await page.getByText("Done.", { exact: true }).waitFor();
      await page.getByText("succeeded, answered by example").waitFor();
      expect(fileText(base, "edited.txt")).toBe("changed");
    });

    it("shows in one page what another one does, and lets the first answer win", async () => {
      await using one = await open(example);
      await using other = await open(example);
      await send(one, "write shared.txt text");
      await one.getByRole("button", { name: "Allow once" }).waitFor();
      await other
        .getByRole("button", {
          name: /^write shared.txt text \(INPUT_REQUIRED\)/,
        })
        .click();
      await other.getByRole("button", { name: "Allow once" }).click();
      await one.locator(".state", { hasText: "COMPLETED" }).waitFor();
      await expect
        .poll(() => one.getByRole("button", { name: "Allow once" }).count())
        .toBe(0);
    });

    it("delivers a message although its page shows another session at once", async () => {
      await using page = await open(example);
      await send(page, "text Another session.");
      await page.locator(".state", { hasText: "COMPLETED" }).waitFor();
      await page.getByRole("button", { name: "New session" }).click();
      const shown = Promise.withResolvers<void>();
      // The message is still in the browser when its session leaves the page.
      await page.route("**/StreamMessage", async (route) => {
        await shown.promise;
        await route.continue();
      });
      await send(page, "text Left behind.");
      await page.getByText("Sending …").waitFor();
      await page.getByRole("button", { name: /^text Another session/ }).click();
      await page
        .locator(".text", { hasText: "Another session." })
        .last()
        .waitFor();
      shown.resolve();
      await page
        .getByRole("button", { name: /^text Left behind\. \(COMPLETED\)/ })
        .waitFor();
    });

    it.skipIf(LEFT_TO_CI !== "")(
      `says why a message was refused, until one is accepted${LEFT_TO_CI}`,
      async () => {
        await using page = await open(
          example,
          `http://127.0.0.1:${new URL(server.url).port}`,
          "wrong",
        );
        await send(page, "text Never.");
        await page
          .getByRole("alert")
          .filter({ hasText: "unauthenticated" })
          .waitFor();
      },
    );

    it("renders as often as the screen, and unchanged items not at all", async () => {
      await using page = await open(example);
      await send(page, "text one");
      await page.locator(".text", { hasText: "one" }).last().waitFor();
      await page.evaluate(`{
      const first = document.querySelector(".text");
      globalThis.changes = 0;
      new MutationObserver((all) => (globalThis.changes += all.length)).observe(first, { subtree: true, childList: true, characterData: true });
    }`);
      await send(
        page,
        Array.from({ length: 50 }, (_, line) => `text line ${line}`).join("\n"),
      );
      await page.locator(".text", { hasText: "line 49" }).last().waitFor();
      expect(await page.evaluate("globalThis.changes")).toBe(0);
    });

    async function siteOf(html: string, entry: string): Promise<Site> {
      const script = await bundle(entry);
      return serveFiles({
        "/": { type: "text/html", text: html },
        "/page.js": { type: "text/javascript", text: script },
      });
    }

    /**
     * Writes the page of the README to a file in the clone, where a bundler
     * finds its packages, and returns its path.
     */
    async function snippet(): Promise<string> {
      const text = await readFile(
        new URL("../../packages/react/README.md", import.meta.url),
        "utf8",
      );
      const [, code = ""] = /```tsx\n([\s\S]*?)```/.exec(text) ?? [];
      const directory = fileURLToPath(
        new URL("../../node_modules/.cache/devtool-readme", import.meta.url),
      );
      await mkdir(directory, { recursive: true });
      const file = join(directory, "react.tsx");
      await writeFile(file, code);
      return file;
    }

    async function open(
      site: Site,
      url = server.url,
      token = server.token,
    ): Promise<Page> {
      const page = await browser.newPage();
      await page.goto(`${site.origin}/#url=${url}&token=${token}`);
      return page;
    }

    async function send(page: Page, text: string): Promise<void> {
      await page.getByLabel("Message").fill(text);
      await page.getByRole("button", { name: "Send" }).click();
    }
  },
);
