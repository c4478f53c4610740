import { Code } from "@connectrpc/connect";
import {
  type DevtoolClient,
  streamMessage,
  textMessage,
} from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  emptyTask,
  MessageDelivery,
  reduceTask,
  type Task,
  type TaskEvent,
  TaskState,
} from "@devtool/schema";
import type { DevtoolServer } from "@devtool/server";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Binding, CLIENTS } from "../client-of.ts";
import { GatedModel } from "./message-queue/gated-model.ts";

const signal = AbortSignal.timeout(120_000);

const PLAYED: readonly Binding[] = [
  "A2A 0.3 over JSON-RPC",
  "A2A 0.3 over HTTP+JSON",
  "A2A 1.0 over JSON-RPC",
  "A2A 1.0 over HTTP+JSON",
  "A2A 1.0 over gRPC",
  "Connect",
  "gRPC",
];

describe("a message to a task at work (STREAM-8)", () => {
  let server: DevtoolServer;
  let workspace: string;
  let model: GatedModel;

  beforeAll(() => {
    workspace = temporaryDirectory();
  });
  beforeEach(async () => {
    model = new GatedModel();
    server = await serveCodingAgent({ workspace, model });
  });
  afterEach(() => server.close());

  describe.each(PLAYED)("over %s", (name) => {
    let client: DevtoolClient;
    beforeEach(() => {
      client = CLIENTS[name](server);
    });

    /** A task whose model thinks about its first message. */
    async function begin(): Promise<Task> {
      const { task } = await client.tasks.sendMessage({
        message: textMessage("m1", "one"),
        returnImmediately: true,
      });
      await model.asked(1);
      return task ?? expect.fail("no task");
    }

    it("is shown as waiting, then taken, and both streams see both turns", async () => {
      const first = record(
        streamMessage(client, { message: textMessage("m1", "one") }, signal),
      );
      const taskId = await first.taskId;
      await model.asked(1);
      const second = record(
        streamMessage(
          client,
          { message: textMessage("m2", "two"), taskId },
          signal,
        ),
      );
      await second.taskId;
      expect(queueOf(await taskOf(taskId))).toEqual(["m2"]);
      model.answer("to one");
      await model.asked(2);
      expect(queueOf(await taskOf(taskId))).toEqual([]);
      model.answer("to two");

      expect([texts(await first.events), texts(await second.events)]).toEqual([
        ["to one", "to two"],
        ["to one", "to two"],
      ]);
      const folded = (await first.events).reduce(reduceTask, emptyTask());
      for (const task of [folded, await taskOf(taskId)]) {
        expect([task.state, queueOf(task)]).toEqual([TaskState.COMPLETED, []]);
        expect(
          task.history
            .map(({ messageId }) => messageId)
            .filter((id) => id.startsWith("m")),
        ).toEqual(["m1", "m2"]);
      }
    });

    it("waits for its turn if it blocks, and is acknowledged at once if it does not", async () => {
      const { id: taskId } = await begin();
      const blocking = client.tasks.sendMessage({
        message: textMessage("m2", "two"),
        taskId,
      });
      await until(async () => queueOf(await taskOf(taskId)).length === 1);
      const message = textMessage("m3", "three");
      const { task: shown } = await client.tasks.sendMessage({
        message,
        taskId,
        returnImmediately: true,
      });
      expect([shown?.state, shown && queueOf(shown)]).toEqual([
        TaskState.WORKING,
        ["m2", "m3"],
      ]);
      for (const count of [1, 2, 3]) {
        await model.asked(count);
        model.answer("yes");
      }
      expect((await blocking).task?.state).toBe(TaskState.COMPLETED);
      expect(model.heard).toEqual(["one", "two", "three"]);
    });

    it("steers: the model hears it before its next step, within the turn", async () => {
      const { id: taskId } = await begin();
      const message = textMessage("m2", "rather this");
      const messageSettings = { delivery: MessageDelivery.STEER };
      const { task } = await client.tasks.sendMessage({
        message,
        taskId,
        messageSettings,
        returnImmediately: true,
      });
      expect(task?.queuedMessages.map(({ delivery }) => delivery)).toEqual([
        MessageDelivery.STEER,
      ]);
      model.call("list_directory", { path: "." });
      await model.asked(2);
      expect(model.heard).toEqual(["one", "rather this"]);
      expect((await taskOf(taskId)).state).toBe(TaskState.WORKING);
      model.answer("this, then");
      await until(
        async () => (await taskOf(taskId)).state === TaskState.COMPLETED,
      );
      expect(model.heard.length).toBe(2);
    });

    it("can be withdrawn while it waits, and not twice", async () => {
      const { id: taskId } = await begin();
      await client.tasks.sendMessage({
        message: textMessage("m2", "two"),
        taskId,
        returnImmediately: true,
      });
      const { task } = await client.tasks.withdrawMessage({
        taskId,
        messageId: "m2",
      });
      expect(task && queueOf(task)).toEqual([]);
      const again = (messageId: string) =>
        client.tasks.withdrawMessage({ taskId, messageId }).then(
          () => "withdrawn",
          ({ code, rawMessage }) => `${Code[code]}: ${rawMessage}`,
        );
      expect(await again("m2")).toContain(
        `NotFound: message "m2" does not wait in task "${taskId}"`,
      );
      expect(await again("m1")).toContain(
        'FailedPrecondition: message "m1" was already taken',
      );
      model.answer("done");
      await until(
        async () => (await taskOf(taskId)).state === TaskState.COMPLETED,
      );
      expect(model.heard).toEqual(["one"]);
    });

    it("is the same message when it is sent again", async () => {
      const { id: taskId } = await begin();
      const request = {
        message: textMessage("m2", "two"),
        taskId,
        returnImmediately: true,
      };
      await client.tasks.sendMessage(request);
      const { task } = await client.tasks.sendMessage(request);
      expect(task && queueOf(task)).toEqual(["m2"]);
    });

    it("is the same message when it is sent again after its task was canceled (STREAM-7)", async () => {
      const { id: taskId } = await begin();
      const request = {
        message: textMessage("m2", "two"),
        taskId,
        returnImmediately: true,
      };
      await client.tasks.sendMessage(request);
      await client.tasks.cancelTask({ taskId });
      const { task, replay } = await client.tasks.sendMessage(request);
      expect([task?.id, replay?.messageId]).toEqual([taskId, "m2"]);
      const other = client.tasks.sendMessage({
        ...request,
        message: textMessage("m2", "something else"),
      });
      await expect(other).rejects.toMatchObject({ code: Code.AlreadyExists });
    });

    it("is named as not taken when the task is canceled", async () => {
      const { id: taskId } = await begin();
      await client.tasks.sendMessage({
        message: textMessage("m2", "two"),
        taskId,
        returnImmediately: true,
      });
      const { task } = await client.tasks.cancelTask({ taskId });
      expect(task?.stateText).toBe('messages that were not taken: "two"');
    });

    it("is refused when 16 wait, in words that say what to do", async () => {
      const { id: taskId } = await begin();
      const send = (count: number) =>
        client.tasks.sendMessage({
          message: textMessage(`q${count}`, "more"),
          taskId,
          returnImmediately: true,
        });
      for (let count = 1; count <= 16; count++) await send(count);
      await expect(send(17)).rejects.toThrow(
        "has 16 messages waiting: limit is 16: withdraw one",
      );
      await client.tasks.cancelTask({ taskId });
    });

    async function taskOf(taskId: string): Promise<Task> {
      return (
        (await client.tasks.getTask({ taskId })).task ?? expect.fail("no task")
      );
    }
  });
});

