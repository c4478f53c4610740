import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createTaskView } from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { loadConsole } from "@devtool/console";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { ApprovalMode } from "@devtool/schema";
import type { DevtoolServer } from "@devtool/server";
import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { variantsOf } from "../depth.ts";
import { CHROMIUM, launch } from "../outer/browser.ts";
import { clientOf, openConsole } from "./console-page.ts";

/**
 * Clicks each answer "Allow once" in the moment in which it appears, or has
 * another question, as a hand that was already moving. Questions that are there
 * already are left alone until they change.
 */
const HASTY_HAND = `{
  globalThis.clicked = 0;
  for (const card of document.querySelectorAll(".approval")) {
    card.dataset.seen = card.textContent;
  }
  const click = () => {
    for (const card of document.querySelectorAll(".approval")) {
      if (card.dataset.seen === card.textContent) continue;
      card.dataset.seen = card.textContent;
      globalThis.clicked++;
      [...card.querySelectorAll(".options button")].find((button) => button.textContent.startsWith("Allow once")).click();
    }
  };
  new MutationObserver(click).observe(document.body, { childList: true, subtree: true, characterData: true });
}`;

/**
 * Clicks once more when a card has gone, at once: where it was, the next one
 * lies now.
 */
const HAND_THAT_STAYS = `{
  globalThis.clickedAgain = 0;
  const cards = () => document.querySelectorAll(".options").length;
  const before = cards();
  new MutationObserver((changes, observer) => {
    if (cards() === before) return;
    observer.disconnect();
    globalThis.clickedAgain = cards();
    document.querySelector(".options button").click();
  }).observe(document.body, { childList: true, subtree: true });
}`;

/** Markdown that is nested deeper than a parser may recurse. */
const DEEP_TEXTS = [
  ">".repeat(19_000),
  "- ".repeat(9_000),
  "*_".repeat(9_000),
  "[".repeat(19_000),
  "<a>".repeat(6_000),
];

