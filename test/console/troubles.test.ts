import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { createTaskView } from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { loadConsole } from "@devtool/console";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import type { DevtoolServer } from "@devtool/server";
import type { Browser, BrowserContextOptions } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CHROMIUM, launch } from "../outer/browser.ts";
import {
  accessCode,
  accessOf,
  type ConsolePage,
  clientOf,
  openConsole,
} from "./console-page.ts";

describe.skipIf(CHROMIUM === undefined)(
  "the console when something is not there (skipped without Chromium)",
  () => {
    let workspace: string;
    let data: string;
    let browser: Browser;
    let server: DevtoolServer;

    beforeAll(async () => {
      workspace = join(temporaryDirectory(), "\u{202e}troubles");
      await mkdir(workspace);
      data = temporaryDirectory();
      server = await serveCodingAgent({
        workspace,
        dataDirectory: data,
        site: await loadConsole(),
      });
      browser = await launch();
    });
    afterAll(async () => {
      await browser?.close();
      await server?.close();
    });

    const open = (options?: BrowserContextOptions): Promise<ConsolePage> =>
      openConsole(browser, server, options);
    const addressOf = (place: string): string =>
      `${server.url}/console/#/${place}`;

    it("does not take a session that does not exist for a new one, and says so", async () => {
      await using opened = await open();
      const { page } = opened;
      await page.goto(addressOf("session/nosuch"));
      await page
        .getByRole("alert")
        .getByText('task "nosuch" does not exist')
        .waitFor();
      expect(await page.locator("h1").textContent()).toBe("Untitled");
      expect(await page.locator(".session").getAttribute("aria-label")).toBe(
        "Untitled",
      );
    });

    it("says in its own words that the server cannot be reached", async () => {
      await using opened = await open({ locale: "de-DE" });
      const { page } = opened;
      await page.route(/GetAllSlashCommands|ReadAudit/, (route) =>
        route.abort(),
      );
      await page.goto(addressOf("new/unreachable"));
      await page.getByLabel("Nachricht").fill("/about");
      await page.keyboard.press("Enter");
      const problem = page.getByText("Der Server ist nicht erreichbar");
      await problem.waitFor();
      await page.goto(
        addressOf(`session/${await sessionOf("text Hello.")}/audit`),
      );
      await problem.waitFor();
      // It asks again, and has the answer once the server is there.
      await page.unroute(/GetAllSlashCommands|ReadAudit/);
      await page.getByText("keine Werkzeugaufrufe").waitFor();
      expect(await problem.count()).toBe(0);
    });

    it("says why it cannot list the sessions", async () => {
      await using opened = await open();
      const { page } = opened;
      await page.locator(".sessions").waitFor();
      await page.route(/WatchTasks/, (route) => route.fulfill({ status: 403 }));
      await page.reload();
      await page.locator(".sessions .status", { hasText: "403" }).waitFor();
    });

    it("lets a browser in again by the address of a code, in the page that had none", async () => {
      await using opened = await open();
      const { page } = opened;
      await page.locator(".sessions").waitFor();
      const access = accessOf(server, server.token);
      for (const { id } of (await access.listBrowserSessions({})).sessions) {
        await access.revokeBrowserSession({ id });
      }
      await page.locator(".no-access").waitFor();
      const code = await accessCode(server);
      await page.goto(`${server.url}/console/#code=${code}`);
      await page.locator(".sessions").waitFor();
      expect(page.url()).not.toContain(code);
    });

    it("shows a message that is on its way, and nothing to choose for it any more", async () => {
      await using opened = await open();
      const { page } = opened;
      const release = Promise.withResolvers<void>();
      await page.route(/StreamMessage/, async (route) => {
        await release.promise;
        await route.continue();
      });
      await page.goto(addressOf("new/on-its-way"));
      await page.getByLabel("Workspace").waitFor();
      await page.getByLabel("Message").fill("text Arrived.");
      await page.keyboard.press("Enter");
      await page.locator(".queued", { hasText: "text Arrived." }).waitFor();
      await page.locator(".queued", { hasText: "Sending" }).waitFor();
      expect(await page.getByLabel("Workspace").count()).toBe(0);
      release.resolve();
      await page.locator(".prose", { hasText: "Arrived." }).waitFor();
      expect(await page.locator(".queued").count()).toBe(0);
    });

    it("shows characters of a path that would turn it around", async () => {
      const taskId = await sessionOf("text Hello.");
      await using opened = await open();
      const { page } = opened;
      await page.goto(addressOf(`session/${taskId}`));
      for (const place of [".session-about .facts", ".row-about"]) {
        await page
          .locator(place, { hasText: "\\u{202e}troubles" })
          .first()
          .waitFor();
      }
      await page.goto(addressOf("server"));
      await page
        .locator(".server li", { hasText: "\\u{202e}troubles" })
        .waitFor();
    });

    it("has room for a new title on a phone", async () => {
      const taskId = await sessionOf("text Hello.");
      await using opened = await open({
        locale: "de-DE",
        viewport: { width: 320, height: 640 },
      });
      const { page } = opened;
      await page.goto(addressOf(`session/${taskId}`));
      await page.getByRole("button", { name: "Umbenennen" }).click();
      const box = await page.getByLabel("Titel").boundingBox();
      expect(box?.width).toBeGreaterThan(200);
    });

    it("asks again for agents and browsers until the server answers", async () => {
      await using opened = await open();
      const { page } = opened;
      let failures = 0;
      const failed = Promise.withResolvers<void>();
      await page.route(/ListAgents|ListBrowserSessions/, (route) => {
        failures++;
        if (failures === 4) failed.resolve();
        return route.abort();
      });
      await page.goto(addressOf("server"));
      await failed.promise;
      await page.unroute(/ListAgents|ListBrowserSessions/);
      await page.locator(".server article h3").first().waitFor();
      await page
        .getByRole("button", { name: "Revoke access" })
        .first()
        .waitFor();
    });

    it("says why the access of a browser could not be revoked", async () => {
      await using opened = await open();
      const { page } = opened;
      await page.goto(addressOf("server"));
      const revoke = page.getByRole("button", { name: "Revoke access" });
      await page.route(/RevokeBrowserSession/, (route) =>
        route.fulfill({
          status: 503,
          contentType: "application/json",
          body: '{"code":"unavailable","message":"the store is away"}',
        }),
      );
      await revoke.first().click();
      await page.getByRole("alert").getByText("the store is away").waitFor();
    });

    it("names what the audit log has in the language of the page, and fits a phone", async () => {
      const taskId = await sessionOf("read missing.txt\ntext Done.");
      await using opened = await open({
        locale: "de-DE",
        viewport: { width: 320, height: 640 },
      });
      const { page } = opened;
      await page.goto(addressOf(`session/${taskId}/audit`));
      await page.locator(".audit td", { hasText: "erlaubt" }).waitFor();
      await page.locator(".audit td", { hasText: "begonnen" }).waitFor();
      const isWide = await page.evaluate(
        'document.querySelector(".audit").scrollWidth > document.querySelector(".audit").clientWidth',
      );
      expect(isWide).toBe(false);
    });

    it("stays with another session that is shown when a checkpoint is restored", async () => {
      const checkpoint = "write kept.txt one\ntext Done.";
      await using opened = await open();
      const { page } = opened;
      await page.goto(addressOf("new/checkpoint"));
      await page.getByLabel("Message").fill(checkpoint);
      await page.keyboard.press("Enter");
      await page
        .locator('.options button[aria-disabled="false"]')
        .first()
        .click();
      await page.locator(".prose", { hasText: "Done." }).waitFor();
      await page.getByRole("link", { name: "Checkpoints" }).click();
      const shown = Promise.withResolvers<void>();
      await page.route(/RunSlashCommand/, async (route) => {
        await shown.promise;
        await route.continue();
      });
      await page
        .getByRole("button", { name: /^Restore a checkpoint/ })
        .first()
        .click();
      await page.goto(addressOf("new/elsewhere"));
      await page.getByLabel("Message").fill("written meanwhile");
      shown.resolve();
      await page.locator(".rows", { hasText: "/restore" }).waitFor();
      expect(new URL(page.url()).hash).toBe("#/new/elsewhere");
    });

    async function sessionOf(prompt: string): Promise<string> {
      const view = createTaskView(clientOf(server));
      await view.send(prompt, AbortSignal.timeout(60_000));
      return view.snapshot().task.id;
    }
  },
);
