import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { AxeBuilder } from "@axe-core/playwright";
import { create, toJsonString } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { createTaskView } from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { loadConsole } from "@devtool/console";
import { fileText, putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { createMcp } from "@devtool/mcp";
import {
  GetWorkspaceSettingsResponseSchema,
  McpServerSchema,
  RuleDecision,
} from "@devtool/schema";
import type { DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createIssuer, type Issuer } from "../auth/issuer.ts";
import { CHROMIUM, launch } from "../outer/browser.ts";
import { clientOf, openConsole } from "./console-page.ts";

const SECRET = "hush-hush-4711";

/**
 * MCP servers that hold a secret in each place in which settings can have one.
 */
const MCP_SERVERS = [
  create(McpServerSchema, {
    name: "process",
    transport: {
      case: "stdio",
      value: {
        command: process.execPath,
        args: ["-e", "process.exit(1)", SECRET],
        env: { KEY: SECRET },
      },
    },
  }),
  create(McpServerSchema, {
    name: "address",
    transport: {
      case: "http",
      value: {
        url: `http://${SECRET}:${SECRET}@127.0.0.1:9/?key=${SECRET}`,
        headers: { authorization: SECRET },
      },
    },
  }),
];

const POLICY = `[[rule]]
name = "no-deploy"
command_prefix = ["deploy"]
decision = "deny"
`;

describe("the workspace of a session", () => {
  let base: string;
  let workspace: string;
  let issuer: Issuer;
  let server: DevtoolServer;

  beforeAll(async () => {
    base = temporaryDirectory();
    workspace = join(base, "work");
    putFile(workspace, "notes.txt", "first");
    putFile(base, "operator.toml", POLICY);
    issuer = await createIssuer();
    server = await serveCodingAgent({
      workspace,
      dataDirectory: join(base, "data"),
      policyFiles: [join(base, "operator.toml")],
      mcp: createMcp({ servers: MCP_SERVERS }),
      authentication: { jwt: issuer.options },
      site: await loadConsole(),
    });
  });
  afterAll(() => server?.close());

  it("is described to the owner of a task: rules, MCP servers, trust", async () => {
    const taskId = await startedTask("text Hello.");
    const found = await clientOf(server).workspaces.getWorkspaceSettings({
      taskId,
    });
    const rule = found.rules.find(({ name }) => name.includes("no-deploy"));
    expect(rule).toMatchObject({ decision: RuleDecision.DENY });
    expect(rule?.description).toContain("deploy");
    expect(found.mcpServers.map(({ name }) => name)).toEqual([
      "process",
      "address",
    ]);
    expect(found.trust).toMatchObject({
      workspacePath: workspace,
      isTrusted: false,
    });
    expect(found.trust?.problem).toContain("devtool trust add");
  });

  it("is described without a secret of an MCP server, also when none of them can be reached", async () => {
    const taskId = await startedTask("text Hello.");
    const { workspaces } = clientOf(server);
    await expect
      .poll(async () =>
        (await workspaces.getWorkspaceSettings({ taskId })).mcpServers.map(
          ({ state }) => state,
        ),
      )
      .not.toContain("connecting");
    const found = await workspaces.getWorkspaceSettings({ taskId });
    expect(found.mcpServers).toHaveLength(2);
    expect(
      toJsonString(GetWorkspaceSettingsResponseSchema, found),
    ).not.toContain(SECRET);
  });

  it("is not described to another principal, nor are its checkpoints listed", async () => {
    const taskId = await startedTask("text Hello.");
    const { workspaces } = clientOf({
      ...server,
      token: await issuer.tokenFor("mallory"),
    });
    const refused = { code: Code.NotFound };
    await expect(
      workspaces.getWorkspaceSettings({ taskId }),
    ).rejects.toMatchObject(refused);
    await expect(workspaces.listCheckpoints({ taskId })).rejects.toMatchObject(
      refused,
    );
    await expect(
      clientOf(server).workspaces.listCheckpoints({ taskId: "none" }),
    ).rejects.toMatchObject(refused);
    const without = clientOf({ ...server, token: "" }).workspaces;
    await expect(without.listCheckpoints({ taskId })).rejects.toMatchObject({
      code: Code.Unauthenticated,
    });
  });

  describe.skipIf(CHROMIUM === undefined)(
    "in Chromium (skipped without Chromium)",
    () => {
      it("is restored from a checkpoint: the page asks first, and says which files change", async () => {
        await using browser = await launch();
        await using opened = await openConsole(browser, server, {
          viewport: { width: 320, height: 700 },
        });
        const { page } = opened;
        await page.getByRole("link", { name: "New session" }).click();
        await page
          .getByLabel("Message")
          .fill("write notes.txt second\ntext Written.");
        await page.getByRole("button", { name: "Send" }).click();
        // A click does not count while its question has just moved: whoever
        // sees it still asked clicks again.
        const allow = page.getByRole("button", { name: "Allow once" });
        await allow.waitFor();
        await expect
          .poll(async () => {
            await allow.click({ timeout: 2000 }).catch(() => undefined);
            return allow.count();
          })
          .toBe(0);
        await page.locator(".prose", { hasText: "Written." }).waitFor();
        expect(fileText(workspace, "notes.txt")).toBe("second");
        await page.getByRole("link", { name: "Checkpoints" }).click();
        const newest = page.locator(".checkpoint").first();
        expect(await newest.textContent()).toContain("notes.txt");
        const { violations } = await new AxeBuilder({ page })
          .setLegacyMode()
          .analyze();
        expect(
          violations.map(({ id, nodes }) => [
            id,
            nodes.map(({ html }) => html),
          ]),
        ).toEqual([]);
        expect(
          await page.evaluate(
            "document.documentElement.scrollWidth > innerWidth",
          ),
        ).toBe(false);
        await newest
          .getByRole("button", { name: /^Restore a checkpoint/ })
          .click();
        await page.locator(".approval", { hasText: "notes.txt" }).waitFor();
        expect(fileText(workspace, "notes.txt")).toBe("second");
        await allow.scrollIntoViewIfNeeded();
        await allow.click();
        await expect
          .poll(() => readFile(join(workspace, "notes.txt"), "utf8"))
          .toBe("first");
        expect(opened.faults()).toEqual([]);
      });

      it("is described on a page of the session", async () => {
        const taskId = await startedTask("text Hello.");
        await using browser = await launch();
        await using opened = await openConsole(browser, server);
        const { page } = opened;
        await page.goto(`${server.url}/console/#/session/${taskId}/rules`);
        await page
          .locator(".rules li", { hasText: "no-deploy" })
          .getByText("denies")
          .waitFor();
        await page
          .locator("li", { hasText: "address" })
          .getByText(
            /^(connecting|failed, and tried again when needed|stopped) · 0 tools$/,
          )
          .waitFor();
        await page.getByText("devtool trust add").waitFor();
        expect(await page.locator("body").textContent()).not.toContain(SECRET);
        expect(opened.faults()).toEqual([]);
      });
    },
  );

  async function startedTask(text: string): Promise<string> {
    const view = createTaskView(clientOf(server));
    await view.send(text, AbortSignal.timeout(60_000));
    return view.snapshot().task.id;
  }
});
