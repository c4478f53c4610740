import { create, type JsonObject } from "@bufbuild/protobuf";
import { defined } from "@devtool/internal/json";
import type { PolicyDecision, PolicyEngine } from "@devtool/policy";
import {
  findToolCall,
  GenericDetailsSchema,
  MessageSchema,
  OPTION_MODIFY_ARGUMENTS,
  openToolCalls,
  PartSchema,
  Role,
  reduceTask,
  type Task,
  TaskEventSchema,
  TaskSchema,
  ToolCallSchema,
  ToolCallStatus,
} from "@devtool/schema";
import {
  type CallUpdate,
  Code,
  Confirmations,
  invalid,
} from "@devtool/server/agent";
import { describe, expect, it } from "vitest";
import { checkEditedArguments } from "./edited-call.ts";
import {
  runNewCalls,
  runOpenCalls,
  type SchedulerContext,
} from "./scheduler.ts";
import type { Tool } from "./tool.ts";
import { textResult } from "./tool-result.ts";

const { signal } = new AbortController();

describe("a call whose arguments the user changed", () => {
  it("asks with them after a crash that came before it could", async () => {
    const world = new World();
    await world.asks({ word: "theirs" });
    world.recordEdit({ word: "mine" });
    const [asked] = await world.resume();
    expect(asked).toMatchObject({
      call: { inputParameters: { word: "mine" } },
      detail: { reason: "" },
    });
    expect(asked?.call.confirmationRequest?.details.value).toMatchObject({
      description: "say mine",
    });
    expect(world.ran).toEqual([]);
  });

  it("asks with them after a crash also if the call before could not be made any more", async () => {
    const world = new World();
    await world.asks({ word: "theirs" });
    world.recordEdit({ word: "mine" });
    world.refused.add("theirs");
    expect((await world.resume())[0]?.call.inputParameters).toEqual({
      word: "mine",
    });
  });

  it("asks as before, and says why, if they cannot be used any more", async () => {
    const world = new World();
    const before = await world.asks({ word: "theirs" });
    world.recordEdit({ word: "mine" });
    world.refused.add("mine");
    const [asked] = await world.resume();
    expect(asked).toMatchObject({
      call: {
        inputParameters: { word: "theirs" },
        confirmationRequest: before.call.confirmationRequest,
      },
      detail: {
        digest: before.detail?.digest,
        reason: 'the changed arguments cannot be used: word "mine" is taken',
      },
    });
  });

  it("asks as before if the policy denies them by then", async () => {
    const world = new World();
    await world.asks({ word: "theirs" });
    world.recordEdit({ word: "mine" });
    world.decision = { decision: "deny", rule: "r", reason: "not now" };
    const [asked] = await world.resume();
    expect(asked).toMatchObject({
      call: {
        inputParameters: { word: "theirs" },
        status: ToolCallStatus.PENDING,
      },
      detail: { reason: expect.stringContaining("is denied: not now") },
    });
    expect(asked?.call.confirmationRequest).toBeDefined();
  });

  it("fails if neither can be used any more", async () => {
    const world = new World();
    await world.asks({ word: "theirs" });
    world.recordEdit({ word: "mine" });
    world.refused.add("mine").add("theirs");
    expect((await world.resume())[0]?.call.status).toBe(ToolCallStatus.FAILED);
  });
});

describe("the check of changed arguments", () => {
  it.each([
    [
      { word: "taken" },
      Code.InvalidArgument,
      'modified_arguments.word "taken" is taken',
    ],
    [
      { word: "x", words: "y" },
      Code.InvalidArgument,
      "modified_arguments.words is unknown: choose word, parts",
    ],
    [
      { parts: [{ text: "a", txt: "b" }] },
      Code.InvalidArgument,
      "modified_arguments.parts[0].txt is unknown: choose text",
    ],
    [
      { parts: [{ n: 9007199254740992 }] },
      Code.InvalidArgument,
      'modified_arguments cannot be used: argument "parts.0.n" is a number with more digits than can be kept',
    ],
    [
      { word: "\ud83d" },
      Code.InvalidArgument,
      'argument "word" has half a character',
    ],
    [
      { constructor: "x" },
      Code.InvalidArgument,
      "modified_arguments.constructor is unknown",
    ],
  ])("names what is wrong with %j", async (args: JsonObject, code, message) => {
    const world = new World();
    const { call } = await world.asks({ word: "theirs" });
    world.refused.add("taken");
    const checked = checkEditedArguments(
      { task: world.task, call, args },
      world.context(),
      signal,
    );
    await expect(checked).rejects.toMatchObject({
      code,
      message: expect.stringContaining(message),
    });
  });

  it("hides an internal error from the client, and reports it", async () => {
    const world = new World();
    const { call } = await world.asks({ word: "theirs" });
    const checked = checkEditedArguments(
      { task: world.task, call, args: { word: "broken" } },
      world.context(),
      signal,
    );
    await expect(checked).rejects.toMatchObject({
      code: Code.Internal,
      message: expect.not.stringContaining("secret"),
    });
    expect(world.notices).toEqual([
      expect.stringMatching(/^a tool call failed/),
    ]);
  });
});

