import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { create } from "@bufbuild/protobuf";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { SavedApprovals } from "@devtool/policy";
import { approvalId } from "@devtool/policy/operator";
import {
  CommandExecutionStatus,
  PolicyRuleSchema,
  RuleDecision,
  SlashCommandService,
  TaskService,
  TaskState,
} from "@devtool/schema";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runCommand } from "../testing/run-command.ts";

/**
 * What a hostile server or model writes to forge a second line, by each kind of
 * line break, and to move the cursor.
 */
const WORDS =
  "nice\nforged  completed\r\nforged too\u2028forged again\u0085forged \u001b[2Jlast";

describe("words from outside, in the command's lists", () => {
  let base: string;
  let server: Server;
  let flags: readonly string[];

  beforeAll(async () => {
    base = temporaryDirectory();
    const task = {
      id: WORDS,
      title: WORDS,
      lastEvent: { state: TaskState.WORKING },
    };
    const failedToStart = {
      status: CommandExecutionStatus.FAILED_TO_START,
      message: WORDS,
    };
    server = createServer(
      connectNodeAdapter({
        routes: (router) => {
          router.service(TaskService, {
            listTasks: () => ({ tasks: [task] }),
            renameTask: () => ({ task: { id: WORDS, title: WORDS } }),
            cancelTask: () => ({}),
          });
          router.service(SlashCommandService, {
            getAllSlashCommands: () => ({
              commands: [{ name: WORDS, description: WORDS }],
            }),
            runSlashCommand: () => ({ result: failedToStart }),
          });
        },
      }),
    );
    await new Promise<void>((resolve) =>
      server.listen(0, "127.0.0.1", resolve),
    );
    const address: AddressInfo | string | null = server.address();
    const port =
      typeof address === "object" && address
        ? address.port
        : expect.unreachable();
    flags = ["--url", `http://127.0.0.1:${port}`, "--token", "t"];
  });
  afterAll(() => server.close());

  it.each([
    { args: ["tasks"] },
    { args: ["rename", "x", "title"] },
    { args: ["cancel", WORDS] },
    { args: ["commands"] },
    { args: ["exec", "memory"] },
  ])("forge no line of devtool $args", async ({ args }) => {
    const [command = "", ...rest] = args;
    const { out, err } = await runCommand([command, ...flags, ...rest]);
    expectNoForgedLine(out + err);
  });

  it("forge no line of devtool approvals", async () => {
    const rule = create(PolicyRuleSchema, {
      decision: RuleDecision.ALLOW,
      tool: ["run_shell_command"],
      commandPrefix: [`touch '${WORDS}'`],
      exactCommand: true,
      workspace: `/work/${WORDS}`,
    });
    await (await SavedApprovals.open(base, expect.unreachable)).save([rule]);
    const listed = await runCommand(["approvals", "list", "--data", base]);
    expectNoForgedLine(listed.out);
    expect(listed.out.split("\n")).toHaveLength(2);
    expectNoForgedLine(
      (await runCommand(["approvals", "remove", WORDS, "--data", base])).err,
    );
    expectNoForgedLine(
      (
        await runCommand([
          "approvals",
          "remove",
          approvalId(rule),
          "--data",
          base,
        ])
      ).out,
    );
  });
});

function expectNoForgedLine(output: string): void {
  expect(output).toContain("nice");
  expect(output).not.toMatch(/^forged/m);
  expect(output).not.toMatch(/[\p{Cc}\p{Zl}](?<!\n)/u);
}
