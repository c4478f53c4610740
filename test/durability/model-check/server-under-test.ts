import {
  type CodingServerOptions,
  serveCodingAgent,
} from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { EXTENSION_URI } from "@devtool/schema";
import type { DevtoolServer } from "@devtool/server";

/** A JSON object of the wire. */
export type Json = Record<string, unknown>;

/** The outcome of a call: its result, or the code of its error. */
export type Answer = { readonly task: TaskSeen } | { readonly code: number };

/** A task as a client sees it. */
export interface TaskSeen {
  readonly id: string;
  readonly state: string;
  /** The ids of the user's messages in the history. */
  readonly messages: readonly string[];
  /** The ids of the messages that wait. */
  readonly queued: readonly string[];
  /** The id of the call that waits for an answer; empty when none does. */
  readonly asks: string;
}

/** A durable server that can be started again, called over A2A 0.3. */
export class ServerUnderTest implements AsyncDisposable {
  readonly workspace: string = temporaryDirectory();
  readonly #data = temporaryDirectory();
  readonly #options: CodingServerOptions;
  #server: DevtoolServer | undefined;

  constructor(options: CodingServerOptions = {}) {
    this.#options = {
      workspace: this.workspace,
      dataDirectory: this.#data,
      ...options,
    };
  }

  async start(): Promise<void> {
    this.#server = await serveCodingAgent(this.#options);
  }

  async restart(): Promise<void> {
    await this.#server?.close();
    await this.start();
  }

  /** Calls a method that answers with a task. */
  async call(method: string, params: Json): Promise<Answer> {
    const { result, error } = JSON.parse(await this.#post(method, params, {}));
    return error === undefined
      ? { task: taskSeen(result) }
      : { code: error.code };
  }

  /**
   * The ids of all events of a task, as a subscription from the beginning gives
   * them.
   */
  async eventIds(taskId: string): Promise<number[]> {
    return idsIn(await this.subscription(taskId, { "last-event-id": "0" }));
  }

  /** The text of a subscription to a task at rest. */
  subscription(
    taskId: string,
    headers: Record<string, string> = {},
  ): Promise<string> {
    return this.#post(
      "tasks/resubscribe",
      { id: taskId },
      { accept: "text/event-stream", ...headers },
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server?.close();
  }

  async #post(
    method: string,
    params: Json,
    more: Record<string, string>,
  ): Promise<string> {
    const { url = "", token = "" } = this.#server ?? {};
    const headers = {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      ...more,
    };
    const response = await fetch(url, {
      method: "POST",
      headers: { "x-a2a-extensions": EXTENSION_URI, ...headers },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    });
    return response.text();
  }
}

/** The ids of a stream of server-sent events. */
export function idsIn(stream: string): number[] {
  return [...stream.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));
}

/** Only the answer of `tasks/get` has the whole history. */
function taskSeen(task: Json): TaskSeen {
  const text = JSON.stringify(task.status ?? {});
  const history: Json[] = Array.isArray(task.history) ? task.history : [];
  const waiting = JSON.stringify(
    Object(task.metadata)["https://devtool.dev/a2a/task/v1alpha"] ?? {},
  );
  return {
    id: String(task.id),
    state: String(Object(task.status).state),
    messages: history
      .filter(({ role }) => role === "user")
      .map(({ messageId }) => String(messageId)),
    queued: [...waiting.matchAll(/"messageId":"([^"]+)"/g)].map(
      ([, id = ""]) => id,
    ),
    asks: /"tool_call_id":"([^"]+)"/.exec(text)?.[1] ?? "",
  };
}
