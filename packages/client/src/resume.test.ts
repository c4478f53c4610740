import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  createRouterTransport,
  type HandlerContext,
} from "@connectrpc/connect";
import {
  PartSchema,
  type TaskEvent,
  TaskEventSchema,
  TaskService,
  TaskState,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { textMessage } from "./confirmation.ts";
import { createDevtoolClient, type DevtoolClient } from "./devtool-client.ts";
import { observeTask, streamMessage, subscribeTask } from "./follow.ts";
import type { ResumeOptions } from "./resume.ts";

const LOG = taskLog(6);
const WHOLE = [1n, 2n, 3n, 4n, 5n, 6n];
const message = textMessage("m-1", "go");

describe("a stream whose connections break", () => {
  for (let cut = 0; cut <= LOG.length; cut++) {
    it(`yields each event of an exchange once if connections break after ${cut} events`, async () => {
      const { client } = brokenServer({ cuts: [cut, 0, 1, cut] });
      expect(
        await sequences(streamMessage(client, { message }, soon(), quick())),
      ).toEqual(WHOLE);
    });

    it(`yields each event of a log once if connections break after ${cut} events`, async () => {
      const { client } = brokenServer({ cuts: [cut, 0, 1, cut] });
      expect(
        await sequences(
          subscribeTask(client, { taskId: "task-1" }, soon(), quick()),
        ),
      ).toEqual(WHOLE);
    });
  }

  it("sends a message again under its id until one of its events has arrived (STREAM-7)", async () => {
    const { client, requests } = brokenServer({ cuts: [0, 0, 2] });
    await sequences(streamMessage(client, { message }, soon(), quick()));
    expect(requests).toEqual([
      "message m-1",
      "message m-1",
      "message m-1",
      "after 2",
    ]);
  });

  it.each<[string, MessageInitShape<typeof PartSchema>]>([
    [
      "not a number",
      {
        content: {
          case: "dataValue",
          value: { kind: { case: "numberValue", value: Number.NaN } },
        },
      },
    ],
    ["a value without a kind", { content: { case: "dataValue", value: {} } }],
    ["a process id that is too large", { toolCallDetail: { pid: 2 ** 40 } }],
  ])(
    "sends no message that cannot be encoded, and reports it at once: %s",
    async (_what, part) => {
      const { client, requests } = brokenServer({ cuts: [] });
      const unencodable = { ...message, parts: [create(PartSchema, part)] };
      const sent = sequences(
        streamMessage(client, { message: unencodable }, soon(), quick()),
      );
      await expect(sent).rejects.toMatchObject({
        code: Code.InvalidArgument,
        rawMessage: expect.stringContaining("the message cannot be encoded: "),
      });
      expect(requests).toEqual([]);
    },
  );

  it("asks for the same position again if a stream breaks before its first event", async () => {
    const { client, requests } = brokenServer({ cuts: [1, 0, 0] });
    const events = subscribeTask(
      client,
      { taskId: "task-1", afterSequence: 2n },
      soon(),
      quick(),
    );
    expect(await sequences(events)).toEqual([3n, 4n, 5n, 6n]);
    expect(requests).toEqual(["after 2", "after 3", "after 3", "after 3"]);
  });

  it("folds to the whole task", async () => {
    const { client } = brokenServer({ cuts: [1, 1, 1] });
    const states: TaskState[] = [];
    for await (const task of observeTask(client, "task-1", soon(), quick())) {
      states.push(task.state);
    }
    expect(states).toEqual(LOG.map(({ state }) => state));
  });

  it("gives up with the last error after maxAttempts streams without a new event", async () => {
    const { client, requests } = brokenServer({ cuts: [2, 0, 0, 0, 0, 0, 0] });
    const events = streamMessage(client, { message }, soon(), {
      ...quick(),
      maxAttempts: 3,
    });
    await expect(sequences(events)).rejects.toMatchObject({
      code: Code.Unavailable,
      rawMessage: "cut 4",
    });
    expect(requests).toEqual(["message m-1", "after 2", "after 2", "after 2"]);
  });

  it("opens only maxAttempts streams if none has an event", async () => {
    const { client, requests } = brokenServer({ cuts: [0, 0, 0, 0, 0, 0, 0] });
    const events = subscribeTask(client, { taskId: "task-1" }, soon(), {
      ...quick(),
      maxAttempts: 3,
    });
    await expect(sequences(events)).rejects.toMatchObject({
      code: Code.Unavailable,
      rawMessage: "cut 3",
    });
    expect(requests).toEqual(["after 0", "after 0", "after 0"]);
  });

  it("throws an error that a retry cannot fix at once", async () => {
    const { client, requests } = brokenServer({
      cuts: [0, 0],
      code: Code.NotFound,
    });
    await expect(
      sequences(streamMessage(client, { message }, soon(), quick())),
    ).rejects.toMatchObject({
      code: Code.NotFound,
    });
    expect(requests).toHaveLength(1);
  });

  it("stops with the caller's reason while it waits for the next attempt", async () => {
    const { client, requests } = brokenServer({ cuts: [1, 1] });
    const caller = new AbortController();
    const delay = async (_: number, signal: AbortSignal): Promise<void> => {
      caller.abort(new Error("enough"));
      signal.throwIfAborted();
    };
    await expect(
      sequences(streamMessage(client, { message }, caller.signal, { delay })),
    ).rejects.toThrow("enough");
    expect(requests).toHaveLength(1);
  });

  it("doubles its wait up to 10 seconds, and starts over after an event", async () => {
    const waits: number[] = [];
    const delay = async (ms: number): Promise<void> => void waits.push(ms);
    const { client } = brokenServer({ cuts: [0, 0, 0, 0, 0, 0, 0, 0, 1, 0] });
    await sequences(
      streamMessage(client, { message }, soon(), { delay, random: () => 1 }),
    );
    expect(waits).toEqual([
      200, 400, 800, 1600, 3200, 6400, 10_000, 10_000, 200, 400,
    ]);
  });
});

describe("the wait before a stream is opened again", () => {
  it("does not begin when the signal has aborted just before", async () => {
    const { client } = brokenServer({ cuts: [0] });
    const caller = new AbortController();
    const onLost = (): void => caller.abort(new Error("enough"));
    const options = { onLost, baseDelayMs: 9000, random: () => 1 };
    const began = performance.now();
    await expect(
      sequences(streamMessage(client, { message }, caller.signal, options)),
    ).rejects.toThrow("enough");
    expect(performance.now() - began).toBeLessThan(9000);
  });
});

describe("a server that violates the order of the log", () => {
  it("yields no duplicates if it ignores the position", async () => {
    const { client } = brokenServer({ cuts: [3, 5], position: () => 0n });
    expect(
      await sequences(streamMessage(client, { message }, soon(), quick())),
    ).toEqual(WHOLE);
  });

  it("causes data loss if it leaves out an event", async () => {
    const { client } = brokenServer({
      cuts: [3],
      position: (after) => after + 1n,
    });
    await expect(
      sequences(streamMessage(client, { message }, soon(), quick())),
    ).rejects.toMatchObject({
      code: Code.DataLoss,
      rawMessage: "event 4 is missing: the server sent 5",
    });
  });

  it("causes data loss if it leaves out the first event of a subscription", async () => {
    const { client } = brokenServer({
      cuts: [],
      position: (after) => after + 1n,
    });
    const events = subscribeTask(
      client,
      { taskId: "task-1", afterSequence: 2n },
      soon(),
      quick(),
    );
    await expect(sequences(events)).rejects.toMatchObject({
      code: Code.DataLoss,
      rawMessage: "event 3 is missing: the server sent 4",
    });
  });

  it("has older events of a subscription skipped", async () => {
    const { client } = brokenServer({ cuts: [], position: () => 0n });
    const events = subscribeTask(
      client,
      { taskId: "task-1", afterSequence: 4n },
      soon(),
      quick(),
    );
    expect(await sequences(events)).toEqual([5n, 6n]);
  });
});

describe("a reader that leaves early", () => {
  it.each(["streamMessage", "subscribeTask"] as const)(
    "aborts the call, which would hold its connection: %s",
    async (how) => {
      const ended = Promise.withResolvers<void>();
      async function* endless(
        _: unknown,
        { signal }: HandlerContext,
      ): AsyncIterable<{ event?: TaskEvent }> {
        signal.addEventListener("abort", () => ended.resolve());
        yield LOG[0] ? { event: LOG[0] } : {};
        await ended.promise;
      }
      const client = createDevtoolClient(
        createRouterTransport(({ service }) => {
          service(TaskService, {
            streamMessage: endless,
            subscribeTask: endless,
          });
        }),
      );
      const events =
        how === "streamMessage"
          ? streamMessage(client, { message }, soon(), quick())
          : subscribeTask(client, { taskId: "task-1" }, soon(), quick());
      for await (const { sequence } of events) if (sequence === 1n) break;
      await ended.promise;
    },
  );
});

interface Breaks {
  /**
   * The number of events after which each connection breaks, in order; later
   * connections hold.
   */
  readonly cuts: readonly number[];
  readonly code?: Code;
  /** Maps the position that a subscription asks for to the one that it gets. */
  readonly position?: (after: bigint) => bigint;
}

/**
 * Serves LOG in memory over connections that break, and records its requests.
 */
function brokenServer({
  cuts,
  code = Code.Unavailable,
  position = (after) => after,
}: Breaks): {
  readonly client: DevtoolClient;
  readonly requests: readonly string[];
} {
  const requests: string[] = [];
  async function* read(after: bigint): AsyncIterable<{ event: TaskEvent }> {
    const connection = requests.length;
    const cut = cuts[connection - 1] ?? Number.POSITIVE_INFINITY;
    const events = LOG.filter(({ sequence }) => sequence > after);
    for (const event of events.slice(0, cut)) yield { event };
    if (cut <= events.length) throw new ConnectError(`cut ${connection}`, code);
  }
  const transport = createRouterTransport(({ service }) => {
    service(TaskService, {
      streamMessage({ request }) {
        requests.push(`message ${request?.message?.messageId}`);
        return read(0n);
      },
      subscribeTask({ afterSequence }) {
        requests.push(`after ${afterSequence}`);
        return read(position(afterSequence));
      },
    });
  });
  return { client: createDevtoolClient(transport), requests };
}

function taskLog(length: number): readonly TaskEvent[] {
  return Array.from({ length }, (_, index) => {
    const sequence = BigInt(index + 1);
    const last = index === length - 1;
    const state = last ? TaskState.COMPLETED : TaskState.WORKING;
    const text = { case: "text", value: { text: `${sequence}` } } as const;
    const payload = last ? ({ case: "stateChange", value: {} } as const) : text;
    const created = { case: "created", value: {} } as const;
    return create(TaskEventSchema, {
      sequence,
      taskId: "task-1",
      state,
      payload: index === 0 ? created : payload,
    });
  });
}

function quick(): ResumeOptions {
  return { delay: async () => undefined };
}

function soon(): AbortSignal {
  return AbortSignal.timeout(60_000);
}

async function sequences(events: AsyncIterable<TaskEvent>): Promise<bigint[]> {
  const all: bigint[] = [];
  for await (const { sequence } of events) all.push(sequence);
  return all;
}
