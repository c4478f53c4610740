import { randomUUID } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import {
  confirmationPart,
  pendingToolCalls,
  textMessage,
} from "@devtool/client";
import {
  type CodingServerOptions,
  serveCodingAgent,
} from "@devtool/coding-agent";
import { fileText } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { type Task, type ToolCall, toolCallsOf } from "@devtool/schema";
import type { DevtoolServer } from "@devtool/server";
import { clientOf } from "../../client-of.ts";

/**
 * A user who opens a workspace that somebody else filled, and watches what
 * runs.
 */
export class Victim implements AsyncDisposable {
  readonly #base: string = temporaryDirectory();
  readonly #stack = new AsyncDisposableStack();
  readonly workspace: string = join(this.#base, "workspace");
  /**
   * The directory in which code that ran outside of the sandbox leaves a file.
   * No sandbox shows it.
   */
  readonly loot: string = join(this.#base, "loot");

  constructor() {
    for (const path of [this.workspace, this.loot]) mkdirSync(path);
  }

  /** Puts a file into the workspace. */
  file(path: string, text: string, mode = 0o644): void {
    const full = join(this.workspace, path);
    mkdirSync(dirname(full), { recursive: true });
    writeFileSync(full, text);
    chmodSync(full, mode);
  }

  /**
   * Puts a program into the workspace that leaves a file in the loot, then is
   * the real one.
   */
  program(path: string, real: string): void {
    this.file(path, this.trap(real), 0o755);
  }

  /** The text of such a program. */
  trap(real: string): string {
    return `#!/bin/sh\n/usr/bin/touch ${this.loot}/$(/usr/bin/basename "$0")\nexec ${real} "$@"\n`;
  }

  read(path: string): string {
    return fileText(this.workspace, path);
  }

  has(path: string): boolean {
    return existsSync(join(this.workspace, path));
  }

  /**
   * Starts a server whose PATH begins with these directories of the workspace,
   * as `npx` makes it.
   */
  async serve(
    options: CodingServerOptions = {},
    directories: readonly string[] = [],
  ): Promise<DevtoolServer> {
    const before = process.env.PATH;
    process.env.PATH = [
      ...directories.map((path) => join(this.workspace, path)),
      before,
    ].join(":");
    try {
      const { workspace } = this;
      const dataDirectory = join(this.#base, "data");
      const server = await serveCodingAgent({
        workspace,
        dataDirectory,
        onNotice: () => undefined,
        ...options,
      });
      return this.#stack.use(server);
    } finally {
      process.env.PATH = before;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}

/**
 * Sends a message, as the scripted model plays it, and gives the task when it
 * waits or has ended.
 */
export async function say(server: DevtoolServer, text: string): Promise<Task> {
  const { task } = await clientOf(server).tasks.sendMessage({
    message: textMessage(randomUUID(), text),
  });
  return whole(server, task?.id ?? "");
}

/** Answers what the task asks, with one option. */
export async function answer(
  { id, ...task }: Task,
  server: DevtoolServer,
  optionId = "proceed_once",
): Promise<Task> {
  const parts = pendingToolCalls({ id, ...task }).map((call) =>
    confirmationPart(call, optionId),
  );
  await clientOf(server).tasks.sendMessage({
    message: { messageId: randomUUID(), parts },
    taskId: id,
  });
  return whole(server, id);
}

/** An answer has its exchange alone. */
async function whole(server: DevtoolServer, taskId: string): Promise<Task> {
  const { task } = await clientOf(server).tasks.getTask({ taskId });
  if (!task) throw new Error("the server made no task");
  return task;
}

/** Returns the open questions of a task. */
export function asked(task: Task): ToolCall[] {
  return pendingToolCalls(task);
}

/** Returns the outputs of the calls of a task, in order. */
export function outputs(task: Task): string {
  return task.history.flatMap(toolCallsOf).map(outputOf).join("\n");
}

function outputOf({ result }: ToolCall): string {
  if (result.case === "error") return result.value.message;
  return result.case === "output" && result.value.result.case === "text"
    ? result.value.result.value
    : "";
}
