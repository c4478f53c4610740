import { AxeBuilder } from "@axe-core/playwright";
import { createTaskView } from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { loadConsole } from "@devtool/console";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { EXTENSION_URI } from "@devtool/schema";
import type { DevtoolServer } from "@devtool/server";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LEFT_TO_CI } from "../depth.ts";
import { CHROMIUM, launch } from "../outer/browser.ts";
import { clientOf, openConsole } from "./console-page.ts";

/**
 * For each binding, what only its frames have, from the first event to the
 * last.
 */
const BINDINGS = [
  [
    "A2A 1.0 JSON-RPC",
    [
      "POST / {",
      '"jsonrpc":"2.0"',
      '"TASK_STATE_WORKING"',
      '"text":"Bold words."',
    ],
  ],
  [
    "A2A 1.0 HTTP+JSON",
    [
      "GET /tasks/",
      'data: {"statusUpdate"',
      '"TASK_STATE_WORKING"',
      '"text":"Bold words."',
    ],
  ],
  [
    "A2A 0.3 JSON-RPC",
    [
      '"tasks/resubscribe"',
      '"kind":"status-update"',
      '"state":"working"',
      '"final":true',
    ],
  ],
  [
    "A2A 0.3 HTTP+JSON",
    ["GET /v1/tasks/", '"state":"TASK_STATE_WORKING"', '"final":true'],
  ],
  ["Gemini CLI", ["/metadata", '"taskState":']],
] as const;

describe.skipIf(CHROMIUM === undefined)(
  "the frames of a session in Chromium (skipped without Chromium)",
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

    it("are those that the server sends on each binding, byte for byte, and can be copied", async () => {
      const view = createTaskView(clientOf(server));
      await view.send(
        "text Bold words.\nwrite a.txt b",
        AbortSignal.timeout(60_000),
      );
      const { id } = view.snapshot().task;
      await using opened = await openConsole(browser, server, {
        viewport: { width: 320, height: 700 },
        permissions: ["clipboard-read", "clipboard-write"],
      });
      const { page } = opened;
      await page.goto(`${server.url}/console/#/session/${id}/timeline`);
      await page.locator(".event").first().waitFor();
      for (const [name, texts] of BINDINGS) {
        await page.getByLabel("Binding").selectOption(name);
        const [asked = "", ...answered] = texts;
        await page.locator(".frames-about code", { hasText: asked }).waitFor();
        await expect
          .poll(() => copied(page), { timeout: 60_000 })
          .toContain(answered.at(-1));
        const text = await copied(page);
        for (const part of answered) {
          expect([name, text]).toEqual([name, expect.stringContaining(part)]);
        }
      }
      await page.getByLabel("Binding").selectOption("A2A 0.3 HTTP+JSON");
      const sent = await (
        await fetch(`${server.url}/v1/tasks/${id}:subscribe`, {
          headers: asTheConsole(),
        })
      ).text();
      await expect
        .poll(() => copied(page), { timeout: 60_000 })
        .toBe(sent.trim());
      expect(
        await page.evaluate(
          "document.documentElement.scrollWidth > innerWidth",
        ),
      ).toBe(false);
      expect(opened.faults()).toEqual([]);
    });

    it("go on while the session does, and have no fault for axe", async () => {
      const view = createTaskView(clientOf(server));
      await view.send(
        "write later.txt x\ntext After the answer.",
        AbortSignal.timeout(60_000),
      );
      const { task, questions } = view.snapshot();
      await using opened = await openConsole(browser, server);
      const { page } = opened;
      await page.goto(`${server.url}/console/#/session/${task.id}/timeline`);
      await page.getByLabel("Binding").selectOption("A2A 1.0 HTTP+JSON");
      await page
        .locator(".frame", { hasText: "TASK_STATE_INPUT_REQUIRED" })
        .first()
        .waitFor();
      const { violations } = await new AxeBuilder({ page })
        .setLegacyMode()
        .analyze();
      expect(
        violations.map(({ id, nodes }) => [
          id,
          nodes.map(({ html }) => html.slice(0, 200)),
        ]),
      ).toEqual([]);
      await view.answer(
        questions[0]?.toolCallId ?? "",
        "proceed_once",
        AbortSignal.timeout(60_000),
      );
      await page
        .locator(".frame", { hasText: "After the answer." })
        .first()
        .waitFor();
      expect(opened.faults()).toEqual([]);
    });

    it.skipIf(LEFT_TO_CI !== "")(
      `are kept up to a number, the newest, and say how many are left out${LEFT_TO_CI}`,
      async () => {
        const view = createTaskView(clientOf(server));
        await view.send("say 1500\ntext The end.", AbortSignal.timeout(60_000));
        await using opened = await openConsole(browser, server);
        const { page } = opened;
        await page.goto(
          `${server.url}/console/#/session/${view.snapshot().task.id}/timeline`,
        );
        await page.getByLabel("Binding").selectOption("A2A 1.0 HTTP+JSON");
        await page.getByText("older frames are not kept").waitFor();
        await expect
          .poll(() => leftOut(page))
          .toBe(Number(view.snapshot().task.sequence) - 1000);
        expect(await page.locator(".frame").count()).toBeLessThan(200);
        await page.evaluate(
          "{ const list = document.querySelector('.timeline'); list.scrollTo(0, list.scrollHeight); }",
        );
        await page
          .locator(".frame", { hasText: "TASK_STATE_COMPLETED" })
          .last()
          .waitFor();
      },
    );

    /**
     * The headers of the page's request, from the proto of A2A 0.3 and the
     * extension.
     */
    function asTheConsole(): Record<string, string> {
      return {
        authorization: `Bearer ${server.token}`,
        accept: "text/event-stream",
        "a2a-version": "0.3",
        "last-event-id": "0",
        "x-a2a-extensions": EXTENSION_URI,
      };
    }
  },
);

/** What the page copies. */
async function copied(page: Page): Promise<string> {
  await page.getByRole("button", { name: /^Cop/ }).click();
  return String(await page.evaluate("navigator.clipboard.readText()"));
}

async function leftOut(page: Page): Promise<number> {
  return Number.parseInt(
    (await page.locator(".frames-about span").first().textContent()) ?? "",
    10,
  );
}
