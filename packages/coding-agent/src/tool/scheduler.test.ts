import { setTimeout as delay } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import {
  createPolicyEngine,
  type PolicyEngine,
  PolicyError,
} from "@devtool/policy";
import {
  ApprovalMode,
  awaitedToolCalls,
  FileDiffSchema,
  GenericDetailsSchema,
  MessageSchema,
  OPTION_CANCEL,
  OPTION_MODIFY_WITH_EDITOR,
  OPTION_PROCEED_ALWAYS_AND_SAVE,
  OPTION_PROCEED_ONCE,
  openToolCalls,
  Role,
  reduceTask,
  type Task,
  type TaskEvent,
  TaskEventSchema,
  TaskSchema,
  type ToolCall,
  type ToolCallConfirmation,
  ToolCallConfirmationSchema,
  type ToolCallDetail,
  ToolCallSchema,
  ToolCallStatus,
} from "@devtool/schema";
import {
  type CallUpdate,
  Code,
  Confirmations,
  DevtoolError,
  invalid,
} from "@devtool/server/agent";
import { describe, expect, it, vi } from "vitest";
import {
  runNewCalls,
  runOpenCalls,
  type SchedulerContext,
} from "./scheduler.ts";
import type { Tool, ToolEvent, ToolInvocation } from "./tool.ts";
import { textResult } from "./tool-result.ts";

