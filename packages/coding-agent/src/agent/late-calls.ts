import { create } from "@bufbuild/protobuf";
import { mergeReady } from "@devtool/internal/merge";
import {
  findToolCallDetail,
  NoticeSchema,
  openToolCalls,
  type Task,
  type ToolCall,
  ToolCallStatus,
} from "@devtool/schema";
import { type AgentEvent, toolFailure } from "@devtool/server/agent";
import { failedCall } from "../tool/prepared-call.ts";
import { runOpenCalls, type SchedulerContext } from "../tool/scheduler.ts";
import type { ToolSet } from "../tool/tool.ts";

/** An MCP server that has a task of a call. */
export interface AwaitedServer {
  readonly name: string;
  /** What the user has to know while the call waits; empty for nothing. */
  readonly notice: string;
  /**
   * Waits until the server is there. Rejects when it is awaited no longer, or
   * when the signal aborts.
   */
  wait(signal: AbortSignal): Promise<void>;
}

/** A call that goes on after a restart once its MCP server is there. */
interface LateCall {
  readonly call: ToolCall;
  readonly server: AwaitedServer;
}

/** Dependencies of `finishLateCalls`. */
export interface LateCallsContext {
  readonly task: Task;
  /** Opens the tools that there are now. */
  readonly openTools: (signal: AbortSignal) => Promise<ToolSet>;
  /**
   * Returns the MCP server for which a call waits after a restart; undefined for
   * a call that waits for none.
   */
  readonly awaitedServer: (
    call: ToolCall,
    signal: AbortSignal,
  ) => Promise<AwaitedServer | undefined>;
  /** Returns what the scheduler needs to run calls with tools. */
  readonly schedulerFor: (toolSet: ToolSet) => SchedulerContext;
}

/**
 * Runs the calls that a restart interrupted and whose MCP servers, which have a
 * task of each, are not there yet: each waits for its own. Calls that need not
 * wait for them run meanwhile: those before them in the step, and those that ran
 * beside them. The others stay open.
 */
export async function* finishLateCalls(
  context: LateCallsContext,
  signal: AbortSignal,
): AsyncIterable<AgentEvent> {
  const { task, openTools, schedulerFor } = context;
  const isPickedUp = openToolCalls(task).some(
    ({ toolCallId }) =>
      findToolCallDetail(task, toolCallId)?.delegation?.mcpServer,
  );
  if (!isPickedUp) return;
  await using toolSet = await openTools(signal);
  const late = await lateCalls(toolSet, context, signal);
  if (late.length === 0) return;
  const scheduler = schedulerFor(toolSet);
  const runs = [
    asEvents(runOpenCalls(callsBeside(late, task), scheduler, signal)),
    ...late.map((each) => runLateCall(each, context, signal)),
  ];
  for await (const events of mergeReady(runs)) yield* events;
}

/** Returns the open calls whose tools are not there, since their servers are not. */
async function lateCalls(
  { tools }: ToolSet,
  { task, awaitedServer }: LateCallsContext,
  signal: AbortSignal,
): Promise<readonly LateCall[]> {
  const missing = openToolCalls(task).filter(
    ({ toolName }) => !tools.has(toolName),
  );
  const found = await Promise.all(
    missing.map(async (call) => {
      const server = await awaitedServer(call, signal);
      return server ? [{ call, server }] : [];
    }),
  );
  return found.flat();
}

async function* runLateCall(
  { call, server: { name, notice, wait } }: LateCall,
  { openTools, schedulerFor }: LateCallsContext,
  signal: AbortSignal,
): AsyncIterable<AgentEvent> {
  if (notice !== "") {
    yield { case: "notice", value: create(NoticeSchema, { text: notice }) };
  }
  try {
    await wait(signal);
  } catch {
    signal.throwIfAborted();
    const problem = `MCP server ${JSON.stringify(name)} has not come back, and the call waits no longer; what its task did is unknown`;
    const failed = failedCall(call, toolFailure("mcp_tool_error", problem));
    // Its questions ended with the server that stopped.
    yield { case: "toolCalls", value: [{ call: failed }] };
    return;
  }
  await using toolSet = await openTools(signal);
  yield* asEvents(runOpenCalls([call], schedulerFor(toolSet), signal));
}

/** Returns the open calls that need not wait for late ones. */
function callsBeside(late: readonly LateCall[], task: Task): ToolCall[] {
  const open = openToolCalls(task);
  const lateIds = new Set(late.map(({ call }) => call.toolCallId));
  const first = open.findIndex(({ toolCallId }) => lateIds.has(toolCallId));
  const beside = open.filter(
    ({ toolCallId, status }, at) =>
      !lateIds.has(toolCallId) &&
      (at < first || status === ToolCallStatus.EXECUTING),
  );
  const ids = new Set(beside.map(({ toolCallId }) => toolCallId));
  // A question goes with the call that asks it.
  return open.filter(({ toolCallId }) => {
    const { parentToolCallId = "" } =
      findToolCallDetail(task, toolCallId) ?? {};
    return ids.has(parentToolCallId || toolCallId);
  });
}

async function* asEvents(
  updates: ReturnType<typeof runOpenCalls>,
): AsyncIterable<AgentEvent> {
  for await (const value of updates) yield { case: "toolCalls", value };
}
