import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { toJsonString } from "@bufbuild/protobuf";
import { subscribeTask } from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { TrustStore, Workspace } from "@devtool/coding-agent/operator";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  emptyTask,
  isAtRest,
  OPTION_PROCEED_ONCE,
  reduceTask,
  type SlashCommand,
  type Task,
  TaskSchema,
  TaskState,
} from "@devtool/schema";
import type { DevtoolServer } from "@devtool/server";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Conversation } from "../audit/conversation.ts";
import { createIssuer } from "./issuer.ts";

/** The arguments of commands that need some. */
const ARGUMENTS: ReadonlyMap<string, string> = new Map([
  ["shell", "true"],
  ["restore", "1"],
  ["memory add", "Bob was here."],
]);

function pathsOf(
  commands: readonly SlashCommand[],
  above: readonly string[] = [],
): string[][] {
  return commands.flatMap(({ name, subCommands }) => [
    [...above, name],
    ...pathsOf(subCommands, [...above, name]),
  ]);
}

const OPERATORS_POLICY = `
[[rule]]
name = "no-secrets"
tool = "read_file"
path = "keys/**"
decision = "deny"
[[rule]]
tool = "write_file"
path = "generated/**"
decision = "deny"
`;

const signal = AbortSignal.timeout(300_000);