/** A task with one call of a tool that says a word. */
class World {
  task: Task = create(TaskSchema, { id: "t" });
  decision: PolicyDecision = { decision: "ask", rule: "", reason: "" };
  readonly refused = new Set<string>();
  readonly ran: string[] = [];
  readonly notices: string[] = [];

  /** Makes the call, and returns it as it asks. */
  async asks(inputParameters: JsonObject): Promise<CallUpdate> {
    const call = create(ToolCallSchema, {
      toolCallId: "c",
      toolName: "say",
      status: ToolCallStatus.PENDING,
      inputParameters,
    });
    for await (const [update] of runNewCalls(
      [{ call }],
      this.context(),
      signal,
    )) {
      if (!update) break;
      this.#record(update);
      return update;
    }
    return expect.unreachable();
  }

  /**
   * Records the user's answer, as the server does before the scheduler hears of
   * it.
   */
  recordEdit(modifiedArguments: JsonObject): void {
    const value = {
      toolCallId: "c",
      selectedOptionId: OPTION_MODIFY_ARGUMENTS,
    };
    const parts = [
      create(PartSchema, {
        content: { case: "confirmation", value },
        modifiedArguments,
      }),
    ];
    const message = create(MessageSchema, { role: Role.USER, parts });
    const sequence = this.task.sequence + 1n;
    const payload = { case: "message", value: message } as const;
    this.task = reduceTask(
      this.task,
      create(TaskEventSchema, { sequence, payload }),
    );
    const call = findToolCall(this.task, "c") ?? expect.unreachable();
    this.#record({ call });
  }

  /** Resumes the call, and returns what is recorded first. */
  async resume(): Promise<readonly CallUpdate[]> {
    for await (const batch of runOpenCalls(
      openToolCalls(this.task),
      this.context(),
      signal,
    )) {
      return batch;
    }
    return [];
  }

  context(): SchedulerContext {
    const world = this;
    const policy: PolicyEngine = { decide: async () => this.decision };
    return {
      tools: new Map([["say", this.#tool()]]),
      policy,
      confirmations: new Confirmations(),
      nextId: () => "q",
      onNotice: (text) => this.notices.push(text),
      settle: () => "unknown",
      get task() {
        return world.task;
      },
    };
  }

  #record({ call, detail: toolCallDetail }: CallUpdate): void {
    const sequence = this.task.sequence + 1n;
    const payload = { case: "toolCall", value: call } as const;
    const event = create(
      TaskEventSchema,
      defined({ taskId: "t", sequence, payload, toolCallDetail }),
    );
    this.task = reduceTask(this.task, event);
  }

  #tool(): Tool {
    const part = { type: "object", properties: { text: { type: "string" } } };
    const properties = {
      word: { type: "string" },
      parts: { type: "array", items: part },
    };
    return {
      declaration: {
        name: "say",
        description: "",
        parameters: { type: "object", properties },
      },
      prepare: async (args) => {
        const word = String(args.word);
        if (word === "broken") throw new TypeError("secret words");
        if (this.refused.has(word)) throw invalid("word", word, "is taken");
        const value = create(GenericDetailsSchema, {
          description: `say ${word}`,
        });
        const ran = this.ran;
        return {
          args,
          description: `Say ${word}`,
          confirmation: { case: "genericDetails", value },
          async *execute() {
            ran.push(word);
            yield textResult(word);
          },
        };
      },
    };
  }
}
