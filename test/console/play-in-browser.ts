import type { Page } from "playwright-core";
import { expect } from "vitest";
import { patternOf, readSections } from "../terminal/transcript.ts";

/** Only stops a test that hangs. */
const LIMIT_MS = 60_000;

/**
 * Plays a transcript in the console: what the user does, and what the page then
 * shows.
 *
 * Each step begins with a line `=== send` (a message), `=== click` (the name of
 * a button or a link), `=== open` (the line of a call), `=== fill LABEL` or
 * `=== shows`. What is shown is compared line by line, without empty ones;
 * ` | ` stands between the cells of a table.
 *
 * @param replaced what stands for texts that differ from play to play, such as
 * `$WORK`
 */
export async function playInBrowser(
  page: Page,
  transcript: string,
  replaced: Readonly<Record<string, string>>,
): Promise<void> {
  for (const { head, text } of readSections(transcript)) {
    const [what = "", label = ""] = head.split(/ (.*)/);
    if (what === "send") {
      await page.getByLabel("Message").fill(text);
      await page.getByRole("button", { name: "Send" }).click();
    } else if (what === "click") {
      const options = { name: text, exact: true };
      await page
        .getByRole("button", options)
        .or(page.getByRole("link", options))
        .first()
        .click();
    } else if (what === "open") {
      await page.locator("summary", { hasText: text }).click();
    } else if (what === "fill") {
      await page.getByLabel(label).fill(text);
    } else if (what === "shows") {
      await expectShown(page, patternOf(text, replaced));
    } else {
      throw new Error(
        `"${what}" is not a step of a transcript: write send, click, open, fill or shows`,
      );
    }
  }
}

async function expectShown(page: Page, pattern: RegExp): Promise<void> {
  const shown = async (): Promise<string> => {
    // biome-ignore lint/performance/useDomNodeTextContent: what is not shown, such as a closed call, is not part of it
    const lines = (await page.locator("main").innerText()).split("\n");
    const trimmed = lines.map((line) => line.trim().replaceAll("\t", " | "));
    return trimmed.filter((line) => line !== "").join("\n");
  };
  await expect.poll(shown, { timeout: LIMIT_MS }).toMatch(pattern);
}