describe("the tool scheduler", () => {
  const { signal } = new AbortController();

  it("publishes all calls of a step together before it runs the first (TOOL-2)", async () => {
    const [first, ...rest] = await collect(
      runNewCalls([call("a", "look"), call("b", "look")], context(), signal),
    );
    expect(first).toEqual(["a PENDING", "b PENDING"]);
    expect(rest.flat().toSorted()).toEqual([
      "a EXECUTING",
      "a SUCCEEDED",
      "b EXECUTING",
      "b SUCCEEDED",
    ]);
  });

  it("runs a limited number of calls per step; the others fail with the reason", async () => {
    const calls = Array.from({ length: 1000 }, (_, index) =>
      call(`${index}`, "look"),
    );
    const seen = (await collect(runNewCalls(calls, context(), signal))).flat();
    expect(seen.filter((each) => each.endsWith("SUCCEEDED"))).toHaveLength(128);
    expect(seen.filter((each) => each.endsWith("FAILED"))).toHaveLength(872);
    expect(seen).toContain("128 PENDING");
  });

  it("reports an internal error to the operator with the ids of the call, and to the client without details", async () => {
    const broken = look(async function* () {
      yield await Promise.reject(new TypeError("secret words"));
    });
    const unprepared: Tool = {
      ...look(),
      prepare: () => Promise.reject(new RangeError("secret words")),
    };
    const notices: string[] = [];
    const reporting = {
      ...context({ broken, unprepared }),
      onNotice: (text: string) => notices.push(text),
    };
    const calls = [
      call("a", "broken"),
      call("b", "unprepared"),
      call("c", "missing"),
    ];
    const seen = (
      await Array.fromAsync(runNewCalls(calls, reporting, signal))
    ).flat();
    expect(
      JSON.stringify(seen.map(({ call: { result } }) => result)),
    ).toContain("internal error");
    expect(
      JSON.stringify([seen.map(({ call: { result } }) => result), notices]),
    ).not.toContain("secret");
    expect(notices).toEqual([
      expect.stringMatching(
        /^a tool call failed .*"call":"b","tool":"unprepared","error":"RangeError"/,
      ),
      expect.stringMatching(
        /^a tool call failed .*"call":"a","tool":"broken","error":"TypeError"/,
      ),
    ]);
  });

  const orders: readonly (readonly [
    title: string,
    tools: readonly string[],
    order: string,
  ])[] = [
    ["calls that read", ["look", "look"], "+a +b -a -b"],
    ["acts that policy allows", ["act", "act"], "+a +b -a -b"],
    ["a read after such an act", ["act", "look"], "+a -a +b -b"],
    ["a read before such an act", ["look", "act"], "+a -a +b -b"],
    ["an act and a fetch", ["act", "open", "act"], "+a +b +c -a -b -c"],
    ["an act that asks", ["change", "act"], "+a -a +b -b"],
    ["a read before it", ["look", "change"], "+a -a +b -b"],
    ["a read that asks", ["fetch", "act"], "+b -b +a -a"],
    ["an edit that policy allows", ["act", "edit", "act"], "+a -a +b -b +c -c"],
    ["a call that waits", ["act", "wait", "look"], "+a -a +b -b +c -c"],
    ["a restore", ["restore", "look"], "+a -a +b -b"],
  ];
  it.each(orders)("keeps the order that %s needs", async (_, names, order) => {
    const seen: string[] = [];
    const generic = {
      case: "genericDetails",
      value: create(GenericDetailsSchema, {}),
    } as const;
    const observed = (extra: Partial<ToolInvocation>, kind = "acts"): Tool => ({
      ...change(),
      prepare: async (args) => ({
        args,
        description: "Change",
        ...(kind === "acts" && { confirmation: generic }),
        ...extra,
        async *execute() {
          seen.push(`+${args.id}`);
          await delay(20);
          seen.push(`-${args.id}`);
          yield textResult("done");
        },
      }),
    });
    const edit = {
      case: "fileEditDetails",
      value: create(FileDiffSchema, {}),
    } as const;
    const asking: SchedulerContext = {
      ...context({
        look: observed({}, "reads"),
        open: observed({ onlyReads: true }),
        act: observed({}),
        change: observed({}),
        fetch: observed({ onlyReads: true }),
        edit: observed({ confirmation: edit }),
        wait: observed({ waitsForPrevious: true }),
        restore: observed({ changes: ["a.txt"] }),
      }),
      policy: {
        decide: async ({ call: { toolName } }) => ({
          decision: ["change", "fetch"].includes(toolName) ? "ask" : "allow",
          rule: "",
          reason: "",
        }),
      },
    };
    const calls = names.map((name, at) => {
      const id = "abc".charAt(at);
      const { call: made } = call(id, name);
      return { call: { ...made, inputParameters: { id } } };
    });
    for await (const batch of runNewCalls(calls, asking, signal)) {
      for (const { call: made } of batch) {
        if (!made.confirmationRequest) continue;
        const { toolCallId } = made;
        const answer = confirmation(toolCallId, OPTION_PROCEED_ONCE);
        // Calls that wait for the answer, too, have had time to run by then.
        const before = order.split(" ").indexOf(`+${toolCallId}`);
        void vi
          .waitUntil(() => seen.length >= before, { timeout: 60_000 })
          .catch(() => undefined)
          .then(() => delay(100))
          .then(() => asking.confirmations.answer(answer));
      }
    }
    expect(seen.join(" ")).toBe(order);
  });

  it("runs a limited number of calls side by side", async () => {
    let running = 0;
    let most = 0;
    const full = Promise.withResolvers<void>();
    const busy = look(async function* () {
      most = Math.max(most, ++running);
      if (running === 16) full.resolve();
      await full.promise;
      await delay(5);
      running--;
      yield textResult("done");
    });
    const calls = Array.from({ length: 40 }, (_, at) => call(`${at}`, "look"));
    await collect(runNewCalls(calls, context({ look: busy }), signal));
    expect(most).toBe(16);
  });

  it("asks before a change, accepts an answer at once, and does not ask again when it runs (TOOL-2)", async () => {
    const answers = { a: OPTION_PROCEED_ONCE };
    expect(await answered([call("a", "change")], answers)).toEqual([
      "a PENDING asks",
      "a EXECUTING",
      "a SUCCEEDED",
    ]);
  });

  it("reports why an approval cannot be saved, and does not run the call", async () => {
    const policy: PolicyEngine = {
      decide: async () => ({
        decision: "ask",
        rule: "",
        reason: "",
        saves: "change",
      }),
      save: () =>
        Promise.reject(
          new PolicyError("approval cannot be saved: ENOSPC", "not-written"),
        ),
    };
    const asking = { ...context(), policy };
    const answers = { a: OPTION_PROCEED_ALWAYS_AND_SAVE };
    const seen: string[] = [];
    await expect(
      answered([call("a", "change")], answers, asking, seen),
    ).rejects.toMatchObject({
      name: "DevtoolError",
      code: Code.Unavailable,
      message: "approval cannot be saved: ENOSPC",
    });
    expect(seen).toEqual(["a PENDING asks"]);
  });

  it("does not run a call that the user declined", async () => {
    expect(await answered([call("a", "change")], { a: OPTION_CANCEL })).toEqual(
      ["a PENDING asks"],
    );
  });

  it("fails a call of an unknown tool, with invalid arguments, or of a tool that throws, after it was PENDING (TOOL-1, TOOL-8)", async () => {
    const picky: Tool = {
      ...look(),
      prepare: () => Promise.reject(invalid("path", "", "is missing")),
    };
    const broken = look(() => failing("the disk is full"));
    // B22: a tool that looks for a file in vain is a tool all the same.
    const unlucky: Tool = {
      ...look(),
      prepare: () =>
        Promise.reject(new DevtoolError("no such file", Code.NotFound)),
    };
    const tools = context({ picky, unlucky, broken });
    const failures: string[] = [];
    for (const name of ["none", "picky", "unlucky", "broken"]) {
      const seen: ToolCall[] = [];
      for await (const batch of runNewCalls([call("a", name)], tools, signal)) {
        seen.push(...batch.map(({ call }) => call));
      }
      expect(seen[0]?.status).toBe(ToolCallStatus.PENDING);
      const last = seen.at(-1);
      failures.push(
        last?.result.case === "error"
          ? (last.result.value.type ?? "no type")
          : "no error",
      );
    }
    expect(failures).toEqual([
      "tool_not_registered",
      "invalid_tool_params",
      "invalid_tool_params",
      "execution_failed",
    ]);
  });

  it("after a restart, runs approved calls, and fails calls that can no longer be validated", async () => {
    const [asked] = await published(
      runNewCalls([call("a", "change")], context(), signal),
    );
    const task = answeredTask(asked, OPTION_PROCEED_ONCE);
    const batches = await collect(
      runOpenCalls(
        [...openToolCalls(task), call("b", "gone").call],
        context({}, task),
        signal,
      ),
    );
    expect(batches).toEqual([["b FAILED"], ["a EXECUTING"], ["a SUCCEEDED"]]);
  });

  it("after a restart, runs only what was approved, and asks again if it changed (S13)", async () => {
    const [asked] = await published(
      runNewCalls([call("a", "change")], context(), signal),
    );
    const other = change(succeed, "something else");
    const approved = answeredTask(asked, OPTION_PROCEED_ONCE);
    const resumed = await published(
      runOpenCalls(
        openToolCalls(approved),
        context({ change: other }, approved),
        signal,
      ),
    );
    expect(resumed.map(({ call }) => call.result)).toMatchObject([
      { case: "error", value: { type: "approval_outdated" } },
    ]);
    const asking = taskWith(asked);
    const [again] = await published(
      runOpenCalls(
        openToolCalls(asking),
        context({ change: other }, asking),
        signal,
      ),
    );
    expect(again?.call.confirmationRequest?.details).toMatchObject({
      value: { description: "something else" },
    });
    expect(again?.detail?.digest).not.toEqual(asked?.detail?.digest);
  });

  it("after a restart, takes an answer that comes while a changed call is validated for its old question only (S13)", async () => {
    const [asked] = await published(
      runNewCalls([call("a", "change")], context(), signal),
    );
    const seen: Record<string, readonly string[][]> = {};
    for (const optionId of [OPTION_PROCEED_ONCE, OPTION_CANCEL]) {
      let task = taskWith(asked);
      const { confirmations, ...rest } = context();
      const other = change(succeed, "something else");
      const prepare: Tool["prepare"] = async (args, until) => {
        task = answeredTask(asked, optionId);
        confirmations.answer(confirmation("a", optionId));
        return other.prepare(args, until);
      };
      const answering: SchedulerContext = {
        ...rest,
        confirmations,
        tools: new Map([["change", { ...other, prepare }]]),
        get task() {
          return task;
        },
      };
      seen[optionId] = await collect(
        runOpenCalls(openToolCalls(task), answering, signal),
      );
    }
    expect(seen).toEqual({
      [OPTION_PROCEED_ONCE]: [["a FAILED"]],
      [OPTION_CANCEL]: [],
    });
  });

  it("cancels calls that followed a declined one, but not those that the user was asked about", async () => {
    const calls = [call("a", "change"), call("b", "look"), call("c", "change")];
    const answers = { a: OPTION_CANCEL, c: OPTION_PROCEED_ONCE };
    expect(await answered(calls, answers)).toEqual([
      "a PENDING asks",
      "b PENDING",
      "c PENDING asks",
      "b CANCELLED",
      "c EXECUTING",
      "c SUCCEEDED",
    ]);
  });

  it("decides after a restart as without it, wherever the log ends when the user declines a call", async () => {
    const calls = [
      call("a", "look"),
      call("b", "change"),
      call("c", "look"),
      call("d", "change"),
      call("e", "look"),
    ];
    const answers = { b: OPTION_CANCEL, d: OPTION_PROCEED_ONCE };
    const whole = new LoggedRun([], answers);
    await whole.follow(runNewCalls(calls, whole.context, signal));
    const ends = [
      "a SUCCEEDED",
      "b CANCELLED",
      "c CANCELLED",
      "d SUCCEEDED",
      "e CANCELLED",
    ];
    expect(whole.statuses).toEqual(ends);
    // The calls of a step are published in one batch.
    for (let length = calls.length; length <= whole.events.length; length++) {
      const resumed = new LoggedRun(whole.events.slice(0, length), answers);
      resumed.failInterrupted();
      resumed.answerAll();
      await resumed.follow(
        runOpenCalls(openToolCalls(resumed.task), resumed.context, signal),
      );
      const mayBe = ends.map((end) =>
        end.endsWith("SUCCEEDED")
          ? [end, end.replace("SUCCEEDED", "FAILED")]
          : [end],
      );
      expect(
        resumed.statuses.every((status, index) =>
          mayBe[index]?.includes(status),
        ),
        `after ${length} events: ${resumed.statuses.join(", ")}`,
      ).toBe(true);
    }
  });

  it("cancels after a restart nothing because of a call that was declined in an earlier step", async () => {
    const run = new LoggedRun([], { a: OPTION_CANCEL });
    await run.follow(runNewCalls([call("a", "change")], run.context, signal));
    run.record(
      await published(runNewCalls([call("b", "look")], run.context, signal)),
    );
    await run.follow(
      runOpenCalls(openToolCalls(run.task), run.context, signal),
    );
    expect(run.statuses).toEqual(["a CANCELLED", "b SUCCEEDED"]);
  });

  it("asks again with the user's content until they approve it (TOOL-4)", async () => {
    const asking = context({ write: write("draft") });
    const seen: string[] = [];
    const answers = [
      modification("a", "better"),
      modification("a", "best"),
      confirmation("a", OPTION_PROCEED_ONCE),
    ];
    for await (const batch of runNewCalls(
      [call("a", "write")],
      asking,
      signal,
    )) {
      for (const { call } of batch) {
        const details = call.confirmationRequest?.details;
        seen.push(
          details?.case === "fileEditDetails"
            ? `asks about ${details.value.newContent}`
            : line({ call }),
        );
      }
      const answer = answers.shift();
      if (answer) asking.confirmations.answer(answer);
    }
    expect(seen).toEqual([
      "asks about draft",
      "asks about better",
      "asks about best",
      "a EXECUTING",
      "a SUCCEEDED",
    ]);
  });

  it("publishes a question of a running call as a call of its own, and gives the tool the answer", async () => {
    const answers: string[] = [];
    const curious = look(async function* () {
      const details = {
        case: "genericDetails",
        value: create(GenericDetailsSchema, { description: "who?" }),
      } as const;
      const value = { description: "Ask who", details, options: [] };
      yield {
        case: "question",
        value,
        reply: ({ optionId }) => answers.push(optionId),
        withdrawn: signal,
      };
      yield textResult("done");
    });
    const asking = context({ look: curious });
    const choice = { q1: OPTION_PROCEED_ONCE };
    expect(await answered([call("a", "look")], choice, asking)).toEqual([
      "a PENDING",
      "a EXECUTING",
      "q1 PENDING asks of a",
      "q1 EXECUTING of a",
      "q1 SUCCEEDED of a",
      "a SUCCEEDED",
    ]);
    expect(answers).toEqual([OPTION_PROCEED_ONCE]);
  });

  it("cancels a question of a running call that is withdrawn, and goes on", async () => {
    const withdrawal = new AbortController();
    const curious = look(async function* () {
      const details = { case: undefined };
      const question = { description: "Ask who", details, options: [] };
      const event = {
        case: "question",
        value: question,
        reply: () => undefined,
        withdrawn: withdrawal.signal,
      } as const;
      yield event;
      // Nobody sees what is withdrawn before it is published.
      yield event;
      yield textResult("done");
    });
    const asking = context({ look: curious });
    const seen: string[] = [];
    for await (const batch of runNewCalls(
      [call("a", "look")],
      asking,
      signal,
    )) {
      seen.push(...batch.map(line));
      if (seen.length === 3) withdrawal.abort();
    }
    expect(seen).toEqual([
      "a PENDING",
      "a EXECUTING",
      "q1 PENDING asks of a",
      "q1 CANCELLED of a",
      "a SUCCEEDED",
    ]);
  });

  it("stops waiting for an answer when the task is canceled", async () => {
    const stop = new AbortController();
    const running = runNewCalls([call("a", "change")], context(), stop.signal)[
      Symbol.asyncIterator
    ]();
    await running.next();
    const next = running.next();
    stop.abort(new Error("canceled"));
    await expect(next).rejects.toThrow("canceled");
  });
});

