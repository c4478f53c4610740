import { readdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { acpAgent } from "@devtool/acp";
import type { AcpAgentOptions } from "@devtool/acp/testing";
import { fakeAgentCommand } from "@devtool/acp/testing";
import {
  confirmationPart,
  type DevtoolClient,
  pendingToolCalls,
  streamMessage,
  textMessage,
} from "@devtool/client";
import { defined } from "@devtool/internal/json";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  type AuditRecord,
  emptyTask,
  type Message,
  reduceTask,
  type SendMessageRequestSchema,
  type SessionSettingsSchema,
  type Task,
  type TaskEvent,
} from "@devtool/schema";
import {
  createServer,
  type DevtoolServer,
  type ServerOptions,
} from "@devtool/server";
import { readStore } from "../../audit/kills.ts";
import { clientOf } from "../../client-of.ts";

/** The options of `AcpWorld`. */
export interface AcpWorldOptions extends Partial<AcpAgentOptions> {
  /** Flags of the fake agent. */
  readonly flags?: readonly string[];
  /**
   * Keeps tasks and the agent's sessions in files, so that both can be
   * restarted.
   */
  readonly isDurable?: boolean;
  /** Which MCP servers clients may add. Default: the server's. */
  readonly clientMcpServers?: ServerOptions["clientMcpServers"];
}

/** One exchange as a client saw it. */
export interface Exchange {
  readonly task: Task;
  readonly events: readonly TaskEvent[];
  /** The text of the exchange, joined. */
  readonly text: string;
}

/** A server with the fake ACP agent, and a client. */
export class AcpWorld implements AsyncDisposable {
  readonly directory: string = temporaryDirectory();
  readonly workspace: string = temporaryDirectory();
  /** The notices to the operator. */
  readonly notices: string[] = [];
  readonly #options: AcpWorldOptions;
  #server: DevtoolServer | undefined;

  constructor(options: AcpWorldOptions = {}) {
    this.#options = options;
  }

  async start(): Promise<this> {
    const {
      flags = [],
      isDurable = false,
      clientMcpServers,
      ...options
    } = this.#options;
    const command = fakeAgentCommand(
      ...flags,
      ...(isDurable ? ["--state", this.directory] : []),
    );
    this.#server = await createServer({
      agents: { fake: acpAgent({ name: "fake", command, ...options }) },
      workspace: this.workspace,
      clientMcpServers,
      onNotice: (text) => this.notices.push(text),
      ...(isDurable ? { dataDirectory: this.directory } : {}),
    });
    return this;
  }

  get client(): DevtoolClient {
    const { url = "", token = "" } = this.#server ?? {};
    return clientOf({ url, token });
  }

  /**
   * Sends lines for the fake agent, in a new task or in one that exists, and
   * follows until it rests.
   */
  say(
    lines: string | Message,
    task?: Task,
    sessionSettings?: MessageInitShape<typeof SessionSettingsSchema>,
  ): Promise<Exchange> {
    const message =
      typeof lines === "string"
        ? textMessage(crypto.randomUUID(), lines)
        : lines;
    return this.#exchange(
      defined({ message, taskId: task?.id, sessionSettings }),
      task,
    );
  }

  /**
   * Answers all open questions of a task with an option, and follows until it
   * rests.
   */
  answer(task: Task, optionId: string, text = ""): Promise<Exchange> {
    const parts = pendingToolCalls(task).map((call) =>
      confirmationPart(call, optionId),
    );
    const { parts: texts } = textMessage("", text);
    const message = {
      messageId: crypto.randomUUID(),
      parts: [...parts, ...(text === "" ? [] : texts)],
    };
    return this.#exchange({ message, taskId: task.id }, task);
  }

  /**
   * Sends lines, and stops following as soon as the task is as wanted. The
   * agent goes on.
   */
  async until(
    lines: string,
    isWanted: (task: Task) => boolean,
  ): Promise<{ readonly task: Task }> {
    const message = textMessage(crypto.randomUUID(), lines);
    let task = emptyTask();
    for await (const event of streamMessage(
      this.client,
      { message },
      AbortSignal.timeout(60_000),
    )) {
      task = reduceTask(task, event);
      if (isWanted(task)) break;
    }
    return { task };
  }

  /** Cancels a task and returns it. */
  async cancel({ id }: Task): Promise<Task> {
    await this.client.tasks.cancelTask({ taskId: id });
    const { task } = await this.client.tasks.getTask({ taskId: id });
    return task ?? emptyTask();
  }

  /**
   * Kills the processes of the agent that work in the workspace, as the system
   * would.
   */
  killAgents(): void {
    for (const pid of readdirSync("/proc").filter((name) =>
      /^\d+$/.test(name),
    )) {
      try {
        if (readlinkSync(`/proc/${pid}/cwd`) === this.workspace) {
          process.kill(Number(pid), "SIGKILL");
        }
      } catch {
        // It has ended, or is not ours.
      }
    }
  }

  /** Stops the server and returns the records of its audit. */
  async audit(): Promise<readonly AuditRecord[]> {
    await this.#server?.close();
    this.#server = undefined;
    return (await readStore(join(this.directory, "tasks.db"))).records;
  }

  /** Stops the server and starts another one over the same files. */
  async restart(): Promise<void> {
    await this.#server?.close();
    await this.start();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server?.close();
  }

  async #exchange(
    request: MessageInitShape<typeof SendMessageRequestSchema>,
    before: Task = emptyTask(),
  ): Promise<Exchange> {
    let task = before;
    const events: TaskEvent[] = [];
    for await (const event of streamMessage(
      this.client,
      request,
      AbortSignal.timeout(60_000),
    )) {
      task = reduceTask(task, event);
      events.push(event);
    }
    const text = events
      .map(({ payload }) => (payload.case === "text" ? payload.value.text : ""))
      .join("");
    return { task, events, text };
  }
}
