import { createTaskView } from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { loadConsole } from "@devtool/console";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import type { DevtoolServer } from "@devtool/server";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CHROMIUM, launch } from "../outer/browser.ts";
import { clientOf, openConsole } from "./console-page.ts";

describe.skipIf(CHROMIUM === undefined)(
  "the focus in the console, for people with a keyboard (skipped without Chromium)",
  () => {
    let workspace: string;
    let browser: Browser;
    let server: DevtoolServer;

    beforeAll(async () => {
      workspace = temporaryDirectory();
      server = await serveCodingAgent({ workspace, site: await loadConsole() });
      browser = await launch();
    });
    afterAll(async () => {
      await browser?.close();
      await server?.close();
    });

    /** Starts a session, and returns its address in the console. */
    async function sessionOf(prompt: string): Promise<string> {
      const view = createTaskView(clientOf(server));
      await view.send(prompt, AbortSignal.timeout(60_000));
      return `${server.url}/console/#/session/${view.snapshot().task.id}`;
    }

    it("is in the conversation after a question was answered", async () => {
      await using opened = await openConsole(browser, server);
      const { page } = opened;
      await page.goto(
        await sessionOf("write a.txt a\nwrite b.txt b\ntext Done."),
      );
      for (const file of ["a.txt", "b.txt"]) {
        const question = page.locator(".approval", { hasText: file });
        await question
          .locator('.options button[aria-disabled="false"]')
          .first()
          .press("Enter");
        await question.waitFor({ state: "detached" });
        await expectFocus(page, 'div[role="log"]');
      }
      await page.locator(".prose", { hasText: "Done." }).waitFor();
      expect(opened.faults()).toEqual([]);
    });

    it("is in the field for a new title, and on the button again when it is saved or discarded", async () => {
      await using opened = await openConsole(browser, server);
      const { page } = opened;
      await page.goto(await sessionOf("text Hello."));
      for (const end of ["Enter", "Escape"]) {
        await page.getByRole("button", { name: "Rename" }).press("Enter");
        await expectFocus(page, 'input[name="title"]');
        await page.keyboard.press(end);
        await expectFocus(page, ".session-about button");
      }
      expect(opened.faults()).toEqual([]);
    });

    it("is where the next message is written when an image was removed", async () => {
      await using opened = await openConsole(browser, server);
      const { page } = opened;
      await page.goto(await sessionOf("text Hello."));
      const buffer = Buffer.from("image");
      await page
        .getByLabel("Add an image")
        .setInputFiles([{ name: "dot.gif", mimeType: "image/gif", buffer }]);
      await page.getByRole("button", { name: "Remove" }).press("Enter");
      await expectFocus(page, "textarea");
    });

    it("is in the question again when its arguments were changed, and asks anew", async () => {
      await using opened = await openConsole(browser, server);
      const { page } = opened;
      await page.goto(await sessionOf("run touch one\ntext Done."));
      const question = page.locator(".approval", { hasText: "touch" });
      await question.getByRole("button", { name: "Edit" }).press("Enter");
      await question.getByLabel("Arguments").fill('{"command":"touch two"}');
      await question.getByRole("button", { name: "Ask again" }).press("Enter");
      await question.locator(".command", { hasText: "touch two" }).waitFor();
      await expectFocus(page, 'div[role="log"]');
      expect(opened.faults()).toEqual([]);
    });

    it("is in the session when its agent was stopped, and on the page when access was revoked", async () => {
      await using other = await openConsole(browser, server);
      await other.page.locator(".sessions").waitFor();
      await using opened = await openConsole(browser, server);
      const { page } = opened;
      await page.goto(await sessionOf("run touch one\ntext Done."));
      await page.getByRole("button", { name: "Stop" }).press("Enter");
      await expectFocus(page, "main");
      await page.goto(`${server.url}/console/#/server`);
      // The newest is the one of this page.
      const revoke = page.getByRole("button", { name: "Revoke access" });
      await revoke.nth(1).waitFor();
      const count = await revoke.count();
      await revoke.nth(1).press("Enter");
      await expect.poll(() => revoke.count()).toBe(count - 1);
      await expectFocus(page, "main");
      expect(opened.faults()).toEqual([]);
    });

    it("is in what is shown when the list makes room for it on a narrow screen, and back", async () => {
      const address = await sessionOf("text Narrow.");
      await using opened = await openConsole(browser, server, {
        viewport: { width: 320, height: 640 },
      });
      const { page } = opened;
      await page.locator(`a[href="${new URL(address).hash}"]`).press("Enter");
      await page.locator(".prose", { hasText: "Narrow." }).waitFor();
      await expectFocus(page, "main");
      await page.getByRole("link", { name: "All sessions" }).press("Enter");
      await expectFocus(page, "nav");
      expect(opened.faults()).toEqual([]);
    });

    it("stays in the list on a wide screen", async () => {
      const address = await sessionOf("text Wide.");
      await using opened = await openConsole(browser, server);
      const { page } = opened;
      const row = page.locator(`a[href="${new URL(address).hash}"]`);
      await row.press("Enter");
      await page.locator(".prose", { hasText: "Wide." }).waitFor();
      await expectFocus(page, `a[href="${new URL(address).hash}"]`);
    });
  },
);

/** Waits until the element that a selector finds has the focus. */
async function expectFocus(page: Page, selector: string): Promise<void> {
  await expect
    .poll(() =>
      page.evaluate(
        `document.activeElement.matches(${JSON.stringify(selector)}) ? ${JSON.stringify(selector)} : document.activeElement.outerHTML.slice(0, 80)`,
      ),
    )
    .toBe(selector);
}
