import { readFileSync } from "node:fs";
import { loadConsole } from "@devtool/console";
import type { Browser } from "playwright-core";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LEFT_TO_CI } from "../depth.ts";
import { CHROMIUM, launch } from "../outer/browser.ts";
import { beginWorkday, type Workday } from "../scenarios/workday/workday.ts";
import { openConsole } from "./console-page.ts";
import { playInBrowser } from "./play-in-browser.ts";

describe.skipIf(CHROMIUM === undefined || LEFT_TO_CI !== "")(
  `a day's work in the browser alone (skipped without Chromium)${LEFT_TO_CI}`,
  { timeout: 300_000 },
  () => {
    let day: Workday;
    let browser: Browser;

    beforeEach(async () => {
      day = await beginWorkday({ site: await loadConsole() });
      browser = await launch();
    });
    afterEach(async () => {
      await browser.close();
      await day[Symbol.asyncDispose]();
    });

    it("finds and fixes a bug", async () => {
      await play("fix-a-bug.txt");
      expect(day.read("sum.mjs")).toContain("return a + b;");
    });

    it("reviews a branch, and keeps the review as the user has changed it", async () => {
      day.branch();
      await play("review-a-branch.txt");
      expect(day.read("review.md")).toBe("sum.mjs:2 multiplies: do not merge");
    });

    /** Plays one of the transcripts. */
    async function play(name: string): Promise<void> {
      await using opened = await openConsole(browser, day.server);
      const transcript = readFileSync(
        new URL(`./${name}`, import.meta.url),
        "utf8",
      );
      await playInBrowser(opened.page, transcript, { $WORK: day.work });
      expect(opened.faults()).toEqual([]);
    }
  },
);