function context(
  more: Readonly<Record<string, Tool>> = {},
  task: Task = create(TaskSchema),
): SchedulerContext {
  let questions = 0;
  return {
    tools: new Map(Object.entries({ look: look(), change: change(), ...more })),
    policy: createPolicyEngine({
      mode: ApprovalMode.DEFAULT,
      workspace: "/w",
      shellConfinement: "none",
    }),
    confirmations: new Confirmations(),
    nextId: () => `q${++questions}`,
    onNotice: () => undefined,
    task,
    settle: () => "unknown",
  };
}

function look(execute: () => AsyncIterable<ToolEvent> = succeed): Tool {
  return {
    declaration: { name: "look", description: "", parameters: {} },
    prepare: async (args) => ({ args, description: "Look", execute }),
  };
}

function change(
  execute: () => AsyncIterable<ToolEvent> = succeed,
  description = "something",
): Tool {
  const details = {
    case: "genericDetails",
    value: create(GenericDetailsSchema, { description }),
  } as const;
  return {
    declaration: { name: "change", description: "", parameters: {} },
    prepare: async (args) => ({
      args,
      description: "Change",
      confirmation: details,
      execute,
    }),
  };
}

function write(content: string): Tool {
  const invocation = (newContent: string): ToolInvocation => ({
    args: { content: newContent },
    description: "Write",
    confirmation: {
      case: "fileEditDetails",
      value: create(FileDiffSchema, { newContent }),
    },
    withContent: invocation,
    execute: succeed,
  });
  return {
    declaration: { name: "write", description: "", parameters: {} },
    prepare: async () => invocation(content),
  };
}

