import { textMessage } from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { loadConsole } from "@devtool/console";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { ApprovalMode } from "@devtool/schema";
import type { DevtoolServer } from "@devtool/server";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CHROMIUM, launch } from "../outer/browser.ts";
import { clientOf, openConsole } from "./console-page.ts";

describe.skipIf(CHROMIUM === undefined)(
  "the details of the console in Chromium (skipped without Chromium)",
  () => {
    let workspace: string;
    let browser: Browser;
    let server: DevtoolServer;

    beforeAll(async () => {
      workspace = temporaryDirectory();
      server = await serveCodingAgent({
        workspace,
        site: await loadConsole(),
        approvalMode: ApprovalMode.YOLO,
        sandbox: "none",
      });
      browser = await launch();
    });
    afterAll(async () => {
      await browser?.close();
      await server?.close();
    });

    it("C10, C7: an empty list says what to try, and a long one is searched", async () => {
      await using opened = await openConsole(browser, server);
      const { page } = opened;
      await page.getByText("devtool run").waitFor();
      for (const name of ["needle", ..."abcdefghi"]) {
        await task(`text about ${name}`);
      }
      const search = page.getByRole("searchbox", { name: "Find a session" });
      await search.fill("NEEDLE");
      await expect.poll(() => page.locator(".row").count()).toBe(1);
      expect(await page.locator(".row-title").textContent()).toContain(
        "needle",
      );
      expect(opened.faults()).toEqual([]);
    });

    it("shows a goal with its checks, pauses it, and goes on with it", async () => {
      const client = clientOf(server);
      const { task: { id: taskId = "" } = {} } = await client.tasks.sendMessage(
        {
          message: textMessage("with-goal", "wait 60000"),
          messageSettings: { goal: { checks: ["test -e reached"] } },
          returnImmediately: true,
        },
      );
      await using opened = await openConsole(browser, server);
      const { page } = opened;
      await page.goto(`${server.url}/console/#/session/${taskId}`);
      await page.getByText("Goal · the agent works for it · 0 turns").waitFor();
      await page.getByText("test -e reached").waitFor();
      const pause = page.getByRole("button", { name: "Pause" });
      await page.route("**/SetGoalState", (route) =>
        route.fulfill({
          status: 403,
          json: { code: "permission_denied", message: "not yours" },
        }),
      );
      await pause.click();
      await page.getByRole("alert").getByText("not yours").waitFor();
      await page.unroute("**/SetGoalState");
      await pause.click();
      await page.getByText("Goal · paused · 0 turns").waitFor();
      const row = page.locator(".row[aria-current]");
      await row.getByText("Goal: paused").waitFor();
      expect(await page.getByRole("alert").count()).toBe(0);
      await page.getByRole("button", { name: "Go on" }).click();
      await page.getByText("Goal · the agent works for it").waitFor();
      await client.tasks.cancelTask({ taskId });
      await page.getByText("Goal · not achieved").waitFor();
      expect(await page.getByRole("button", { name: "Pause" }).count()).toBe(0);
      expect(opened.faults()).toEqual([]);
    });

    it("goes on from before no message that a goal gave the agent", async () => {
      const client = clientOf(server);
      const { task: { id: taskId = "" } = {} } = await client.tasks.sendMessage(
        {
          message: textMessage("to-go-on", "text Done."),
          messageSettings: { goal: { checks: ["false"], maxTurns: 2 } },
        },
      );
      await using opened = await openConsole(browser, server);
      const { page } = opened;
      await page.goto(`${server.url}/console/#/session/${taskId}`);
      await page.getByText("Goal · not achieved").waitFor();
      await expect.poll(() => page.locator(".prompt").count()).toBe(2);
      expect(await page.locator(".rewind").count()).toBe(1);
    });

    it("C1: the timeline says of each event what it is about, how long and how large, and finds some", async () => {
      const id = await task("write timed.txt 1\ntext done");
      await using opened = await openConsole(browser, server);
      const { page } = opened;
      await page.goto(`${server.url}/console/#/session/${id}/timeline`);
      const rows = page.locator(".event > summary");
      await page
        .getByRole("searchbox", { name: "Find in the events" })
        .fill("write_file");
      await expect
        .poll(() => rows.last().textContent())
        .toMatch(/toolCall.*write_file SUCCEEDED[\d,]+ ms · [\d,]+ bytes$/);
      const all = await rows.allTextContents();
      expect(all.every((row) => row.includes("write_file"))).toBe(true);
      await rows.last().click();
      await page.locator(".event .output", { hasText: "timed.txt" }).waitFor();
      expect(await isWider(page)).toBe(false);
      await page.setViewportSize({ width: 390, height: 800 });
      expect(await isWider(page)).toBe(false);
    });

    it("C2, C8: the audit has the reason and the call, and the rules what decides without any", async () => {
      const id = await task("write audited.txt 1\ntext done");
      await using opened = await openConsole(browser, server);
      const { page } = opened;
      await page.goto(`${server.url}/console/#/session/${id}/audit`);
      const row = page.locator("tr", { hasText: "allowed" });
      await expect.poll(() => row.textContent()).toContain("by the rule");
      await row.locator("summary").click();
      await row.locator("pre", { hasText: "audited.txt" }).waitFor();
      expect(await row.getByRole("link").getAttribute("href")).toBe(
        `#/session/${id}/timeline`,
      );
      await page.goto(`${server.url}/console/#/session/${id}/rules`);
      await page.getByText("the approval mode decides").waitFor();
    });

    it("C3, C5: a session is started in a mode, which its head shows and changes; a new file has one side", async () => {
      await using opened = await openConsole(browser, server);
      const { page } = opened;
      await page.getByRole("link", { name: "New session" }).click();
      await page.getByLabel("Mode").selectOption("default");
      await send(page, "write moded.txt one");
      const question = page.locator(".approval");
      await question.waitFor();
      expect(await question.locator("th").allTextContents()).toEqual(["After"]);
      const mode = page.locator(".session-about").getByLabel("Mode");
      expect(await mode.inputValue()).toBe(String(ApprovalMode.DEFAULT));
      await page.getByRole("button", { name: "Decline" }).click();
      await page.locator(".prose", { hasText: "Done." }).waitFor();
      await mode.selectOption("plan");
      await send(page, "write moded.txt two\ntext Planned.");
      await page.locator(".prose", { hasText: "Planned." }).waitFor();
      await expect
        .poll(() => mode.inputValue())
        .toBe(String(ApprovalMode.PLAN));
    });

    it("C6: code has colours, and no character of it changes", async () => {
      const odd = 'const a = "`${ r#\\"/(#//r#\\"ab<<E';
      const id = await task(
        `text \`\`\`ts\\nconst one = 1; // a comment\\n\`\`\`\\n\\n\`\`\`html\\n${odd}\\n\`\`\``,
      );
      await using opened = await openConsole(browser, server);
      const { page } = opened;
      await page.goto(`${server.url}/console/#/session/${id}`);
      await page.locator(".code-keyword", { hasText: "const" }).waitFor();
      await page.locator(".code-comment", { hasText: "a comment" }).waitFor();
      const codes = await page.locator(".prose code").allTextContents();
      expect(codes[0]).toBe("const one = 1; // a comment");
      expect(codes[1]).toContain("<<E");
      expect(opened.faults()).toEqual([]);
    });

    it("C9: browsers with access have a name, and this one is told", async () => {
      await using opened = await openConsole(browser, server);
      const { page } = opened;
      await page.goto(`${server.url}/console/#/server`);
      const own = page.locator("li", { hasText: "this browser" });
      await expect.poll(() => own.count()).toBe(1);
      // The test's code has a label of its own, which counts first.
      expect(await own.textContent()).toContain("test");
    });

    /** Sends a script, and returns its task's id when it has ended. */
    async function task(script: string): Promise<string> {
      const { task: made } = await clientOf(server).tasks.sendMessage({
        message: textMessage(crypto.randomUUID(), script),
      });
      return made?.id ?? "";
    }
  },
);

async function isWider(page: Page): Promise<boolean> {
  return page.evaluate("document.documentElement.scrollWidth > innerWidth");
}

async function send(page: Page, text: string): Promise<void> {
  await page.locator(".composer textarea").fill(text);
  await page.locator('.composer button[type="submit"]').click();
}
