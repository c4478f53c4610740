import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { createTaskView } from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { loadConsole } from "@devtool/console";
import { fileText, putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import type { DevtoolServer } from "@devtool/server";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LEFT_TO_CI, variantsOf } from "../depth.ts";
import { CHROMIUM, launch } from "../outer/browser.ts";
import { axeFindings } from "./axe.ts";
import { type ConsolePage, clientOf, openConsole } from "./console-page.ts";

const MAX_SCRIPT_BYTES = 221_000;
const MAX_STYLE_BYTES = 12_000;
/**
 * The screens for which axe looks at the page. A quick run has the first one:
 * the narrow one has the most to go wrong.
 */
const SCREENS = [
  { width: 320, colorScheme: "dark" },
  { width: 320, colorScheme: "light" },
  { width: 1280, colorScheme: "light" },
  { width: 1280, colorScheme: "dark" },
] as const;

describe.skipIf(CHROMIUM === undefined)(
  "the console in Chromium (skipped without Chromium)",
  () => {
    let workspace: string;
    let browser: Browser;
    let server: DevtoolServer;

    beforeAll(async () => {
      workspace = temporaryDirectory();
      server = await serveCodingAgent({
        workspace,
        site: await loadConsole(),
        sandbox: "none",
      });
      browser = await launch();
    });
    afterAll(async () => {
      await browser?.close();
      await server?.close();
    });

    it("starts a session, streams it, and writes what was edited before it was approved", async () => {
      await using opened = await openConsole(browser, server);
      const { page } = opened;
      await page.getByRole("link", { name: "New session" }).click();
      await send(
        page,
        "think\ntext **Bold** words.\nwrite made.txt proposed\ntext Finished.",
      );
      const question = page
        .getByRole("region", { name: "Change made.txt" })
        .or(page.locator(".approval"));
      await question.getByRole("button", { name: "Edit" }).click();
      await question
        .getByLabel("New content of the file")
        .fill("changed by hand");
      await question
        .getByRole("button", { name: "Allow once (with your changes)" })
        .click();
      await page.locator(".prose", { hasText: "Finished." }).waitFor();
      expect(fileText(workspace, "made.txt")).toBe("changed by hand");
      expect(await page.locator(".prose strong").textContent()).toBe("Bold");
      expect(new URL(page.url()).hash).toMatch(/^#\/session\/[\w-]+$/);
      await expectClean(opened);
    });

    it("shows what users and agents write as text: no markup, no script, no image from elsewhere", async () => {
      await using opened = await openConsole(browser, server);
      const { page } = opened;
      await page.goto(`${server.url}/console/#/new/hostile`);
      const hostile =
        '<img src="http://192.0.2.1/x.png" onerror="alert(1)"><script>globalThis.hit = 1</script>';
      await send(
        page,
        `text ${hostile} ![i](http://192.0.2.1/y.png) [l](javascript:alert(1)) [own](#/server) [path](src/b.ts)`,
      );
      await page.locator(".prose", { hasText: "onerror" }).waitFor();
      await page.locator(".prompt", { hasText: "<script>" }).waitFor();
      expect(await page.locator(".column img, .column script").count()).toBe(0);
      // Neither a script nor an address in the console itself.
      expect(await page.locator(".prose a").count()).toBe(0);
      expect(await page.evaluate("globalThis.hit")).toBeUndefined();
      await expectClean(opened);
    });

    it.skipIf(LEFT_TO_CI !== "")(
      `shows one session in two browsers and another client: the first answer wins, and all see whose it was${LEFT_TO_CI}`,
      async () => {
        await using one = await openConsole(browser, server);
        await using other = await openConsole(browser, server);
        const view = createTaskView(clientOf(server), {
          clientLabel: "terminal",
        });
        await view.send(
          "write shared.txt words\ntext All saw it.",
          AbortSignal.timeout(30_000),
        );
        const { task, questions } = view.snapshot();
        for (const { page } of [one, other]) {
          await page.goto(`${server.url}/console/#/session/${task.id}`);
          await page.getByRole("button", { name: "Allow once" }).waitFor();
        }
        await view.answer(
          questions[0]?.toolCallId ?? "",
          "proceed_once",
          AbortSignal.timeout(30_000),
        );
        for (const { page } of [one, other]) {
          await page.locator(".prose", { hasText: "All saw it." }).waitFor();
          expect(
            await page.getByRole("button", { name: "Allow once" }).count(),
          ).toBe(0);
          await page.locator(".call summary").first().click();
          await page.getByText("answered by local (terminal)").waitFor();
        }
      },
    );

    it.skipIf(LEFT_TO_CI !== "")(
      `asks again when the arguments of a call are changed, and runs what was shown last${LEFT_TO_CI}`,
      async () => {
        await using opened = await openConsole(browser, server);
        const { page } = opened;
        await page.goto(`${server.url}/console/#/new/arguments`);
        await send(page, "run touch first.txt\ntext Touched.");
        await page.getByRole("button", { name: "Edit" }).click();
        await page.getByLabel("Arguments").fill("{");
        await page.getByRole("button", { name: "Ask again" }).click();
        await page.getByText("This is not a JSON object.").waitFor();
        await page
          .getByLabel("Arguments")
          .fill('{ "command": "touch second.txt" }');
        await page.getByRole("button", { name: "Ask again" }).click();
        await page
          .locator(".approval .command", { hasText: "touch second.txt" })
          .waitFor();
        await page.getByRole("button", { name: "Allow once" }).click();
        await page.locator(".prose", { hasText: "Touched." }).waitFor();
        expect(fileText(workspace, "second.txt")).toBe("");
        await expect(readFile(join(workspace, "first.txt"))).rejects.toThrow(
          "ENOENT",
        );
        await expectClean(opened);
      },
    );

    it("cancels, queues, takes back and renames", async () => {
      await using opened = await openConsole(browser, server);
      const { page } = opened;
      await page.goto(`${server.url}/console/#/new/queue`);
      await send(page, "run sleep 60");
      await page.getByRole("button", { name: "Allow once" }).click();
      await page.locator('.call[data-status="running"]').waitFor();
      await page.getByLabel("Message").fill("text Later.");
      await page.getByRole("button", { name: "Queue" }).click();
      await page.locator(".queued", { hasText: "text Later." }).waitFor();
      const takeBack = page.getByRole("button", { name: "Take back" });
      await page.route("**/WithdrawMessage", (route) =>
        route.fulfill({
          status: 403,
          json: { code: "permission_denied", message: "not yours" },
        }),
      );
      await takeBack.click();
      await page.getByRole("alert").getByText("not yours").waitFor();
      await page.unroute("**/WithdrawMessage");
      await takeBack.click();
      await page.locator(".queued").waitFor({ state: "detached" });
      await page.getByRole("button", { name: "Rename" }).click();
      await page.getByLabel("Title").fill("A long sleep");
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByRole("heading", { name: "A long sleep" }).waitFor();
      await page.locator(".row", { hasText: "A long sleep" }).waitFor();
      await page.getByRole("button", { name: "Stop" }).click();
      await page
        .locator('.session-about .state[data-state="CANCELED"]')
        .waitFor();
      await expectClean(opened);
    });

    it.skipIf(LEFT_TO_CI !== "")(
      `deletes a session that has ended after a question, and all pages know${LEFT_TO_CI}`,
      async () => {
        await using opened = await openConsole(browser, server);
        await using other = await openConsole(browser, server, {
          viewport: { width: 320, height: 700 },
        });
        const { page } = opened;
        await page.goto(`${server.url}/console/#/new/delete`);
        await send(page, "read secret-plan.txt\ntext end");
        await page
          .locator('.session-about .state[data-state="COMPLETED"]')
          .waitFor();
        const taskId = new URL(page.url()).hash.split("/").at(-1) ?? "";
        const { tasks } = clientOf(server);
        const isThere = () =>
          tasks.getTask({ taskId }).then(
            () => true,
            () => false,
          );
        await other.page.goto(`${server.url}/console/#/session/${taskId}`);
        const rows = [opened, other].map(({ page }) =>
          page.locator(".row", { hasText: "secret-plan" }),
        );
        for (const row of rows) await row.waitFor({ state: "attached" });
        await page.getByRole("button", { name: "Delete" }).click();
        const question = page.getByRole("form", {
          name: "Delete this session",
        });
        await question.waitFor();
        expect(await axeFindings(page)).toEqual([]);
        // The focus is on the safe answer, and gone back when it is given.
        await page.keyboard.press("Enter");
        await question.waitFor({ state: "detached" });
        expect(await isThere()).toBe(true);
        await page.keyboard.press("Enter");
        await question.getByRole("button", { name: "Delete" }).click();
        for (const each of [page, other.page]) {
          await each.getByText("This session was deleted.").waitFor();
        }
        for (const row of rows) await row.waitFor({ state: "detached" });
        expect(await isThere()).toBe(false);
        await other.page.getByRole("link", { name: "All sessions" }).click();
        await expectClean(opened);
        await expectClean(other);
      },
    );

    it("completes and runs slash commands by the keyboard alone", async () => {
      await using opened = await openConsole(browser, server);
      const { page } = opened;
      await page.goto(`${server.url}/console/#/new/slash`);
      await page.getByLabel("Message").focus();
      await page.keyboard.type("/hel");
      await page.getByRole("option", { name: /^\/help/ }).waitFor();
      await page.keyboard.press("Tab");
      expect(await page.getByLabel("Message").inputValue()).toBe("/help ");
      await page.keyboard.press("Enter");
      await page.locator(".prose").first().waitFor();
      await page
        .locator('.session-about .state[data-state="COMPLETED"]')
        .waitFor();
      await expectClean(opened);
    });

    it.skipIf(LEFT_TO_CI !== "")(
      `shows output with its colours, the log with its raw events, and the audit of a call${LEFT_TO_CI}`,
      async () => {
        putFile(workspace, "colours.txt", "\u001b[32mgreen\u001b[0m plain");
        await using opened = await openConsole(browser, server);
        const { page } = opened;
        await page.goto(`${server.url}/console/#/new/colours`);
        await send(page, "run cat colours.txt\ntext Seen.");
        await page.getByRole("button", { name: "Allow once" }).click();
        await page.locator(".prose", { hasText: "Seen." }).waitFor();
        await page.locator(".call summary").first().click();
        expect(await page.locator(".output .ansi-green").textContent()).toBe(
          "green",
        );
        await page.getByRole("link", { name: "Timeline" }).click();
        await page.locator(".event summary").first().click();
        await page
          .locator(".event .output", { hasText: '"sequence": "1"' })
          .waitFor();
        await page.getByRole("link", { name: "Audit" }).click();
        await page
          .locator(".audit tr", { hasText: "run_shell_command" })
          .first()
          .waitFor();
        await page.getByRole("link", { name: "Conversation" }).click();
        await page.locator(".prose", { hasText: "Seen." }).waitFor();
        await expectClean(opened);
      },
    );

    it.skipIf(LEFT_TO_CI !== "")(
      `goes on in the same browser after the server was stopped and came back${LEFT_TO_CI}`,
      async () => {
        const data = temporaryDirectory();
        const options = {
          workspace,
          dataDirectory: data,
          site: await loadConsole(),
          token: "t".repeat(43),
        };
        const first = await serveCodingAgent(options);
        const port = Number(new URL(first.url).port);
        await using opened = await openConsole(browser, first);
        const { page } = opened;
        await page.goto(`${first.url}/console/#/new/kill`);
        await send(page, "write after.txt words\ntext Back again.");
        await page.getByRole("button", { name: "Allow once" }).waitFor();
        await first.close();
        await page.getByText("Connection lost").first().waitFor();
        // Nothing can be fetched now: the page has what it shows for the first
        // time.
        for (const part of ["Timeline", "Audit"]) {
          await page.getByRole("link", { name: part }).click();
          await page.getByText("Connection lost").first().waitFor();
        }
        await page.getByRole("link", { name: "Conversation" }).click();
        await using _second = await serveCodingAgent({ ...options, port });
        await page.getByRole("button", { name: "Allow once" }).click();
        await page.locator(".prose", { hasText: "Back again." }).waitFor();
        expect(fileText(workspace, "after.txt")).toBe("words");
      },
    );

    it.each(
      variantsOf(
        "languages",
        [
          ["de-DE", "Neue Sitzung", "de"],
          ["zh-CN", "新会话", "zh"],
          ["fr-FR", "New session", "en"],
        ] as const,
        1,
      ),
    )("speaks the language of a browser in %s", async (locale, text, lang) => {
      await using opened = await openConsole(browser, server, { locale });
      await opened.page.getByRole("link", { name: text }).waitFor();
      expect(await opened.page.locator("html").getAttribute("lang")).toBe(lang);
    });

    describe.each(variantsOf("screens", SCREENS, 1))(
      "at $width pixels in $colorScheme",
      ({ width, colorScheme }) => {
        it("has no fault for axe in any state, and is never wider than the screen", async () => {
          await createTaskView(clientOf(server)).send(
            "text In the list.",
            AbortSignal.timeout(30_000),
          );
          await using opened = await openConsole(browser, server, {
            colorScheme,
            viewport: { width, height: 800 },
            hasTouch: width < 700,
          });
          const { page } = opened;
          const found: unknown[] = [];
          const check = async (state: string): Promise<void> => {
            for (const finding of await axeFindings(page)) {
              found.push([state, finding]);
            }
          };
          await page.locator(".row").first().waitFor();
          await check("list");
          await page.goto(`${server.url}/console/#/new/${crypto.randomUUID()}`);
          await check("new");
          await page.getByLabel("Message").fill("/");
          await page.getByRole("listbox").waitFor();
          await check("commands");
          const long = "x".repeat(300);
          await page
            .getByLabel("Message")
            .fill(
              `think\ntext # Head\\n\\n- one\\n- two \`code\`\\n\\n| a | b |\\n| - | - |\\n| 1 | 2 |\\n\\n\`\`\`\\n${long}\\n\`\`\`\nread missing.txt\nwrite axe.txt one\\n${long}\ntext Done.`,
            );
          await page.getByRole("button", { name: "Send" }).click();
          await page.locator(".approval").waitFor();
          await check("approval");
          await page.getByRole("button", { name: "Edit" }).click();
          await check("editing");
          await page.getByRole("button", { name: "Allow once" }).click();
          await page.locator(".prose", { hasText: "Done." }).waitFor();
          for (const summary of await page.locator(".call > summary").all()) {
            await summary.click();
          }
          await check("done");
          const { hash } = new URL(page.url());
          for (const part of ["timeline", "audit", "checkpoints", "rules"]) {
            await page.goto(`${server.url}/console/${hash}/${part}`);
            await page
              .locator(".event, .audit tr, .facts-page > *")
              .first()
              .waitFor();
            await check(part);
          }
          await page.goto(`${server.url}/console/#/server`);
          await page.locator(".server li").first().waitFor();
          await check("server");
          expect(found).toEqual([]);
          await expectClean(opened);
        });
      },
    );

    it("loads at most 221 kB of script and 12 kB of style, all at once, and nothing inline", async () => {
      const { files } = await loadConsole();
      const html = new TextDecoder().decode(files.get("/")?.bytes);
      const sizes = { script: 0, style: 0 };
      for (const [path, { bytes, mediaType }] of files) {
        const size = gzipSync(bytes).length;
        if (mediaType.startsWith("text/css")) sizes.style += size;
        if (!mediaType.startsWith("text/javascript")) continue;
        sizes.script += size;
        // The worker of notifications is loaded with the first of them.
        if (path === "/notifications.js") continue;
        expect(html).toContain(`.${path}"`);
      }
      process.stdout.write(
        `console: ${sizes.script} B of script, ${sizes.style} B of style, gzip\n`,
      );
      expect(sizes.script).toBeGreaterThan(50_000);
      expect(sizes.script).toBeLessThanOrEqual(MAX_SCRIPT_BYTES);
      expect(sizes.style).toBeLessThanOrEqual(MAX_STYLE_BYTES);
      expect(html).not.toMatch(
        /<style|\sstyle=|<script(?![^>]*\ssrc=)|\son\w+=/,
      );
    });

    it("has a policy that stops what a page must not do (sabotage)", async () => {
      await using opened = await openConsole(browser, server);
      const { page } = opened;
      await page.locator(".rows").waitFor();
      const refused = await page.evaluate(`(() => {
      const refused = [];
      try { document.body.innerHTML = "<b>x</b>"; } catch (reason) { refused.push(String(reason)); }
      return refused;
    })()`);
      expect(String(refused)).toContain("TrustedHTML");
      await page.evaluate(`{
      const script = document.createElement("style");
      script.textContent = "body { color: red }";
      document.head.append(script);
    }`);
      await expect
        .poll(() => page.evaluate("globalThis.violations"))
        .toContain("style-src-elem");
    });

    it("ends in a page that says how to get in, once its session is revoked", async () => {
      await using opened = await openConsole(browser, server);
      const { page } = opened;
      await page.goto(`${server.url}/console/#/server`);
      await page.locator(".server li", { hasText: "test" }).first().waitFor();
      // The newest is the one of this page.
      await page.locator(".server li button").first().click();
      await page
        .getByRole("heading", { name: "Open the console from your terminal" })
        .waitFor();
      await page.reload();
      await page.getByText("devtool console").waitFor();
    });

    async function send(page: Page, text: string): Promise<void> {
      await page.getByLabel("Message").fill(text);
      await page.getByRole("button", { name: "Send" }).click();
    }

    async function expectClean({ page, faults }: ConsolePage): Promise<void> {
      expect([
        ...faults(),
        ...[await page.evaluate("globalThis.violations ?? []")].flat(),
      ]).toEqual([]);
      expect(page.url()).not.toContain("code=");
    }
  },
);