describe.skipIf(CHROMIUM === undefined)(
  "a question in the console (skipped without Chromium)",
  () => {
    let workspace: string;
    let data: string;
    let browser: Browser;
    let server: DevtoolServer;

    beforeAll(async () => {
      workspace = temporaryDirectory();
      data = temporaryDirectory();
      server = await serveCodingAgent({
        workspace,
        dataDirectory: data,
        site: await loadConsole(),
        sandbox: "none",
      });
      browser = await launch();
    });
    afterAll(async () => {
      await browser?.close();
      await server?.close();
    });

    it("is not answered by a click that was under way when it appeared, or when another left its place", async () => {
      await using opened = await openConsole(browser, server);
      const { page } = opened;
      await page.evaluate(HASTY_HAND);
      await send(page, "write first.txt 1\nwrite second.txt 2\ntext Both.");
      const answers = page.getByRole("button", { name: "Allow once" });
      await answers.nth(1).waitFor();
      expect(await page.evaluate("globalThis.clicked")).toBe(2);
      await page.evaluate(HAND_THAT_STAYS);
      await answers.first().click();
      await expect.poll(() => page.evaluate("globalThis.clickedAgain")).toBe(1);
      await expect.poll(() => read("first.txt")).toBe("1");
      await answers.click();
      await page.locator(".prose", { hasText: "Both." }).waitFor();
      expect(await read("second.txt")).toBe("2");
    });

    it("is asked in a mode that holds: the head offers none beyond what the conversation began with", async () => {
      await using opened = await openConsole(browser, server);
      const { page } = opened;
      await page.getByRole("link", { name: "New session" }).click();
      await page.getByLabel("Mode").selectOption("yolo");
      await write(page, "write asked.txt 1\ntext Asked.");
      await page.getByRole("button", { name: "Allow once" }).waitFor();
      const mode = page.locator(".session-about").getByLabel("Mode");
      expect(await mode.locator("option").allTextContents()).toEqual([
        "as the server, at most default",
        "plan",
        "default",
      ]);
      expect(await mode.inputValue()).toBe(String(ApprovalMode.DEFAULT));
    });

    it("is another one when its arguments change: a click for the one before does not approve it, nor do its notes go along", async () => {
      const view = createTaskView(clientOf(server));
      await view.send(
        "write changed.txt harmless\ntext Done.",
        AbortSignal.timeout(30_000),
      );
      const { task, questions } = view.snapshot();
      await using opened = await openConsole(browser, server);
      const { page } = opened;
      await page.goto(`${server.url}/console/#/session/${task.id}`);
      await page.getByText("harmless").last().waitFor();
      await page.getByRole("button", { name: "Reason" }).click();
      await page
        .getByLabel("Reason (sent to the agent)")
        .fill("about the harmless one");
      await page.evaluate(HASTY_HAND);
      const modifiedArguments = {
        ...questions[0]?.inputParameters,
        content: "harmful",
      };
      const changed = view.answer(
        questions[0]?.toolCallId ?? "",
        "modify_arguments",
        AbortSignal.timeout(30_000),
        {
          modifiedArguments,
        },
      );
      await page.locator(".approval", { hasText: "harmful" }).waitFor();
      await changed;
      expect(await page.evaluate("globalThis.clicked")).toBeGreaterThan(0);
      expect(await page.getByLabel("Reason (sent to the agent)").count()).toBe(
        0,
      );
      await page.getByRole("button", { name: "Decline" }).click();
      await expect.poll(() => page.locator(".approval").count()).toBe(0);
      expect(await read("changed.txt")).toBe("");
    });

    it("that does not fit the screen shows its beginning, and its answers behind all that they are for", async () => {
      await using opened = await openConsole(browser, server, {
        viewport: { width: 320, height: 640 },
      });
      const { page } = opened;
      await send(
        page,
        `text ${"Before it. ".repeat(200)}\nwrite long.txt ${"line\\n".repeat(200)}`,
      );
      const title = page.locator(".approval-kind");
      const answer = page.getByRole("button", { name: "Allow once" });
      await answer.waitFor();
      const isShown = async (part: Locator): Promise<boolean> => {
        const { y = -1 } = (await part.boundingBox()) ?? {};
        return y > 0 && y < 640;
      };
      await expect.poll(() => isShown(title)).toBe(true);
      expect(await isShown(answer)).toBe(false);
      await page.reload();
      await expect.poll(() => isShown(title)).toBe(true);
      expect(await isShown(answer)).toBe(false);
      // Wherever the pointer is: nothing of the question scrolls by itself.
      await page.locator(".approval .diff").hover();
      await page.mouse.wheel(0, 20_000);
      await expect.poll(() => isShown(answer)).toBe(true);
      await answer.click();
      await expect.poll(() => read("long.txt")).toBe("line\n".repeat(200));
    });

    it("C4: keeps its answers in view, and lets nothing be allowed before all of it was in view", async () => {
      await using opened = await openConsole(browser, server);
      const { page } = opened;
      await send(page, `write wide.txt ${"line\\n".repeat(200)}`);
      const answer = page.getByRole("button", { name: "Allow once" });
      const decline = page.getByRole("button", { name: "Decline" });
      const isRefused = (button: Locator) =>
        button.getAttribute("aria-disabled");
      await expect.poll(() => isRefused(decline)).toBe("false");
      await page.getByText("Scroll to the end of the question").waitFor();
      for (const button of [answer, decline]) {
        const { y = -1 } = (await button.boundingBox()) ?? {};
        expect(y > 0 && y < 800).toBe(true);
      }
      expect(await isRefused(answer)).toBe("true");
      await answer.click({ force: true });
      await page.locator(".approval-kind").hover();
      await page.mouse.wheel(0, 20_000);
      await expect.poll(() => isRefused(answer)).toBe("false");
      expect(await read("wide.txt")).toBe("");
      await answer.click();
      await expect.poll(() => read("wide.txt")).toBe("line\n".repeat(200));
    });

    it.each(variantsOf("languages", ["en-US", "de-DE"], 1))(
      "says in %s what each answer covers, in the words of the server, and hides no character",
      async (locale) => {
        await using opened = await openConsole(browser, server, { locale });
        const { page } = opened;
        await send(page, "run npm run \u202etset");
        const card = page.locator(".approval");
        await card.locator(".command", { hasText: "\\u{202e}tset" }).waitFor();
        expect(await card.textContent()).toContain(
          "Always allow this exact command in this session",
        );
        await send(page, "run npm run test");
        await card.locator(".command", { hasText: "npm run test" }).waitFor();
        expect(await card.textContent()).toMatch(
          /Always allow, in later sessions too(: | · )"npm run test also without a sandbox"/,
        );
      },
    );

    it.each(
      variantsOf("kinds of deep text", DEEP_TEXTS, 1).map(
        (words) => [words.slice(0, 3), words] as const,
      ),
    )(
      "can be answered whatever the agent has written: nothing that is deep or large ends the page: %j",
      async (_what, words) => {
        await using opened = await openConsole(browser, server);
        const { page } = opened;
        await send(page, `text ${words} word\nwrite deep.txt x`);
        await page
          .getByRole("button", { name: "Allow once" })
          .waitFor({ timeout: 120_000 });
        expect(opened.faults()).toEqual([]);
      },
    );

    async function read(name: string): Promise<string> {
      return readFile(join(workspace, name), "utf8").catch(() => "");
    }
  },
);

async function send(page: Page, text: string): Promise<void> {
  await page.getByRole("link", { name: /New session|Neue Sitzung/ }).click();
  await write(page, text);
}

/** Sends a message of the session that is shown. */
async function write(page: Page, text: string): Promise<void> {
  await page.locator(".composer textarea").fill(text);
  await page.locator('.composer button[type="submit"]').click();
}
