import { type Model, serveCodingAgent } from "@devtool/coding-agent";
import { createScriptedModel } from "@devtool/coding-agent/testing";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { EXTENSION_URI, type Message } from "@devtool/schema";
import type { DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { roundsOf } from "../depth.ts";
import { postJson } from "../post-json.ts";

/**
 * How long the task gets. Five looks more are allowed, so one look in ten turns
 * is noticed after 90, too.
 */
const TURNS = roundsOf("DEVTOOL_TURNS", { quick: 90, ci: 300, deep: 1000 });

type Json = Record<string, unknown>;

/**
 * The work of a turn: the number of messages that were read, and the size of
 * the answer in bytes.
 */
interface Cost {
  readonly looks: number;
  readonly bytes: number;
}

describe("a turn in a long task (STREAM-9)", {
  timeout: 180_000 + 1000 * TURNS,
}, () => {
  const watch = new WatchedModel();
  let workspace: string;
  let server: DevtoolServer;

  beforeAll(async () => {
    workspace = temporaryDirectory();
    putFile(workspace, "file.txt", "content\n");
    server = await serveCodingAgent({ workspace, model: watch.model });
  });
  afterAll(() => server.close());

  it.each([
    { what: "message/send", method: "message/send", text: "text hello" },
    { what: "message/stream", method: "message/stream", text: "text hello" },
    {
      what: "a turn with tool calls",
      method: "message/send",
      text: "read file.txt x3",
    },
  ])(
    `costs as much after ${TURNS} turns as after 30: $what`,
    async ({ method, text }) => {
      const taskId = String((await send("text hello")).id);
      await repeat(30, () => send("text hello", { taskId }));
      const early = await costOf(method, text, taskId);
      await repeat(TURNS - 30, () => send("text hello", { taskId }));
      const late = await costOf(method, text, taskId);
      expect(late.looks).toBeLessThanOrEqual(early.looks + 5);
      // Numbers have more digits.
      expect(late.bytes).toBeLessThanOrEqual(early.bytes + 100);
    },
  );

  it(`costs as much after ${TURNS} tasks of a conversation of A2A 1.0 as after 30 (STREAM-5)`, async () => {
    let taskId = String((await send1("text hello")).id);
    const go = async (times: number): Promise<void> => {
      for (let index = 0; index < times; index++) {
        taskId = String((await send1("text hello", { taskId })).id);
      }
    };
    const looksOfOne = async (): Promise<number> => {
      watch.looks = 0;
      await go(1);
      return watch.looks;
    };
    await go(30);
    const early = await looksOfOne();
    await go(TURNS - 30);
    expect(await looksOfOne()).toBeLessThanOrEqual(early + 5);
  });

  it("is answered with its exchange, by message/send and over HTTP+JSON, and tasks/get has everything", async () => {
    const { id: taskId } = await send("text one");
    const second = await send("text two", { taskId: String(taskId) });
    expect(textsIn(second)).toEqual(["text two", "two"]);
    const rest = await post("/v1/message:send", {
      message: restMessage("text three", String(taskId)),
    });
    expect(textsIn(rest.task)).toEqual(["text three", "three"]);
    expect(textsIn(await call("tasks/get", { id: taskId }))).toHaveLength(6);
    const counted = await send(
      "text four",
      { taskId: String(taskId) },
      { historyLength: 3 },
    );
    expect(textsIn(counted)).toEqual(["three", "text four", "four"]);
  });

  it("begins with the task and its exchange in a stream of A2A 1.0, and with more where that is asked for", async () => {
    const first = await openingOf(await send1("run touch made"));
    expect(rolesIn(first)).toEqual(["ROLE_AGENT", "ROLE_USER"]);
    const whole = await openingOf(await send1("run touch made"), {
      historyLength: 10,
    });
    expect(rolesIn(whole)).toEqual(["ROLE_USER", "ROLE_AGENT", "ROLE_USER"]);
  });

  async function costOf(
    method: string,
    text: string,
    taskId: string,
  ): Promise<Cost> {
    watch.looks = 0;
    const body = await raw(method, { message: messageOf(text, { taskId }) });
    return { looks: watch.looks, bytes: body.length };
  }

  async function send(
    text: string,
    more: Json = {},
    configuration?: Json,
  ): Promise<Json> {
    return call("message/send", {
      message: messageOf(text, more),
      ...(configuration && { configuration }),
    });
  }

  async function call(method: string, params: Json): Promise<Json> {
    return JSON.parse(await raw(method, params)).result;
  }

  async function send1(text: string, more: Json = {}): Promise<Json> {
    const message = {
      ...more,
      messageId: crypto.randomUUID(),
      role: "ROLE_USER",
      parts: [{ text }],
      extensions: [EXTENSION_URI],
    };
    return JSON.parse(await raw("SendMessage", { message })).result.task;
  }

  /**
   * Declines what a task asks, and gives the task that the stream of the answer
   * begins with.
   */
  async function openingOf(
    { id: taskId, status }: Json,
    configuration: Json = {},
  ): Promise<unknown> {
    const [, call = ""] =
      /"tool_call_id":"([^"]+)"/.exec(JSON.stringify(status)) ?? [];
    const parts = [
      { data: { tool_call_id: call, selected_option_id: "cancel" } },
    ];
    const message = {
      messageId: crypto.randomUUID(),
      role: "ROLE_USER",
      taskId,
      parts,
    };
    const body = await raw("SendStreamingMessage", { message, configuration });
    return JSON.parse(/^data: (.*)$/m.exec(body)?.[1] ?? "{}").result.task;
  }

  async function raw(method: string, params: Json): Promise<string> {
    return request("/", { jsonrpc: "2.0", id: 1, method, params });
  }

  async function post(path: string, body: Json): Promise<Json> {
    return JSON.parse(await request(path, body));
  }

  async function request(path: string, body: Json): Promise<string> {
    const response = await postJson(server, path, body);
    return response.text();
  }
});

/**
 * The scripted model, which watches who looks at the messages of the
 * conversation that it is asked with.
 */
class WatchedModel {
  looks = 0;
  readonly #watched = new WeakSet<Message>();

  get model(): Model {
    const scripted = createScriptedModel();
    return {
      name: scripted.name,
      generate: (request, signal) => {
        for (const message of request.history) this.#watch(message);
        return scripted.generate(request, signal);
      },
    };
  }

  #watch(message: Message): void {
    if (this.#watched.has(message)) return;
    this.#watched.add(message);
    const { parts } = message;
    const get = (): Message["parts"] => {
      this.looks++;
      return parts;
    };
    Object.defineProperty(message, "parts", {
      enumerable: true,
      configurable: true,
      get,
    });
  }
}

function messageOf(text: string, more: Json): Json {
  return {
    kind: "message",
    role: "user",
    messageId: crypto.randomUUID(),
    parts: [{ kind: "text", text }],
    ...more,
  };
}

function restMessage(text: string, taskId: string): Json {
  return {
    role: "ROLE_USER",
    message_id: crypto.randomUUID(),
    task_id: taskId,
    content: [{ text }],
  };
}

function textsIn(task: unknown): string[] {
  const found = JSON.stringify(Object(task).history ?? []).matchAll(
    /"text":"([^"]*)"/g,
  );
  return [...found].map(([, text = ""]) => text);
}

function rolesIn(task: unknown): string[] {
  return [
    ...JSON.stringify(Object(task).history ?? []).matchAll(/"role":"(\w+)"/g),
  ].map(([, role = ""]) => role);
}

async function repeat(
  times: number,
  run: () => Promise<unknown>,
): Promise<void> {
  for (let index = 0; index < times; index++) await run();
}
