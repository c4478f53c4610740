import { createTaskView } from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { loadConsole } from "@devtool/console";
import type { DevtoolServer } from "@devtool/server";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LEFT_TO_CI } from "../depth.ts";
import { CHROMIUM, launch } from "../outer/browser.ts";
import { axeFindings } from "./axe.ts";
import { clientOf, openConsole } from "./console-page.ts";

const PARTS = ["timeline", "audit", "checkpoints", "rules"];

describe.skipIf(CHROMIUM === undefined || LEFT_TO_CI !== "")(
  `the pages of the console in other languages (skipped without Chromium)${LEFT_TO_CI}`,
  () => {
    let browser: Browser;
    let server: DevtoolServer;
    let taskId: string;
    beforeAll(async () => {
      server = await serveCodingAgent({
        workspace: process.cwd(),
        sandbox: "none",
        site: await loadConsole(),
      });
      const view = createTaskView(clientOf(server));
      await view.send("run echo seen\ntext Seen.", AbortSignal.timeout(60_000));
      taskId = view.snapshot().task.id;
      browser = await launch();
    });
    afterAll(async () => {
      await browser?.close();
      await server?.close();
    });

    it.each([
      ["de-DE", "Alle Sitzungen"],
      ["zh-CN", "全部会话"],
    ])(
      "are opened by the keyboard in %s, at 320 pixels and in the dark, without a fault that axe finds",
      async (locale, back) => {
        const options = {
          locale,
          colorScheme: "dark" as const,
          viewport: { width: 320, height: 600 },
        };
        await using opened = await openConsole(browser, server, options);
        const { page } = opened;
        const found: unknown[] = [];
        await openByKey(page, 'a[href="#/server"]');
        await page.locator(".server article h3").first().waitFor();
        found.push(...(await axeFindings(page)));
        await openByKey(page, ".back");
        await openByKey(page, ".row");
        expect(await page.locator(".back").textContent()).toContain(back);
        for (const part of PARTS) {
          await openByKey(page, `.parts a[href$="${taskId}/${part}"]`);
          await page
            .locator(`.parts a[href$="/${part}"][aria-current="page"]`)
            .waitFor();
          await page
            .locator(".event, .audit tr, .session .hint, .facts-page > *")
            .first()
            .waitFor();
          found.push(...(await axeFindings(page)));
        }
        expect(found).toEqual([]);
        expect(opened.faults()).toEqual([]);
      },
    );
  },
);

/** Goes to an element by the Tab key alone, and opens it by Enter. */
async function openByKey(page: Page, selector: string): Promise<void> {
  await page.locator(selector).first().waitFor();
  const isFocused = `document.querySelector(${JSON.stringify(selector)}) === document.activeElement`;
  for (let pressed = 0; pressed < 60; pressed++) {
    await page.keyboard.press("Tab");
    if (await page.evaluate(isFocused)) return page.keyboard.press("Enter");
  }
  throw new Error(`"${selector}" is not reached by the Tab key`);
}
