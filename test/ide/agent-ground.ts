import { readFileSync, renameSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { subscribeTask } from "@devtool/client";
import type { CodingServerOptions } from "@devtool/coding-agent";
import { TrustStore, Workspace } from "@devtool/coding-agent/operator";
import { type Companion, startCompanion } from "@devtool/ide";
import { IdeLinks } from "@devtool/ide/operator";
import { ScriptedEditor } from "@devtool/ide/testing";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  CommandExecutionStatus,
  isEnded,
  Role,
  type Task,
  toolCallsOf,
} from "@devtool/schema";
import type { DevtoolServer } from "@devtool/server";
import { expect, vi } from "vitest";
import type { Address } from "../client-of.ts";
import { clientOf, Ground } from "../scenarios/ground.ts";
import { until } from "./agents.ts";

/** Our agent, and an editor that shows its workspace. */
export class IdeGround implements AsyncDisposable {
  readonly ground: Ground;
  readonly editor: ScriptedEditor;
  readonly env = { HOME: temporaryDirectory(), TMPDIR: temporaryDirectory() };

  #companion: Companion | undefined;
  #links = new IdeLinks({});

  private constructor(ground: Ground) {
    this.ground = ground;
    this.editor = new ScriptedEditor(ground.workspace);
  }

  static async prepare(
    files: Readonly<Record<string, string>> = {},
  ): Promise<IdeGround> {
    return new IdeGround(await Ground.prepare(files));
  }

