import { setImmediate as nextTurn } from "node:timers/promises";
import type { AcpAgentOptions, AcpPipe } from "@devtool/acp/testing";
import { pendingToolCalls } from "@devtool/client";
import { isObject, parseJsonOrUndefined } from "@devtool/internal/json";
import { TaskState } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { noticesIn } from "../tasks.ts";
import { AcpWorld } from "./agent/world.ts";

/**
 * The answers of a hostile agent, and the messages that it sends before it
 * answers a prompt.
 */
interface HostileScript {
  readonly answers?: Readonly<Record<string, unknown>>;
  /** The members of the answer to a prompt, in place of a result. */
  readonly promptAnswer?: object;
  readonly messages?: () => Iterable<object>;
  /** The messages that it sends after the answer to a prompt. */
  readonly late?: readonly object[];
  /**
   * Whether the output ends in place of the answer to a prompt, and what closes
   * the connection fails.
   */
  readonly isBroken?: boolean;
}

/** An agent in this process that sends what no honest one would. */
class HostileAgent implements AcpPipe {
  readonly #script: HostileScript;
  readonly #answers: object[] = [];
  readonly #ended = Promise.withResolvers<string>();
  #messages: Iterator<object> | undefined;
  #promptId: unknown;
  #wake = Promise.withResolvers<void>();
  /** The number of messages of the script that were read. */
  read = 0;
  /** The answers to its own requests. */
  readonly replies: object[] = [];

  constructor(script: HostileScript) {
    this.#script = script;
  }

  get ended(): Promise<string> {
    return this.#ended.promise;
  }

  get output(): AsyncIterable<Uint8Array> {
    return this.#lines();
  }

  write(text: string): boolean {
    for (const line of text.split("\n")) {
      const message = parseJsonOrUndefined(line);
      if (!isObject(message)) continue;
      if (message.method === undefined) this.replies.push(message);
      if (typeof message.method !== "string" || message.id === undefined) {
        continue;
      }
      if (message.method === "session/prompt") {
        this.#promptId = message.id;
        this.#messages = (this.#script.messages ?? (() => []))()[
          Symbol.iterator
        ]();
      } else {
        this.#answer(message.id, message.method);
      }
    }
    this.#wake.resolve();
    return true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.resolve("it was closed");
    this.#wake.resolve();
    if (this.#script.isBroken) throw new Error("the connection is broken");
  }