async function* succeed(): AsyncIterable<ToolEvent> {
  yield textResult("done");
}

function failing(message: string): AsyncIterable<ToolEvent> {
  return {
    [Symbol.asyncIterator]: () => ({
      next: () => Promise.reject(new Error(message)),
    }),
  };
}

function call(toolCallId: string, toolName: string): CallUpdate {
  return {
    call: create(ToolCallSchema, {
      toolCallId,
      toolName,
      status: ToolCallStatus.PENDING,
      inputParameters: {},
    }),
  };
}

function confirmation(
  toolCallId: string,
  selectedOptionId: string,
): ToolCallConfirmation {
  return create(ToolCallConfirmationSchema, { toolCallId, selectedOptionId });
}

function modification(
  toolCallId: string,
  newContent: string,
): ToolCallConfirmation {
  return create(ToolCallConfirmationSchema, {
    toolCallId,
    selectedOptionId: OPTION_MODIFY_WITH_EDITOR,
    modifiedDetails: { case: "fileDetails", value: { newContent } },
  });
}

/** Creates a task with one call. */
function taskWith(update: CallUpdate | undefined): Task {
  if (!update) throw new Error("no call was published");
  const { call, detail } = update;
  const part = {
    content: { case: "toolCall", value: call } as const,
    ...(detail && { toolCallDetail: detail }),
  };
  return create(TaskSchema, {
    history: [create(MessageSchema, { role: Role.AGENT, parts: [part] })],
  });
}

