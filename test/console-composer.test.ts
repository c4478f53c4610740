import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { loadConsole } from "@devtool/console";
import { SlashCommandSchema } from "@devtool/schema";
import { type Agent, createServer, type DevtoolServer } from "@devtool/server";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openConsole } from "./console/console-page.ts";
import { CHROMIUM, launch } from "./outer/browser.ts";

describe.skipIf(CHROMIUM === undefined)("where a message is written (skipped without Chromium)", () => {
  let workspace: string;
  let elsewhere: string;
  let server: DevtoolServer;

  beforeAll(async () => {
    [workspace = "", elsewhere = ""] = await Promise.all([directory(), directory()]);
    const agents = { ada: agentOf("Ada"), bob: agentOf("Bob") };
    const workspaceRoots = [workspace, elsewhere];
    server = await createServer({ agents, workspace, workspaceRoots, site: await loadConsole() });
  });
  afterAll(async () => {
    await server?.close();
    for (const one of [workspace, elsewhere]) await rm(one, { recursive: true });
  });

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
    await page.locator(".prose", { hasText: `Bob answers in ${elsewhere}` }).waitFor();
    // The session that the command has begun is Bob's, and there.
    await listed(page, `/where Bob in ${elsewhere}`);
    await page.goto(`${server.url}/console/#/new/others`);
    await listed(page, `/where Ada in ${workspace}`);
    expect(opened.faults()).toEqual([]);
  });

  it("says which of the files that are added are no images", async () => {
    await using browser = await launch();
    await using opened = await openConsole(browser, server);
    const { page } = opened;
    await page.goto(`${server.url}/console/#/new/files`);
    const buffer = Buffer.from("text");
    await page.getByLabel("Add an image").setInputFiles([
      { name: "notes.pdf", mimeType: "application/pdf", buffer },
      { name: "dot.gif", mimeType: "image/gif", buffer },
    ]);
    await page.getByRole("alert").getByText("Only images can be added, not these: notes.pdf").waitFor();
    expect(await page.locator(".attachments li").count()).toBe(1);
    expect(opened.faults()).toEqual([]);
  });
});

/** Writes a slash, and waits for the only command that is offered. */
async function listed(page: Page, command: string): Promise<void> {
  await page.getByLabel("Message").fill("/");
  await expect.poll(() => page.locator(".commands [role=option]").allTextContents()).toEqual([command]);
}

/** An agent that says its name and where it works, and has a command that does the same. */
function agentOf(name: string): Agent {
  return {
    about: { name, description: `${name} answers.` },
    open: () => ({
      commands: {
        list: ({ workspacePath }) =>
          Promise.resolve([create(SlashCommandSchema, { name: "where", description: `${name} in ${workspacePath}` })]),
        check: () => Promise.resolve(undefined),
      },
      createExecutor: () => ({
        async *execute({ task }) {
          yield { case: "text", value: `${name} answers in ${task.settings?.workspacePath}\n` };
        },
      }),
    }),
  };
}

async function directory(): Promise<string> {
  return realpath(await mkdtemp(join(tmpdir(), "devtool-composer-")));
}