  #answer(id: unknown, method: string): void {
    const answers: Readonly<Record<string, unknown>> = {
      initialize: { protocolVersion: 1, agentCapabilities: {} },
      "session/new": { sessionId: "s" },
      "session/prompt": { stopReason: "end_turn" },
      ...this.#script.answers,
    };
    const { promptAnswer, late = [] } = this.#script;
    const isPrompt = method === "session/prompt";
    this.#answers.push(
      isPrompt && promptAnswer
        ? { id, ...promptAnswer }
        : { jsonrpc: "2.0", id, result: answers[method] },
      ...(isPrompt ? late : []),
    );
  }

  async *#lines(): AsyncIterable<Uint8Array> {
    const hasEnded = this.ended.then(() => true);
    for (;;) {
      const message = this.#next();
      if (message) {
        yield Buffer.from(`${JSON.stringify(message)}\n`);
      } else if (await Promise.race([hasEnded, this.#wake.promise])) {
        return;
      } else {
        this.#wake = Promise.withResolvers();
      }
    }
  }

  #next(): object | undefined {
    const answer = this.#answers.shift();
    if (answer || !this.#messages) return answer;
    const { done, value } = this.#messages.next();
    if (done && this.#script.isBroken) throw new Error("the output is broken");
    if (done) {
      this.#messages = undefined;
      this.#answer(this.#promptId, "session/prompt");
      return this.#answers.shift();
    }
    this.read++;
    return value;
  }
}

describe("an ACP agent that is hostile", () => {
  const odd: readonly (readonly [
    what: string,
    answers: Readonly<Record<string, unknown>>,
  ])[] = [
    [
      "a new session with invalid modes",
      { "session/new": { sessionId: "s", modes: 5, configOptions: { a: 1 } } },
    ],
    [
      "a new session with lists of invalid items",
      {
        "session/new": {
          sessionId: "s",
          modes: { availableModes: [null, 5] },
          configOptions: [null, "a"],
        },
      },
    ],
    [
      "its capabilities with a number",
      {
        initialize: {
          protocolVersion: 1,
          agentCapabilities: 5,
          authMethods: 7,
        },
      },
    ],
  ];
  it.each(odd)(
    "affects no other task when it answers %s",
    async (_what, answers) => {
      const { acp } = await worldOf({ answers, messages: () => [say("Hi.")] });
      await using _world = acp;
      for (let turn = 0; turn < 2; turn++) {
        expect((await acp.say("hello")).task.state).toBe(TaskState.COMPLETED);
      }
    },
  );

  it.each([
    [null, "without a stop reason"],
    [5, "without a stop reason"],
    [{ stopReason: {} }, "without a stop reason"],
    [{ stopReason: "constructor" }, 'with the stop reason "constructor"'],
    [{ stopReason: "END_TURN" }, 'with the stop reason "END_TURN"'],
  ])(
    "F10: fails its task alone when it ends a turn with %j, which is not a stop reason of ACP",
    async (prompt, how) => {
      const { acp } = await worldOf({
        answers: { "session/prompt": prompt },
        messages: () => [say("Hi.")],
      });
      await using _world = acp;
      for (let turn = 0; turn < 2; turn++) {
        const { task, text } = await acp.say("hello");
        expect([task.state, text, task.error]).toEqual([
          TaskState.FAILED,
          "Hi.",
          expect.stringContaining(how),
        ]);
      }
    },
  );

  it.each([
    [{ error: "plain" }, "invalid answer: plain"],
    [{ jsonrpc: "2.0" }, "invalid answer: neither result nor error"],
    [{ error: { message: 5 } }, 'invalid answer: {"message":5}'],
    [{ error: [] }, "invalid answer: []"],
    [{ error: { code: "x", message: "m" }, result: {} }, "invalid answer"],
    [{ error: { code: 7, message: "m" } }, "with error 7: m"],
    [{ error: { code: 7, message: "m", data: "why" } }, "error 7: m: why"],
    [
      { error: { code: 7, message: "m", data: { details: "why" } } },
      "error 7: m: why",
    ],
    [{ error: { code: 7, message: "m", data: { details: 5 } } }, "7: m"],
  ])(
    "F10: ends its turn when it answers a prompt with %j",
    async (promptAnswer, error) => {
      const { acp } = await worldOf({ promptAnswer });
      await using _world = acp;
      const { task } = await acp.say("hello");
      expect([task.state, task.error]).toEqual([
        TaskState.FAILED,
        expect.stringContaining(error),
      ]);
    },
  );

  it.each([
    [{ error: null, result: { stopReason: "end_turn" } }],
    [{ id: "2", result: { stopReason: "end_turn" } }],
  ])("F10: takes the answer %j for what it means", async (promptAnswer) => {
    const { acp } = await worldOf({ promptAnswer });
    await using _world = acp;
    expect((await acp.say("hello")).task.state).toBe(TaskState.COMPLETED);
  });

  it("F4: mixes nothing of another session into its own, and is told so", async () => {
    const { acp, agents } = await worldOf({
      messages: () => [
        say("for another", "sXX"),
        say("also for another", "sXX"),
        ask("c1", "child-1"),
        {
          id: "f",
          method: "fs/write_text_file",
          params: { sessionId: "child-1", path: "/a", content: "x" },
        },
        say("mine"),
        say(" and mine", null),
      ],
    });
    await using _world = acp;
    const { task, text, events } = await acp.say("hello");
    expect([task.state, text]).toEqual([TaskState.COMPLETED, "mine and mine"]);
    const told = [
      'uses session/update in session "sXX"',
      'uses session/request_permission in session "child-1"',
      'uses fs/write_text_file in session "child-1"',
    ];
    expect(noticesIn(events)).toEqual(
      told.map((words) => expect.stringContaining(words)),
    );
    expect(acp.notices).toEqual(
      told.map((words) => expect.stringContaining(words)),
    );
    expect(agents[0]?.replies).toMatchObject(
      ["c1", "f"].map((id) => ({ id, error: { code: -32602 } })),
    );
  });

  it("F14: says in the next turn what came after the end of the last one", async () => {
    const { acp } = await worldOf({
      late: [say("One more."), say(" Really.")],
    });
    await using _world = acp;
    const first = await acp.say("hello");
    expect(first.text).toBe("");
    await expect
      .poll(() => acp.notices, { timeout: 60_000 })
      .toEqual([expect.stringContaining("after the end of its turn")]);
    const { events } = await acp.say("again", first.task);
    expect(noticesIn(events)).toEqual([
      "After its last turn had ended, the agent said: One more. Really.",
    ]);
  });

  it("loses only the answers and the calls that cannot be used, and names them", async () => {
    const options = [
      null,
      { optionId: "a", name: "A", kind: "allow_sometimes" },
      { name: "B", kind: "allow_once" },
      { optionId: "yes", kind: "allow_once", name: null },
    ];
    const { acp } = await worldOf({
      messages: () => [
        update({ sessionUpdate: "tool_call", title: "no id" }),
        ask("c1", "s", options),
      ],
    });
    await using _world = acp;
    const { task, events } = await acp.say("hello");
    expect(
      pendingToolCalls(task)[0]?.confirmationRequest?.options,
    ).toMatchObject([{ id: "proceed_once", name: "Allow once" }, {}]);
    expect(noticesIn(events)).toEqual([
      expect.stringContaining("a call without an id"),
      expect.stringContaining("null"),
      expect.stringContaining("allow_sometimes"),
      expect.stringContaining('"B"'),
    ]);
  });

  const unusable: readonly (readonly [
    what: string,
    answers: Readonly<Record<string, unknown>>,
    error: string,
  ])[] = [
    [
      "initialize with null",
      { initialize: null },
      "it speaks version undefined of ACP",
    ],
    [
      "a new session with null",
      { "session/new": null },
      "without a session id",
    ],
    [
      "a new session with a number as its id",
      { "session/new": { sessionId: 5 } },
      "without a session id",
    ],
    [
      "a new session with an endless id",
      { "session/new": { sessionId: "s".repeat(1025) } },
      "at most 1024 characters",
    ],
  ];
  it.each(unusable)(
    "fails its task alone, and says why, when it answers %s",
    async (_what, answers, error) => {
      const { acp } = await worldOf({ answers });
      await using _world = acp;
      for (let turn = 0; turn < 2; turn++) {
        const { task } = await acp.say("hello");
        expect([task.state, task.error]).toEqual([
          TaskState.FAILED,
          expect.stringContaining(error),
        ]);
      }
    },
  );

  it.each([
    ["has no list of values", {}],
    ["has values that are none", { options: [null, "high", { options: 5 }] }],
  ])(
    "has no option that clients may set where it %s",
    async (_what, option) => {
      const { acp } = await worldOf({
        answers: {
          "session/new": { sessionId: "s", configOptions: [effort(option)] },
        },
      });
      await using _world = acp;
      const { task } = await acp.say("hello");
      await expect(
        acp.say("hello", task, { agentOptions: { effort: "high" } }),
      ).rejects.toThrow('"effort" is not an option of agent "fake"');
    },
  );

  it("goes on when it answers a change of an option without its options", async () => {
    const configOptions = [
      effort({ options: [{ value: "high", name: "High" }] }),
    ];
    const answers = {
      "session/new": { sessionId: "s", configOptions },
      "session/set_config_option": null,
    };
    const { acp } = await worldOf({ answers });
    await using _world = acp;
    const { task } = await acp.say("hello", undefined, {
      agentOptions: { effort: "high" },
    });
    expect([task.state, task.error]).toEqual([TaskState.COMPLETED, ""]);
  });

  it("fails its task alone when its connection breaks and cannot be closed", async () => {
    const { acp } = await worldOf({ isBroken: true });
    await using _world = acp;
    for (let turn = 0; turn < 2; turn++) {
      expect((await acp.say("hello")).task.state).toBe(TaskState.FAILED);
    }
  });

  it("waits while its messages are not taken, however many it has", async () => {
    const asked = Promise.withResolvers<void>();
    const permission: AcpAgentOptions["permission"] = (_request, signal) => {
      asked.resolve();
      return new Promise((_resolve, reject) =>
        signal.addEventListener("abort", () => reject(signal.reason)),
      );
    };
    function* messages(): Iterable<object> {
      yield ask("c");
      for (;;) yield say("x");
    }
    const { acp, agents } = await worldOf({ messages }, permission);
    await using _world = acp;
    const { task } = await acp.until("hello", ({ id }) => id !== "");
    await asked.promise;
    for (let turn = 0; turn < 200; turn++) await nextTurn();
    expect(agents[0]?.read).toBeLessThan(100);
    expect((await acp.cancel(task)).state).toBe(TaskState.CANCELED);
  });

  it("has 128 open questions at most", async () => {
    const { acp } = await worldOf({
      *messages() {
        for (let index = 0; index < 1000; index++) yield ask(`c${index}`);
      },
    });
    await using _world = acp;
    const { task } = await acp.until(
      "hello",
      (each) => each.state === TaskState.INPUT_REQUIRED,
    );
    expect(pendingToolCalls(task)).toHaveLength(128);
  });
});

async function worldOf(
  script: HostileScript,
  permission?: AcpAgentOptions["permission"],
): Promise<{ acp: AcpWorld; agents: readonly HostileAgent[] }> {
  const agents: HostileAgent[] = [];
  const command = async (): Promise<AcpPipe> => {
    const agent = new HostileAgent(script);
    agents.push(agent);
    return agent;
  };
  return {
    acp: await new AcpWorld({
      command,
      ...(permission && { permission }),
    }).start(),
    agents,
  };
}

function effort(option: object): object {
  return {
    type: "select",
    id: "effort",
    name: "Effort",
    category: "thought_level",
    currentValue: "low",
    ...option,
  };
}

function say(text: string, sessionId: string | null = "s"): object {
  return update(
    { sessionUpdate: "agent_message_chunk", content: { type: "text", text } },
    sessionId,
  );
}

function update(content: object, sessionId: string | null = "s"): object {
  const params = { sessionId, update: content };
  return { jsonrpc: "2.0", method: "session/update", params };
}

const YES = { optionId: "yes", name: "Yes", kind: "allow_once" };

function ask(
  toolCallId: string,
  sessionId = "s",
  options: readonly unknown[] = [YES],
): object {
  const params = {
    sessionId,
    toolCall: { toolCallId, title: toolCallId },
    options,
  };
  return { id: toolCallId, method: "session/request_permission", params };
}
