import { equals } from "@bufbuild/protobuf";
import {
  emptyTask,
  findToolCall,
  reduceTask,
  type Task,
  type TaskEvent,
  TaskEventSchema,
  type ToolCall,
  ToolCallStatus,
  toolCallsOf,
} from "@devtool/schema";
import { isStatusMove } from "@devtool/schema/testing";
import type { Witness } from "./workload.ts";

/** The counts of faults after a crash; all are zero when there are none. */
export interface CrashReport {
  readonly tasks: number;
  readonly events: number;
  readonly toolsRun: number;
  readonly interrupted: number;
  /** Events that a client was shown and the log does not have as they were. */
  readonly lost: number;
  /** Sequences that are missing, doubled or out of order in a log. */
  readonly disordered: number;
  /** Tools that ran more than once. */
  readonly ranTwice: number;
  /**
   * Calls whose status moved back, or whose reported outcome is not what
   * happened.
   */
  readonly misreported: number;
  /** Tasks that never came to rest. */
  readonly stuck: number;
}

/**
 * Compares what clients were shown with the logs and with what the tools really
 * did.
 */
export function checkCrash(
  witness: Witness,
  logs: ReadonlyMap<string, readonly TaskEvent[]>,
  effects: readonly string[],
): CrashReport {
  const counts = Map.groupBy(effects, (token) => token);
  const tasks = [...logs].map(([id, log]) => ({
    id,
    log,
    task: log.reduce(reduceTask, emptyTask()),
  }));
  const calls = tasks.flatMap(({ id, task }) =>
    effectCalls(task).map((call) => ({
      call,
      token: witness.tokens.get(id) ?? "",
    })),
  );
  return {
    tasks: tasks.length,
    events: sum(tasks, ({ log }) => log.length),
    toolsRun: effects.length,
    interrupted: calls.filter(({ call }) => isInterrupted(call)).length,
    lost: sum([...witness.seen], ([id, seen]) =>
      lostEvents(seen, logs.get(id) ?? []),
    ),
    disordered: sum(
      tasks,
      ({ log }) =>
        log.filter(({ sequence }, index) => sequence !== BigInt(index + 1))
          .length,
    ),
    ranTwice: [...counts.values()].filter((runs) => runs.length > 1).length,
    misreported:
      calls.filter(
        ({ call, token }) => !isHonest(call, counts.get(token)?.length ?? 0),
      ).length + sum(tasks, ({ log }) => backwardMoves(log)),
    stuck: tasks.filter(({ task }) => !isAtRest(task)).length,
  };
}

function lostEvents(
  seen: ReadonlyMap<bigint, TaskEvent>,
  log: readonly TaskEvent[],
): number {
  return [...seen].filter(([sequence, event]) => {
    const kept = log[Number(sequence) - 1];
    return !kept || !equals(TaskEventSchema, kept, event);
  }).length;
}

/** The tools that write the token of their task. */
const EFFECTS: ReadonlySet<string> = new Set([
  "run_shell_command",
  "mcp__effects__append",
]);

function effectCalls(task: Task): ToolCall[] {
  return task.history
    .flatMap(toolCallsOf)
    .filter(({ toolName }) => EFFECTS.has(toolName));
}

function isInterrupted({ result }: ToolCall): boolean {
  return result.case === "error" && result.value.type === "interrupted";
}

/**
 * A call that succeeded ran once; one that was interrupted ran at most once;
 * one that did not begin did not run.
 */
function isHonest(call: ToolCall, runs: number): boolean {
  if (call.status === ToolCallStatus.SUCCEEDED) return runs === 1;
  return isInterrupted(call) ? runs <= 1 : runs === 0;
}

function backwardMoves(log: readonly TaskEvent[]): number {
  let task = emptyTask();
  let moves = 0;
  for (const event of log) {
    if (event.payload.case === "toolCall") {
      const before = findToolCall(task, event.payload.value.toolCallId);
      if (before && !isStatusMove(before.status, event.payload.value.status)) {
        moves++;
      }
    }
    task = reduceTask(task, event);
  }
  return moves;
}

function isAtRest(task: Task): boolean {
  return task.history
    .flatMap(toolCallsOf)
    .every(({ status }) => status !== ToolCallStatus.EXECUTING);
}

function sum<T>(items: readonly T[], amount: (item: T) => number): number {
  return items.reduce((total, item) => total + amount(item), 0);
}
