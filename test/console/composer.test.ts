import { serveCodingAgent } from "@devtool/coding-agent";
import { loadConsole } from "@devtool/console";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { type Agent, createServer, type DevtoolServer } from "@devtool/server";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";
import { CHROMIUM, launch } from "../outer/browser.ts";
import { namedAgent } from "../scenarios/named-agent.ts";
import { openConsole } from "./console-page.ts";

describe.skipIf(CHROMIUM === undefined)(
  "where a message is written (skipped without Chromium)",
  () => {
    let workspace: string;
    let elsewhere: string;
    let server: DevtoolServer;

    beforeAll(async () => {
      workspace = temporaryDirectory();
      elsewhere = temporaryDirectory();
      const eve: Agent = { ...namedAgent("Eve"), follows: ["approval_mode"] };
      const agents = { ada: namedAgent("Ada"), bob: namedAgent("Bob"), eve };
      const workspaceRoots = [workspace, elsewhere];
      server = await createServer({
        agents,
        workspace,
        workspaceRoots,
        site: await loadConsole(),
      });
    });
    afterAll(() => server?.close());

    it("lists and runs the slash commands of the session's agent, for its directory", async () => {
      await using browser = await launch();
      await using opened = await openConsole(browser, server);
      const { page } = opened;
      await page.goto(`${server.url}/console/#/new/commands`);
      await page.getByLabel("Agent").selectOption("bob");
      await page.getByLabel("Workspace").fill(elsewhere);
      await listed(page, `/where Bob in ${elsewhere}`);
      await page.locator(".commands [role=option]").click();
      await page.keyboard.press("Enter");
      await page
        .locator(".prose", { hasText: `Bob answers in ${elsewhere}` })
        .waitFor();
      // The session that the command has begun is Bob's, and there.
      await listed(page, `/where Bob in ${elsewhere}`);
      await page.goto(`${server.url}/console/#/new/others`);
      await listed(page, `/where Ada in ${workspace}`);
      expect(opened.faults()).toEqual([]);
    });

    it("N1: offers no model and no mode of an agent that follows none, and says why", async () => {
      await using browser = await launch();
      await using opened = await openConsole(browser, server);
      const { page } = opened;
      const noMode = page.getByText("choose the mode.");
      await page.goto(`${server.url}/console/#/new/modes`);
      await page.getByLabel("Agent").selectOption("eve");
      await page.getByLabel("Mode").selectOption("plan");
      await page.getByLabel("Agent").selectOption("bob");
      await noMode.waitFor();
      await page.getByText("does not let you choose the model").waitFor();
      expect(await page.getByLabel("Mode").count()).toBe(0);
      // The mode that was chosen for Eve is not sent to Bob, who refuses it.
      await page.getByLabel("Message").fill("hello");
      await page.keyboard.press("Enter");
      await page.locator(".prose", { hasText: "Bob answers" }).waitFor();
      await page.locator(".session-about", { has: noMode }).waitFor();
      expect(await page.getByLabel("Mode").count()).toBe(0);
      expect(await page.locator(".rewind").count()).toBe(0);
      expect(opened.faults()).toEqual([]);
    });

    it("goes on from before a message in a new session, with its text", async () => {
      const site = await loadConsole();
      const coding = await serveCodingAgent({
        workspace,
        sandbox: "none",
        site,
      });
      await using stack = new AsyncDisposableStack();
      stack.defer(() => coding.close());
      await using browser = await launch();
      await using opened = await openConsole(browser, coding);
      const { page } = opened;
      const message = page.getByLabel("Message");
      const say = async (text: string): Promise<void> => {
        await message.fill(`text ${text}`);
        await page.keyboard.press("Enter");
        await page.locator(".prose", { hasText: text }).waitFor();
      };
      await page.goto(`${coding.url}/console/#/new/first`);
      await say("One.");
      await say("Two.");
      await page.locator(".rewind").nth(1).click();
      await page.getByText("A new session goes on").waitFor();
      await expect.poll(() => message.inputValue()).toBe("text Two.");
      await say("Else.");
      await say("More.");
      expect(await page.locator(".prompt").allTextContents()).toEqual([
        "text Else.",
        "text More.",
      ]);
      // Each one from there is another session, with a draft of its own.
      for (const _each of [1, 2]) {
        await page.goBack();
        await page.locator(".rewind").nth(1).click();
        await expect.poll(() => message.inputValue()).toBe("text Two.");
        await message.fill("text Half");
      }
      const { tasks } = clientOf(coding);
      const [fork, first] = (await tasks.listTasks({})).tasks;
      const of = async (taskId = "") =>
        (await tasks.getTask({ taskId })).task?.history ?? [];
      expect((await of(fork?.id))[0]?.fork).toMatchObject({
        taskId: first?.id,
        beforeMessageId: (await of(first?.id))[2]?.messageId,
      });
      // A first message that is refused leaves the beginning to the next one.
      await page.goto(`${coding.url}/console/#/fork/${first?.id}/0/refused`);
      const send = page.getByRole("button", { name: "Send" });
      const refuse = Promise.withResolvers<void>();
      const isHeld = Promise.withResolvers<void>();
      await page.route(
        /TaskService\/StreamMessage/,
        async (route) => {
          isHeld.resolve();
          await refuse.promise;
          await route.fulfill({
            contentType: route.request().headers()["content-type"] ?? "",
            body: endStream({ error: { code: "permission_denied" } }),
          });
        },
        { times: 1 },
      );
      await expect.poll(() => message.inputValue()).toBe("text One.");
      await message.press("Enter");
      await isHeld.promise;
      await message.fill("text Next.");
      await page.keyboard.press("Enter");
      await expect.poll(() => send.isDisabled()).toBe(true);
      refuse.resolve();
      await expect
        .poll(() => message.inputValue())
        .toBe("text One.\ntext Next.");
      await say("Third.");
      const [refused] = (await tasks.listTasks({})).tasks;
      expect((await of(refused?.id))[0]?.fork?.taskId).toBe(first?.id);
      await page.goto(`${coding.url}/console/#/fork/${first?.id}/-1/lost`);
      await page.getByText("That session has no such message.").waitFor();
      expect(await send.isDisabled()).toBe(true);
      expect(opened.faults()).toEqual([]);
    });

    it("keeps what is written in a session while another one is shown", async () => {
      await using browser = await launch();
      await using opened = await openConsole(browser, server);
      const { page } = opened;
      const message = page.getByLabel("Message");
      await page.goto(`${server.url}/console/#/new/drafts`);
      await message.fill("first");
      await page.keyboard.press("Enter");
      await page.waitForURL(/session/);
      const session = page.url();
      await message.fill("half a second message");
      await page.goto(`${server.url}/console/#/new/another`);
      await expect.poll(() => message.inputValue()).toBe("");
      await message.fill("another session");
      await page.keyboard.press("Enter");
      await page.waitForURL((url) => url.hash.includes("session"));
      await expect.poll(() => message.inputValue()).toBe("");
      await page.goto(session);
      await expect
        .poll(() => message.inputValue())
        .toBe("half a second message");
      expect(opened.faults()).toEqual([]);
    });

    it("returns a command that does not start to its session, while another one is shown", async () => {
      await using browser = await launch();
      await using opened = await openConsole(browser, server);
      const { page } = opened;
      const message = page.getByLabel("Message");
      const asked = Promise.withResolvers<void>();
      const left = Promise.withResolvers<void>();
      await page.route(/RunSlashCommand/, async (route) => {
        asked.resolve();
        await left.promise;
        await route.abort();
      });
      await page.goto(`${server.url}/console/#/new/refused`);
      await message.fill("/nosuch command");
      await page.keyboard.press("Enter");
      await asked.promise;
      await page.goto(`${server.url}/console/#/new/meanwhile`);
      await message.fill("something else");
      left.resolve();
      await page.goto(`${server.url}/console/#/new/refused`);
      await expect.poll(() => message.inputValue()).toBe("/nosuch command");
      await page.goto(`${server.url}/console/#/new/meanwhile`);
      await expect.poll(() => message.inputValue()).toBe("something else");
    });

    it("returns a message that the server refuses to its session, while another one is shown", async () => {
      await using browser = await launch();
      await using opened = await openConsole(browser, server);
      const { page } = opened;
      const message = page.getByLabel("Message");
      const left = Promise.withResolvers<void>();
      await page.route(/StreamMessage/, async (route) => {
        await left.promise;
        await route.continue();
      });
      await page.goto(`${server.url}/console/#/new/unwelcome`);
      await page.getByLabel("Workspace").fill("/nowhere");
      await message.fill("what took long to write");
      const asked = page.waitForRequest(/StreamMessage/);
      await page.keyboard.press("Enter");
      await asked;
      await page.goto(`${server.url}/console/#/new/meanwhile`);
      await message.fill("something else");
      const answered = page.waitForResponse(/StreamMessage/);
      left.resolve();
      await answered;
      await page.goto(`${server.url}/console/#/new/unwelcome`);
      await expect
        .poll(() => message.inputValue())
        .toBe("what took long to write");
      await page.getByRole("alert").getByText("was not sent").waitFor();
      await page.goto(`${server.url}/console/#/new/meanwhile`);
      await expect.poll(() => message.inputValue()).toBe("something else");
      expect(opened.faults()).toEqual([]);
    });

    it("stays with another session that is shown when a command has run", async () => {
      await using browser = await launch();
      await using opened = await openConsole(browser, server);
      const { page } = opened;
      const message = page.getByLabel("Message");
      const shown = Promise.withResolvers<void>();
      await page.route(/RunSlashCommand/, async (route) => {
        await shown.promise;
        await route.continue();
      });
      await page.goto(`${server.url}/console/#/new/command`);
      await message.fill("/about");
      await page.keyboard.press("Enter");
      await page.goto(`${server.url}/console/#/new/another`);
      await message.fill("written meanwhile");
      const ran = page.waitForResponse(/RunSlashCommand/);
      shown.resolve();
      await ran;
      // The session of the command is in the list by then, and its page would
      // be shown.
      await page.locator(".rows", { hasText: "/about" }).waitFor();
      expect(new URL(page.url()).hash).toBe("#/new/another");
      expect(await message.inputValue()).toBe("written meanwhile");
      expect(opened.faults()).toEqual([]);
    });

    it("says which of the files that are added are not images", async () => {
      await using browser = await launch();
      await using opened = await openConsole(browser, server);
      const { page } = opened;
      await page.goto(`${server.url}/console/#/new/files`);
      const buffer = Buffer.from("text");
      await page.getByLabel("Add an image").setInputFiles([
        { name: "notes.pdf", mimeType: "application/pdf", buffer },
        { name: "dot.gif", mimeType: "image/gif", buffer },
      ]);
      await page
        .getByRole("alert")
        .getByText("Only images can be added, not these: notes.pdf")
        .waitFor();
      expect(await page.locator(".attachments li").count()).toBe(1);
      expect(opened.faults()).toEqual([]);
    });

    it("runs no slash command with images, which it would lose, and keeps both", async () => {
      await using browser = await launch();
      await using opened = await openConsole(browser, server);
      const { page } = opened;
      await page.goto(`${server.url}/console/#/new/images`);
      const buffer = Buffer.from("text");
      await page
        .getByLabel("Add an image")
        .setInputFiles([{ name: "dot.gif", mimeType: "image/gif", buffer }]);
      await page.getByLabel("Message").fill("/where ");
      await page.keyboard.press("Enter");
      await page
        .getByRole("alert")
        .getByText("A slash command takes no images: dot.gif")
        .waitFor();
      expect(await page.getByLabel("Message").inputValue()).toBe("/where ");
      expect(await page.locator(".attachments li").count()).toBe(1);
      await page.getByRole("button", { name: "Remove" }).click();
      await page.getByLabel("Message").press("Enter");
      await page.locator(".prose", { hasText: "Ada answers" }).waitFor();
      expect(opened.faults()).toEqual([]);
    });
  },
);

/** Writes a slash, and waits for the only command that is offered. */
async function listed(page: Page, command: string): Promise<void> {
  await page.getByLabel("Message").fill("/");
  await expect
    .poll(() => page.locator(".commands [role=option]").allTextContents())
    .toEqual([command]);
}

/** The end of a stream of Connect: an envelope with flag 2 and JSON. */
function endStream(end: object): Buffer {
  const body = Buffer.from(JSON.stringify(end));
  const head = Buffer.from([2, 0, 0, 0, 0]);
  head.writeUInt32BE(body.length, 1);
  return Buffer.concat([head, body]);
}
