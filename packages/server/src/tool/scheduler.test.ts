import { create } from "@bufbuild/protobuf";
import {
  ApprovalMode,
  GenericDetailsSchema,
  MessageSchema,
  OPTION_CANCEL,
  OPTION_PROCEED_ONCE,
  Role,
  type Task,
  TaskSchema,
  type ToolCall,
  ToolCallConfirmationSchema,
  ToolCallSchema,
  ToolCallStatus,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { invalid } from "../errors.ts";
import { Confirmations } from "./confirmations.ts";
import type { PolicyEngine } from "./policy-engine.ts";
import { runNewCalls, runOpenCalls, type SchedulerContext } from "./scheduler.ts";
import { createSessionPolicy } from "./session-policy.ts";
import type { Tool, ToolEvent } from "./tool.ts";
import { textResult } from "./tool-result.ts";

describe("the tool scheduler", () => {
  const signal = AbortSignal.timeout(10_000);

  it("publishes all calls of a step together before it runs the first (TOOL-2)", async () => {
    const [first, ...rest] = await collect(runNewCalls([call("a", "look"), call("b", "look")], context(), signal));
    expect(first).toEqual(["a PENDING", "b PENDING"]);
    expect(rest.flat().toSorted()).toEqual(["a EXECUTING", "a SUCCEEDED", "b EXECUTING", "b SUCCEEDED"]);
  });

  it("runs calls that look side by side, and one that changes something alone, in order", async () => {
    const both = Promise.withResolvers<void>();
    let looking = 0;
    const order: string[] = [];
    const meet = look(async function* () {
      if (++looking === 2) both.resolve();
      await both.promise;
      order.push("look");
      yield textResult("seen");
    });
    const act = change(async function* () {
      order.push("change");
      yield textResult("done");
    });
    const calls = [call("a", "look"), call("b", "look"), call("c", "change"), call("d", "look")];
    const policy: PolicyEngine = { decide: () => "allow" };
    const allowing = { ...context({ look: meet, change: act }), policy };
    await collect(runNewCalls(calls, allowing, signal));
    expect(order).toEqual(["look", "look", "change", "look"]);
  });

  it("asks before it changes something, takes an answer at once, and asks no more when it runs (TOOL-2)", async () => {
    const asking = context();
    const seen: string[] = [];
    for await (const batch of runNewCalls([call("a", "change")], asking, signal)) {
      seen.push(...batch.map(line));
      asking.confirmations.answer(confirmation("a", OPTION_PROCEED_ONCE));
    }
    expect(seen).toEqual(["a PENDING asks", "a EXECUTING", "a SUCCEEDED"]);
  });

  it("runs no call that the user declined", async () => {
    const asking = context();
    const seen: string[] = [];
    for await (const batch of runNewCalls([call("a", "change")], asking, signal)) {
      seen.push(...batch.map(line));
      asking.confirmations.answer(confirmation("a", OPTION_CANCEL));
    }
    expect(seen).toEqual(["a PENDING asks"]);
  });

  it("fails a call of no tool, of bad arguments, and of a tool that throws, after it was seen PENDING (TOOL-1, TOOL-8)", async () => {
    const picky: Tool = { ...look(), prepare: () => Promise.reject(invalid("path", "", "is missing")) };
    const broken = look(() => failing("the disk is full"));
    const tools = context({ picky, broken });
    const failures: string[] = [];
    for (const name of ["none", "picky", "broken"]) {
      const seen: ToolCall[] = [];
      for await (const batch of runNewCalls([call("a", name)], tools, signal)) seen.push(...batch);
      expect(seen[0]?.status).toBe(ToolCallStatus.PENDING);
      const last = seen.at(-1);
      failures.push(last?.result.case === "error" ? (last.result.value.type ?? "no type") : "no error");
    }
    expect(failures).toEqual(["tool_not_registered", "invalid_tool_params", "execution_failed"]);
  });

  it("after a restart runs what was approved, and fails what can no longer be checked", async () => {
    const approved = call("a", "change");
    const answer = confirmation("a", OPTION_PROCEED_ONCE);
    const task = create(TaskSchema, {
      history: [
        create(MessageSchema, { role: Role.AGENT, parts: [{ content: { case: "toolCall", value: approved } }] }),
        create(MessageSchema, { role: Role.USER, parts: [{ content: { case: "confirmation", value: answer } }] }),
      ],
    });
    const batches = await collect(runOpenCalls([approved, call("b", "gone")], context({}, task), signal));
    expect(batches).toEqual([["b FAILED"], ["a EXECUTING"], ["a SUCCEEDED"]]);
  });

  it("stops waiting for an answer when the task is canceled", async () => {
    const stop = new AbortController();
    const running = runNewCalls([call("a", "change")], context(), stop.signal)[Symbol.asyncIterator]();
    await running.next();
    const next = running.next();
    stop.abort(new Error("canceled"));
    await expect(next).rejects.toThrow("canceled");
  });
});

function context(more: Readonly<Record<string, Tool>> = {}, task: Task = create(TaskSchema)): SchedulerContext {
  return {
    tools: new Map(Object.entries({ look: look(), change: change(), ...more })),
    policy: createSessionPolicy(ApprovalMode.DEFAULT),
    confirmations: new Confirmations(),
    task,
  };
}

function look(execute: () => AsyncIterable<ToolEvent> = succeed): Tool {
  return {
    declaration: { name: "look", description: "", parameters: {} },
    prepare: async (args) => ({ args, description: "Look", execute }),
  };
}

function change(execute: () => AsyncIterable<ToolEvent> = succeed): Tool {
  const details = { case: "genericDetails", value: create(GenericDetailsSchema) } as const;
  return {
    declaration: { name: "change", description: "", parameters: {} },
    prepare: async (args) => ({ args, description: "Change", confirmation: details, execute }),
  };
}

async function* succeed(): AsyncIterable<ToolEvent> {
  yield textResult("done");
}

function failing(message: string): AsyncIterable<ToolEvent> {
  return { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new Error(message)) }) };
}

function call(toolCallId: string, toolName: string): ToolCall {
  return create(ToolCallSchema, { toolCallId, toolName, status: ToolCallStatus.PENDING, inputParameters: {} });
}

function confirmation(toolCallId: string, selectedOptionId: string) {
  return create(ToolCallConfirmationSchema, { toolCallId, selectedOptionId });
}

async function collect(batches: AsyncIterable<readonly ToolCall[]>): Promise<string[][]> {
  const lines: string[][] = [];
  for await (const batch of batches) lines.push(batch.map(line));
  return lines;
}

/** A call as its id, its status, and whether it asks. */
function line({ toolCallId, status, confirmationRequest }: ToolCall): string {
  return `${toolCallId} ${ToolCallStatus[status]}${confirmationRequest ? " asks" : ""}`;
}
