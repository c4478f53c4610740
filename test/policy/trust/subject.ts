// Runs in a process of its own, which is traced: opens every repository as a
// client would, and says when it is done.
import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import {
  type DevtoolClient,
  streamMessage,
  textMessage,
} from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { TrustStore, Workspace } from "@devtool/coding-agent/operator";
import type { WorkspaceTrust } from "@devtool/coding-agent/testing";
import {
  builtinCommands,
  createCommandFiles,
  createScriptedModel,
  loadMemory,
  readConfigFiles,
  SlashCommands,
} from "@devtool/coding-agent/testing";
import { emptyTask, reduceTask, TaskState } from "@devtool/schema";
import type { CommandContext } from "@devtool/server/agent";
import { clientOf } from "../../client-of.ts";
import { REPOSITORIES } from "./repositories.ts";

const signal = AbortSignal.timeout(300_000);
const [mode = "", root = "", data = ""] = process.argv.slice(2);
const paths = REPOSITORIES.map(({ path }) => join(root, path)).filter(
  (path) => mode !== "granted" || /-md$/.test(path),
);

if (mode === "server" || mode === "granted") {
  await openInServer();
} else {
  await openInParts(mode === "sabotage" ? trustingAll() : trustStore());
}
// Shows that the trace sees what is opened.
await readFile(join(root, "control"));

/**
 * A real server with its data directory: a prompt, the list of commands,
 * `/help` and a command that is not there.
 */
async function openInServer(): Promise<void> {
  await using server = await serveCodingAgent({
    workspaceRoots: [root],
    dataDirectory: data,
  });
  const client = clientOf(server, "2");
  await client.commands.getAllSlashCommands({});
  for (const workspacePath of paths) await openWith(client, workspacePath);
}

async function openWith(
  client: DevtoolClient,
  workspacePath: string,
): Promise<void> {
  const message = textMessage(randomUUID(), "think\ntext hello");
  let task = emptyTask();
  for await (const event of streamMessage(
    client,
    { message, settings: { workspacePath } },
    signal,
  )) {
    task = reduceTask(task, event);
  }
  if (task.state !== TaskState.COMPLETED) {
    throw new Error(`the prompt in ${workspacePath} failed: ${task.error}`);
  }
  for (const commandPath of [["help"], ["memory", "show"], ["deploy"], ["x"]]) {
    await client.commands.runSlashCommand({
      command: { commandPath, args: "" },
      settings: { workspacePath },
    });
  }
}

/** Nothing here goes wrong in a way that an operator is told of. */
function onNotice(text: string): void {
  throw new Error(text);
}

/**
 * The parts through which a server reaches the configuration of workspaces,
 * under a trust of our own.
 */
async function openInParts(trust: WorkspaceTrust): Promise<void> {
  const load = ({ workspacePath }: Pick<CommandContext, "workspacePath">) =>
    loadMemory(
      { configDirectory: data, workspaceRoots: [root], trust, onNotice },
      workspacePath,
    );
  const own = builtinCommands({
    version: "1",
    model: "scripted",
    loadMemory: load,
  });
  const commands = new SlashCommands(own, [
    createCommandFiles({ trust, model: createScriptedModel(), onNotice }),
  ]);
  for (const path of paths) {
    await load({ workspacePath: path });
    await commands.list({ workspacePath: path, principal: "me" }, signal);
  }
}

function trustStore(): TrustStore {
  return new TrustStore({
    dataDirectory: data,
    openDirectory: (path) => new Workspace(path),
    now: () => new Date(0),
  });
}

/** The check taken out: whatever lies in a workspace is trusted. */
function trustingAll(): WorkspaceTrust {
  return {
    trustOf: async (directory) => {
      using workspace = new Workspace(directory);
      try {
        return { case: "trusted", files: readConfigFiles(workspace) };
      } catch {
        return { case: "untrusted", reason: "it is too large" };
      }
    },
  };
}
