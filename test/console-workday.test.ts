import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { serveCodingAgent } from "@devtool/coding-agent";
import { loadConsole } from "@devtool/console";
import { type FakeGemini, startFakeGemini } from "@devtool/fake-gemini";
import { createGeminiModel } from "@devtool/gemini";
import type { DevtoolServer } from "@devtool/server";
import type { Browser } from "playwright-core";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openConsole } from "./console/console-page.ts";
import { playInBrowser } from "./console/play-in-browser.ts";
import { LEFT_TO_CI } from "./depth.ts";
import { CHROMIUM, launch } from "./outer/browser.ts";

describe.skipIf(CHROMIUM === undefined || LEFT_TO_CI !== "")(
  `a day's work in the browser alone (skipped without Chromium)${LEFT_TO_CI}`,
  { timeout: 300_000 },
  () => {
    let home: string;
    let work: string;
    let fake: FakeGemini;
    let server: DevtoolServer;
    let browser: Browser;

    beforeEach(async () => {
      home = realpathSync(mkdtempSync(join(tmpdir(), "devtool-workday-")));
      work = join(home, "work");
      mkdirSync(work);
      writeFileSync(join(work, "sum.mjs"), sumOf("-"));
      writeFileSync(join(work, "check.mjs"), CHECK);
      git("init", "-q", "-b", "main");
      commit("First");
      fake = await startFakeGemini();
      const model = createGeminiModel({ apiKey: "k", baseUrl: fake.url, model: "gemini-test" });
      server = await serveCodingAgent({ workspace: work, sandbox: "none", model, site: await loadConsole() });
      browser = await launch();
    });
    afterEach(async () => {
      await browser.close();
      await server.close();
      await fake[Symbol.asyncDispose]();
      rmSync(home, { recursive: true });
    });

    it("finds and fixes a bug", async () => {
      await play("fix-a-bug.txt");
      expect(readFileSync(join(work, "sum.mjs"), "utf8")).toContain("return a + b;");
    });

    it("reviews a branch, and keeps the review as the user has changed it", async () => {
      writeFileSync(join(work, "sum.mjs"), sumOf("+"));
      commit("Add");
      git("checkout", "-q", "-b", "feature");
      writeFileSync(join(work, "sum.mjs"), sumOf("*"));
      commit("Multiply, which is faster");
      git("checkout", "-q", "main");
      await play("review-a-branch.txt");
      expect(readFileSync(join(work, "review.md"), "utf8")).toBe("sum.mjs:2 multiplies: do not merge");
    });

    /** Plays one of the transcripts. */
    async function play(name: string): Promise<void> {
      await using opened = await openConsole(browser, server);
      const transcript = readFileSync(new URL(`console/${name}`, import.meta.url), "utf8");
      await playInBrowser(opened.page, transcript, { $WORK: work });
      expect(opened.faults()).toEqual([]);
    }

    function git(...args: readonly string[]): void {
      const author = ["-c", "user.name=A", "-c", "user.email=a@example.com"];
      execFileSync("git", [...author, ...args], { cwd: work, stdio: "ignore" });
    }

    function commit(subject: string): void {
      git("add", "-A");
      git("commit", "-q", "-m", subject);
    }
  },
);

const CHECK = `import { sum } from "./sum.mjs";
const ok = sum(2, 3) === 5;
console.log(ok ? "ok: 2 + 3 is 5" : \`not ok: 2 + 3 is \${sum(2, 3)}\`);
process.exit(ok ? 0 : 1);
`;

function sumOf(operator: string): string {
  return `export function sum(a, b) {\n  return a ${operator} b;\n}\n`;
}