describe("a message that is one too many (STREAM-8, ERR-1)", () => {
  it.each([
    {
      name: "0.3 JSON-RPC",
      path: "",
      version: "0.3",
      method: "message/send",
      role: "user",
      expected: { error: { code: -32004 } },
    },
    {
      name: "1.0 JSON-RPC",
      path: "",
      version: "1.0",
      method: "SendMessage",
      role: "ROLE_USER",
      expected: { error: { code: -32004 } },
    },
    {
      name: "1.0 HTTP+JSON",
      path: "/message:send",
      version: "1.0",
      method: "",
      role: "ROLE_USER",
      expected: { error: { code: 429, status: "RESOURCE_EXHAUSTED" } },
    },
  ])(
    "is an error of the client over A2A $name",
    async ({ path, version, method, role, expected }) => {
      const model = new GatedModel();
      const work = temporaryDirectory();
      await using server = await serveCodingAgent({
        workspace: work,
        model,
      });
      const headers = {
        authorization: `Bearer ${server.token}`,
        "content-type": "application/json",
      };
      const post = async (taskId: string | undefined, count: number) => {
        const parts = [
          { text: "more", ...(version === "0.3" && { kind: "text" }) },
        ];
        const message = {
          messageId: `m${count}`,
          role,
          parts,
          ...(taskId && { taskId }),
        };
        const configuration =
          version === "0.3" ? { blocking: false } : { returnImmediately: true };
        const params = { message, configuration };
        const body = JSON.stringify(
          method === "" ? params : { jsonrpc: "2.0", id: 1, method, params },
        );
        const response = await fetch(server.url + path, {
          method: "POST",
          headers: {
            ...headers,
            ...(version === "1.0" && { "a2a-version": "1.0" }),
          },
          body,
          signal,
        });
        return Object(await response.json());
      };
      const first = await post(undefined, 0);
      const { id: taskId } = first.result?.task ?? first.result ?? first.task;
      await model.asked(1);
      for (let count = 1; count <= 16; count++) await post(taskId, count);
      const refused = await post(taskId, 17);
      expect(refused).toMatchObject(expected);
      expect(JSON.stringify(refused)).toContain("limit is 16");
      expect(JSON.stringify(refused)).toContain("taskId");
    },
  );
});

