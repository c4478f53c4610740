import { toJsonString } from "@bufbuild/protobuf";
import { serveCodingAgent } from "@devtool/coding-agent";
import { createReport } from "@devtool/conformance";
import { ReportSchema } from "@devtool/conformance/protos";
import { loadConsole } from "@devtool/console";
import type { DevtoolServer } from "@devtool/server";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { variantsOf } from "../depth.ts";
import { CHROMIUM, launch } from "../outer/browser.ts";
import { axeFindings } from "./axe.ts";
import { openConsole } from "./console-page.ts";

/**
 * A report of the kit itself, of an agent with a hostile name that fails one
 * case.
 */
const REPORT = createReport({
  suite: "A2A 1.0 server",
  subject: {
    name: "http://127.0.0.1:1",
    agent: "<b>Painter</b>",
    agentVersion: "3",
    binding: { name: "JSONRPC", protocolVersion: "1.0" },
  },
  results: [
    {
      id: "a2a/version",
      requirements: ["A2A1-VERSION"],
      status: "passed",
      durationMs: 3,
    },
    {
      id: "a2a/stream",
      requirements: ["A2A1-STREAM-ORDER"],
      status: "failed",
      reason: "the first element is no task",
      durationMs: 4,
    },
    {
      id: "a2a/card-cached",
      requirements: ["A2A1-CARD-CACHE"],
      status: "failed",
      reason: "the card has no ETag",
      durationMs: 4,
    },
  ],
  time: new Date("2026-01-02T03:04:05Z"),
});

describe.skipIf(CHROMIUM === undefined)(
  "a conformance report in the console (skipped without Chromium)",
  () => {
    let browser: Browser;
    let server: DevtoolServer;
    beforeAll(async () => {
      server = await serveCodingAgent({
        workspace: process.cwd(),
        site: await loadConsole(),
      });
      browser = await launch();
    });
    afterAll(async () => {
      await browser?.close();
      await server?.close();
    });

    it("is opened from a file that is dropped, and the page stays where it is", async () => {
      await using opened = await openConsole(browser, server);
      const { page } = opened;
      await page.locator('a[href="#/server"]').click();
      const field = page.locator(".report-opener");
      await field.waitFor();
      await drop(page, "{}");
      await field.getByRole("alert").waitFor();
      await drop(page, toJsonString(ReportSchema, REPORT));
      await page
        .getByRole("heading", { name: "<b>Painter</b> · A2A 1.0 server" })
        .waitFor();
      expect(await field.getByRole("alert").count()).toBe(0);
      expect(page.url()).toBe(`${server.url}/console/#/server`);
      expect(opened.faults()).toEqual([]);
    });

    const LANGUAGES = [
      { locale: "en-US", label: /^Open a report/, failed: "1 × failed" },
      {
        locale: "de-DE",
        label: /^Einen Bericht öffnen/,
        failed: "1 × fehlgeschlagen",
      },
      { locale: "zh-CN", label: /生成的报告$/, failed: "1 × 失败" },
    ];
    it.each(variantsOf("languages of a report", LANGUAGES, 1))(
      "is opened from a file at 320 pixels in $locale, by requirement with its failures",
      async ({ locale, label, failed }) => {
        const options = {
          locale,
          colorScheme: "dark" as const,
          viewport: { width: 320, height: 700 },
        };
        await using opened = await openConsole(browser, server, options);
        const { page } = opened;
        await page.locator('a[href="#/server"]').click();
        const field = page.getByLabel(label);
        await field.setInputFiles({
          name: "other.json",
          mimeType: "application/json",
          buffer: Buffer.from('{"suite": 1}'),
        });
        await page.locator('.report-opener [role="alert"]').waitFor();
        const buffer = Buffer.from(toJsonString(ReportSchema, REPORT));
        await field.setInputFiles({
          name: "report.json",
          mimeType: "application/json",
          buffer,
        });
        await page
          .getByRole("heading", { name: "<b>Painter</b> · A2A 1.0 server" })
          .waitFor();
        await page.getByText(failed, { exact: true }).waitFor();
        const requirement = page.locator(".report li", {
          hasText: "A2A1-STREAM-ORDER",
        });
        expect(await requirement.isVisible()).toBe(true);
        expect(await requirement.textContent()).toMatch(
          /a2a\/stream\s+the first element is no task/,
        );
        expect(
          await page
            .locator(".report li", { hasText: "A2A1-VERSION" })
            .first()
            .isVisible(),
        ).toBe(false);
        expect(
          await page
            .locator('[data-outcome="WARNING"] li', {
              hasText: "A2A1-CARD-CACHE",
            })
            .isVisible(),
        ).toBe(false);
        for (const summary of await page.locator(".report summary").all()) {
          await summary.click();
        }
        expect(await axeFindings(page)).toEqual([]);
        expect(opened.faults()).toEqual([]);
      },
    );
  },
);

/**
 * Drops a file on the field for reports, as a file manager does: over it first,
 * which the page must allow.
 */
async function drop(page: Page, text: string): Promise<void> {
  const isAllowed = await page.evaluate(`(() => {
    const field = document.querySelector(".report-opener");
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([${JSON.stringify(text)}], "report.json", { type: "application/json" }));
    const options = { bubbles: true, cancelable: true, dataTransfer };
    const isAllowed = !field.dispatchEvent(new DragEvent("dragover", options));
    field.dispatchEvent(new DragEvent("drop", options));
    return isAllowed;
  })()`);
  expect(isAllowed).toBe(true);
}