/** Creates a task whose user answered its only call. */
function answeredTask(update: CallUpdate | undefined, optionId: string): Task {
  const payload = {
    case: "message",
    value: create(MessageSchema, {
      role: Role.USER,
      parts: [
        {
          content: { case: "confirmation", value: confirmation("a", optionId) },
        },
      ],
    }),
  } as const;
  return reduceTask(
    taskWith(update),
    create(TaskEventSchema, { sequence: 1n, payload }),
  );
}

/**
 * A run of the scheduler whose log is kept, with a user who answers each
 * question.
 */
class LoggedRun {
  readonly events: TaskEvent[] = [];
  readonly context: SchedulerContext;
  task: Task = create(TaskSchema);
  readonly #answers: Readonly<Record<string, string>>;

  constructor(
    events: readonly TaskEvent[],
    answers: Readonly<Record<string, string>>,
  ) {
    this.#answers = answers;
    for (const event of events) {
      this.#append(event.payload, event.toolCallDetail);
    }
    const task = (): Task => this.task;
    const { task: _none, ...rest } = context();
    this.context = {
      ...rest,
      get task() {
        return task();
      },
    };
  }

  get statuses(): string[] {
    const calls = this.task.history.flatMap(({ role, parts }) =>
      role === Role.AGENT ? parts : [],
    );
    return calls.flatMap(({ content }) =>
      content.case === "toolCall"
        ? `${content.value.toolCallId} ${ToolCallStatus[content.value.status]}`
        : [],
    );
  }

