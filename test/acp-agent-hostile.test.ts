import { setImmediate as nextTurn } from "node:timers/promises";
import type { AcpAgentOptions, AcpPipe } from "@devtool/acp";
import { pendingToolCalls } from "@devtool/client";
import { TaskState } from "@devtool/schema";
import { isObject, parseJsonOrUndefined } from "@devtool/schema/json";
import { describe, expect, it } from "vitest";
import { AcpWorld } from "./acp-agent/world.ts";

/**
 * The answers of a hostile agent, and the messages that it sends before it
 * answers a prompt.
 */
interface HostileScript {
  readonly answers?: Readonly<Record<string, unknown>>;
  readonly messages?: () => Iterable<object>;
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
      if (
        !isObject(message) ||
        typeof message.method !== "string" ||
        message.id === undefined
      ) {
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
    this.#answers.push({ jsonrpc: "2.0", id, result: answers[method] });
  }

  async *#lines(): AsyncIterable<Uint8Array> {
    const hasEnded = this.ended.then(() => true);
    for (;;) {
      const message = this.#next();
      if (message) {
        yield Buffer.from(
          `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`,
        );
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
    ["a prompt with null", { "session/prompt": null }],
    ["a prompt with a number", { "session/prompt": 5 }],
    [
      "a prompt with an object as its stop reason",
      { "session/prompt": { stopReason: {} } },
    ],
    [
      "a prompt with the name of a method as its stop reason",
      { "session/prompt": { stopReason: "constructor" } },
    ],
    [
      "a new session with modes that are none",
      { "session/new": { sessionId: "s", modes: 5, configOptions: { a: 1 } } },
    ],
    [
      "a new session with lists of what is none",
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
    "hurts no other task when it answers %s",
    async (_what, answers) => {
      const { acp } = await worldOf({ answers, messages: () => [say("Hi.")] });
      await using _world = acp;
      for (let turn = 0; turn < 2; turn++) {
        expect((await acp.say("hello")).task.state).toBe(TaskState.COMPLETED);
      }
    },
  );

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

function say(text: string): object {
  const update = {
    sessionUpdate: "agent_message_chunk",
    content: { type: "text", text },
  };
  return { method: "session/update", params: { sessionId: "s", update } };
}

function ask(toolCallId: string): object {
  const options = [{ optionId: "yes", name: "Yes", kind: "allow_once" }];
  const params = {
    sessionId: "s",
    toolCall: { toolCallId, title: toolCallId },
    options,
  };
  return { id: toolCallId, method: "session/request_permission", params };
}