  /** Starts a companion in the editor. */
  async companion(): Promise<Companion> {
    this.#companion = await startCompanion(this.editor, {
      env: this.env,
      editorPid: process.pid,
    });
    // A first client makes it load code, which takes long on a busy machine.
    for (let isWarm = false; !isWarm; ) {
      await using links = new IdeLinks(this.env);
      const signal = AbortSignal.timeout(60_000);
      const found = await links.connect(this.ground.workspace, signal);
      isWarm = found.case === "connected";
    }
    return this.#companion;
  }

  /** Closes the editor. */
  async end(): Promise<void> {
    await this.#companion?.close();
  }

  /** The path of a companion's file. */
  path(port: number): string {
    return join(
      this.directory,
      `gemini-ide-server-${process.pid}-${port}.json`,
    );
  }

  /** The file of the companion. */
  get file(): string {
    return this.path(this.#companion?.port ?? 0);
  }

  /** What the file says. */
  get content(): Record<string, unknown> {
    return JSON.parse(readFileSync(this.file, "utf8"));
  }

  /** Puts the files into the workspace, as a repository would bring them. */
  moveDirectoryIntoWorkspace(): void {
    const moved = join(this.ground.workspace, "ide");
    renameSync(this.directory, moved);
    symlinkSync(moved, this.directory);
  }

  /** Trusts the workspace, as `devtool trust add` does. */
  async trust(): Promise<void> {
    const store = new TrustStore({
      dataDirectory: this.ground.dataDirectory,
      openDirectory: (path) => new Workspace(path),
      now: () => new Date(),
    });
    await store.grant(await store.preview(this.ground.workspace));
  }

  /** Starts a server with an agent that uses editors. */
  serve(options: CodingServerOptions = {}): Promise<DevtoolServer> {
    return this.ground.serve({ ide: this.links(), ...options });
  }

  /** The editors of a server that starts. */
  links(): IdeLinks {
    this.#links = new IdeLinks(this.env);
    return this.#links;
  }

  /** Connects as the agent does. Returns the editor, or why there is none. */
  connect(): ReturnType<IdeLinks["connect"]> {
    return this.#links.connect(
      this.ground.workspace,
      AbortSignal.timeout(60_000),
    );
  }

  /** Shows the user something else, and waits until the agent knows it. */
  async show(context: Parameters<ScriptedEditor["show"]>[0]): Promise<void> {
    const found = await this.connect();
    this.editor.show(context);
    if (found.case === "none") throw new Error(found.reason);
    const active = this.editor
      .context()
      .openFiles.find((file) => file.isActive);
    await until(() => {
      const [first] = found.link.context().files;
      return first?.isActive && first.path === active?.path ? true : undefined;
    });
  }

  /** The directory of the files by which companions are found. */
  get directory(): string {
    return join(this.env.TMPDIR, "gemini/ide");
  }

  /** The texts of the user that the model got last. */
  userTexts(): string[] {
    const request = JSON.parse(
      JSON.stringify(this.ground.fake.requests().at(-1)?.body),
    );
    return request.contents.flatMap(
      (content: { role: string; parts: { text?: string }[] }) =>
        content.role === "user"
          ? content.parts.flatMap(({ text }) => text ?? [])
          : [],
    );
  }

  /** What the editor shows in the last messages, as the model got it. */
  contexts(): Record<string, unknown>[] {
    return this.userTexts().flatMap((text) => {
      const [, json] =
        /<editor_context>\n(\{.*)\n<\/editor_context>$/.exec(text) ?? [];
      return json === undefined ? [] : [JSON.parse(json)];
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
    await this.ground[Symbol.asyncDispose]();
  }
}

/** Sends a prompt to a task, or to a new one. Returns the task afterwards. */
export async function say(
  server: Address,
  text: string,
  taskId = "",
): Promise<Task | undefined> {
  const { task } = await clientOf(server, "Connect").tasks.sendMessage({
    taskId,
    message: {
      messageId: crypto.randomUUID(),
      role: Role.USER,
      parts: [{ content: { case: "text", value: text } }],
    },
  });
  return task;
}

/** Runs `/ide` in a conversation. Returns its reply, or why it did not start. */
export async function playIde(
  { url, token: own }: Address,
  word: string,
  session: {
    readonly contextId?: string;
    readonly agent?: string;
    readonly token?: string;
  } = {},
): Promise<string> {
  const { contextId = "", agent = "", token = own } = session;
  const client = clientOf({ url, token }, "Connect");
  const { result } = await client.commands.runSlashCommand({
    command: { commandPath: ["ide", word] },
    contextId,
    ...(agent !== "" && { sessionSettings: { agent } }),
  });
  if (result?.status === CommandExecutionStatus.FAILED_TO_START) {
    return result.message;
  }
  const taskId = result?.executionId ?? "";
  let text = "";
  const { signal } = new AbortController();
  for await (const event of subscribeTask(client, { taskId }, signal)) {
    if (event.payload.case === "text") text += event.payload.value.text;
  }
  return text;
}

/** Waits until all calls of a task have ended. Returns them, with who answered. */
export async function callsOf(server: Address, taskId: string) {
  const client = clientOf(server, "Connect");
  return await vi.waitFor(
    async () => {
      const { task } = await client.tasks.getTask({ taskId });
      const calls = callParts(task);
      expect(calls.map(({ isDone }) => isDone)).not.toContain(false);
      expect(calls.length).toBeGreaterThan(0);
      return calls;
    },
    { timeout: 60_000, interval: 20 },
  );
}

function callParts(task: Task | undefined) {
  return (task?.history ?? []).flatMap(({ parts }) =>
    parts.flatMap(({ content, toolCallDetail }) =>
      content.case === "toolCall"
        ? [
            {
              isDone: isEnded(content.value),
              result: content.value.result,
              place: toolCallDetail?.answerer?.clientLabel,
              option: toolCallDetail?.selectedOptionId,
            },
          ]
        : [],
    ),
  );
}

/** Answers the only question of a task as another client does. */
export async function answer(
  server: Address,
  taskId: string,
  selectedOptionId: string,
): Promise<void> {
  const client = clientOf(server, "Connect");
  const { task } = await client.tasks.getTask({ taskId });
  const [call] = (task?.history ?? []).flatMap(toolCallsOf);
  const value = { toolCallId: call?.toolCallId ?? "", selectedOptionId };
  await client.tasks.sendMessage({
    taskId,
    messageSettings: { clientLabel: "the terminal" },
    message: {
      messageId: crypto.randomUUID(),
      role: Role.USER,
      parts: [{ content: { case: "confirmation", value } }],
    },
  });
}