  record(updates: readonly CallUpdate[]): void {
    for (const { call, detail } of updates) {
      this.#append({ case: "toolCall", value: call }, detail);
    }
  }

  /**
   * Ends the calls that ran when the log ended, as the server does when it
   * starts.
   */
  failInterrupted(): void {
    const running = openToolCalls(this.task).filter(
      ({ status }) => status === ToolCallStatus.EXECUTING,
    );
    this.record(
      running.map((call) => ({
        call: { ...call, status: ToolCallStatus.FAILED },
      })),
    );
  }

  async follow(batches: AsyncIterable<readonly CallUpdate[]>): Promise<void> {
    for await (const batch of batches) {
      this.record(batch);
      this.answerAll();
    }
  }

  answerAll(): void {
    for (const { toolCallId } of awaitedToolCalls(this.task)) {
      const answer = confirmation(
        toolCallId,
        this.#answers[toolCallId] ?? OPTION_PROCEED_ONCE,
      );
      const parts = [
        { content: { case: "confirmation", value: answer } as const },
      ];
      this.#append({
        case: "message",
        value: create(MessageSchema, { role: Role.USER, parts }),
      });
      this.context.confirmations.answer(answer);
    }
  }

  #append(
    payload: TaskEvent["payload"],
    toolCallDetail?: ToolCallDetail,
  ): void {
    const sequence = BigInt(this.events.length + 1);
    const event = create(TaskEventSchema, {
      sequence,
      payload,
      ...(toolCallDetail && { toolCallDetail }),
    });
    this.events.push(event);
    this.task = reduceTask(this.task, event);
  }
}

/**
 * Runs new calls, with answers to them by the ids of the calls, and returns what
 * is published of them.
 */
async function answered(
  calls: readonly CallUpdate[],
  answers: Readonly<Record<string, string>>,
  asking: SchedulerContext = context(),
  seen: string[] = [],
): Promise<string[]> {
  const { signal } = new AbortController();
  for await (const batch of runNewCalls(calls, asking, signal)) {
    seen.push(...batch.map(line));
    for (const [id, option] of Object.entries(answers)) {
      asking.confirmations.answer(confirmation(id, option));
    }
  }
  return seen;
}

/** Returns the first batch that a scheduler publishes. */
async function published(
  batches: AsyncIterable<readonly CallUpdate[]>,
): Promise<readonly CallUpdate[]> {
  for await (const batch of batches) return batch;
  return [];
}

async function collect(
  batches: AsyncIterable<readonly CallUpdate[]>,
): Promise<string[][]> {
  const lines: string[][] = [];
  for await (const batch of batches) lines.push(batch.map(line));
  return lines;
}

/** Formats a call as its id, its status, whether it asks, and its parent. */
function line({
  call: { toolCallId, status, confirmationRequest },
  detail,
}: CallUpdate): string {
  const parent = detail?.parentToolCallId
    ? ` of ${detail.parentToolCallId}`
    : "";
  return `${toolCallId} ${ToolCallStatus[status]}${confirmationRequest ? " asks" : ""}${parent}`;
}