describe("a message behind a question, to a client without the extension (STREAM-8, CARD-3)", () => {
  it("is answered with the question in words, and taken when that was answered", async () => {
    const work = temporaryDirectory();
    await using server = await serveCodingAgent({ workspace: work });
    const [task] = await plainStream(server, { text: "run eval echo asked" });
    const place = { taskId: task.id, contextId: task.contextId };
    const waits = await plainStream(server, {
      text: "text And then this.",
      ...place,
    });
    expect(waits).toMatchObject([
      { status: { state: "input-required" }, final: true },
    ]);
    expect(waits[0].status.message.parts[0].text).toContain(
      "\n│ eval echo asked\n",
    );
    const frames = await plainStream(server, { text: "no", ...place });
    const said = frames.flatMap(
      ({ status }) =>
        status?.message?.parts.map((part: { text: string }) => part.text) ?? [],
    );
    expect(said.join("")).toContain("And then this.");
    expect(frames.at(-1)).toMatchObject({
      status: { state: "completed" },
      final: true,
    });
  });
});

/**
 * The results of a stream of A2A 0.3, as a client gets them that names no
 * extension.
 */
async function plainStream(
  server: DevtoolServer,
  { text, ...place }: { readonly text: string },
) {
  const message = {
    kind: "message",
    messageId: crypto.randomUUID(),
    role: "user",
    parts: [{ kind: "text", text }],
    ...place,
  };
  const response = await fetch(server.url, {
    method: "POST",
    headers: {
      authorization: `Bearer ${server.token}`,
      "content-type": "application/json",
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "message/stream",
      params: { message },
    }),
    signal,
  });
  const lines = (await response.text())
    .split("\n")
    .filter((line) => line.startsWith("data:"));
  return lines.map((line) => JSON.parse(line.slice("data:".length)).result);
}

interface Recorded {
  /** Resolves when the first event has come. */
  readonly taskId: Promise<string>;
  readonly events: Promise<TaskEvent[]>;
}

/** Reads a stream to its end, beside what else the test does. */
function record(stream: AsyncIterable<TaskEvent>): Recorded {
  const begun = Promise.withResolvers<string>();
  const read = async (): Promise<TaskEvent[]> => {
    const events: TaskEvent[] = [];
    for await (const event of stream) {
      events.push(event);
      begun.resolve(event.taskId);
    }
    return events;
  };
  return { taskId: begun.promise, events: read() };
}

function texts(events: readonly TaskEvent[]): string[] {
  return events.flatMap(({ payload }) =>
    payload.case === "text" ? [payload.value.text] : [],
  );
}

function queueOf({ queuedMessages }: Task): string[] {
  return queuedMessages.map(({ message }) => message?.messageId ?? "");
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) signal.throwIfAborted();
}