describe("data of the operator (S12)", () => {
  let base: string;
  let workspace: string;
  let server: DevtoolServer;
  let operator: Conversation;
  let bob: Conversation;
  let trust: TrustStore;
  beforeEach(async () => {
    base = temporaryDirectory();
    workspace = join(base, "workspace");
    const dataDirectory = join(base, "data");
    await mkdir(workspace);
    await writeFile(join(workspace, "AGENTS.md"), "Use tabs.\n");
    await mkdir(dataDirectory, { mode: 0o700 });
    const saved = `[[rule]]\ndecision = "allow"\ntool = "run_shell_command"\ncommand_prefix = "make secret-project"\n`;
    await writeFile(join(dataDirectory, "saved-approvals.toml"), saved, {
      mode: 0o600,
    });
    trust = new TrustStore({
      dataDirectory,
      openDirectory: (path) => new Workspace(path),
      now: () => new Date(0),
    });
    await trust.grant(await trust.preview(workspace));
    const issuer = await createIssuer();
    const jwt = { ...issuer.options, approveScope: "approve" };
    const policyFiles = [join(base, "OPERATORS-PLACE.toml")];
    await writeFile(policyFiles[0] ?? "", OPERATORS_POLICY, { mode: 0o600 });
    server = await serveCodingAgent({
      workspace,
      dataDirectory,
      policyFiles,
      authentication: { jwt },
    });
    operator = new Conversation(server, signal);
    bob = new Conversation(
      { url: server.url, token: await issuer.tokenFor("bob", "approve") },
      signal,
    );
  });
  afterEach(() => server.close());

  it("trust does not follow changes of memory files that another principal approves", async () => {
    const before = await readFile(join(base, "data/trust.json"), "utf8");
    await remember(bob, "EVIL");
    expect(await readFile(join(workspace, "AGENTS.md"), "utf8")).toContain(
      "EVIL",
    );
    expect(await readFile(join(base, "data/trust.json"), "utf8")).toBe(before);
    expect((await trust.trustOf(workspace)).case).toBe("changed");
  });

  it("trust follows the operator", async () => {
    await remember(operator, "Tests are slow.");
    expect((await trust.trustOf(workspace)).case).toBe("trusted");
  });

  it("saved approvals are listed only for the operator", async () => {
    expect(
      toJsonString(
        TaskSchema,
        await commanded(operator, ["policies", "list"], ""),
      ),
    ).toContain("secret-project");
    expect(
      toJsonString(TaskSchema, await commanded(bob, ["policies", "list"], "")),
    ).not.toContain("secret-project");
  });

  it("the paths of policy files are shown only to the operator, in lists and in decisions", async () => {
    const texts = async (who: Conversation) => [
      toJsonString(TaskSchema, await commanded(who, ["policies", "list"], "")),
      toJsonString(TaskSchema, await who.start("write generated/a.txt x")),
      toJsonString(TaskSchema, await who.start("run cat keys/a")),
    ];
    for (const [index, text] of (await texts(operator)).entries()) {
      expect(text).toContain(
        `OPERATORS-PLACE.toml:${index === 1 ? "2" : "no-secrets"}`,
      );
    }
    for (const [index, text] of (await texts(bob)).entries()) {
      expect(text).not.toContain("OPERATORS-PLACE");
      expect(text).toContain(`operator-1:${index === 1 ? "2" : "no-secrets"}`);
    }
  });

  it("no slash command shows it, or another principal's conversation, to a second principal", async () => {
    await writeFile(join(base, "data/AGENTS.md"), "OPERATORS-MEMORY\n", {
      mode: 0o600,
    });
    const asking = await operator.start(
      "text OPERATORS-WORDS\nwrite OPERATORS-FILE.txt one",
    );
    const { contextId } = await operator.answer(asking, OPTION_PROCEED_ONCE);
    const secrets = ["OPERATORS-", "secret-project", join(base, "data")];
    const { commands } = await bob.client.commands.getAllSlashCommands({});
    const paths = pathsOf(commands);
    expect(paths.length).toBeGreaterThan(12);
    for (const path of paths) {
      const args = ARGUMENTS.get(path.join(" ")) ?? "";
      for (const where of ["", contextId]) {
        const seen = await everythingOf(bob, path, args, where);
        expect(
          secrets.filter((secret) => seen.includes(secret)),
          `/${path.join(" ")} in ${where}`,
        ).toEqual([]);
      }
    }
    const shown = async (path: string) =>
      everythingOf(operator, path.split(" "), "", contextId);
    expect(await shown("memory show")).toContain("OPERATORS-MEMORY");
    expect(await shown("restore list")).toContain("OPERATORS-FILE");
    expect(await shown("policies list")).toContain("secret-project");
    expect(await shown("stats")).toContain("write_file");
  });

  it("a second principal cannot restore a checkpoint of the operator", async () => {
    const changed = await operator.answer(
      await operator.start("write made.txt one"),
      OPTION_PROCEED_ONCE,
    );
    expect(changed.state).toBe(TaskState.COMPLETED);
    expect(await everythingOf(bob, ["restore"], "1", "")).toContain(
      'checkpoint "1" does not exist',
    );
    expect(await everythingOf(operator, ["restore"], "1", "")).toContain(
      "Restore the files of the workspace",
    );
  });

  /** Returns the immediate and the later reply of a command as text. */
  async function everythingOf(
    who: Conversation,
    commandPath: string[],
    args: string,
    contextId: string,
  ) {
    const { result } = await who.client.commands.runSlashCommand({
      command: { commandPath, args },
      contextId,
    });
    const { executionId = "", message = "" } = result ?? {};
    return executionId === ""
      ? message
      : toJsonString(TaskSchema, await followed(who, executionId));
  }

  async function remember(who: Conversation, fact: string): Promise<void> {
    const asking = await commanded(who, ["memory", "add"], fact);
    await who.answer(asking, OPTION_PROCEED_ONCE);
  }

  async function commanded(
    who: Conversation,
    commandPath: string[],
    args: string,
  ): Promise<Task> {
    const { result } = await who.client.commands.runSlashCommand({
      command: { commandPath, args },
    });
    return followed(who, result?.executionId ?? "");
  }

  async function followed(who: Conversation, taskId: string): Promise<Task> {
    let task = emptyTask();
    for await (const event of subscribeTask(who.client, { taskId }, signal)) {
      task = reduceTask(task, event);
      if (isAtRest(task.state)) break;
    }
    return task;
  }
});
