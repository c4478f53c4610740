import { create, type JsonObject } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import { callWithRetry } from "@devtool/client";
import { oneLine } from "@devtool/internal/visible-text";
import {
  GenericDetailsSchema,
  type Message,
  type Task,
  type TraceContext,
} from "@devtool/schema";
import { Code, DevtoolError, invalid, quoted } from "@devtool/server/agent";
import { z } from "zod";
import { delegationOf } from "../tool/delegation.ts";
import type {
  CallDelegation,
  CallPlace,
  Tool,
  ToolEvent,
} from "../tool/tool.ts";
import { toolArgs } from "../tool/tool-args.ts";
import { failureResult } from "../tool/tool-result.ts";
import { RETRIES } from "./call-ids.ts";
import type { CalledAgent, Connection } from "./called-agent.ts";
import { type ChildCall, ChildTask } from "./child-task.ts";

/** What the tools that call other agents share. */
export interface CallingTask {
  /** The agents down to the calling one, as a `CallChain` has them. */
  readonly chain: readonly string[];
  /** The current state of the task, and the messages before it. */
  readonly current: () => {
    readonly task: Task;
    readonly earlier: readonly Message[];
  };
  /** The maximum number of calls of other agents in the task. */
  readonly maxCalls: number;
  /** How long a called agent may say nothing while it works, in milliseconds. */
  readonly silenceMs?: number | undefined;
  /** The maximum length of a result, in characters. */
  readonly maxOutputLength: number;
}

const ARGS = toolArgs({
  message: z
    .string()
    .min(1)
    .describe(
      "What the agent is to do, with all that it has to know: it does not see this conversation.",
    ),
  task_id: z
    .string()
    .optional()
    .describe(
      "The task_id of an earlier result of this agent, to go on with that task. Leave it out for new work.",
    ),
});

/** The prefix of the names of tools that call agents. */
const PREFIX = "agent_";

/** Returns the name of the tool that calls an agent. */
export function agentToolName(name: string): string {
  return `${PREFIX}${name.replaceAll("-", "_")}`;
}

/**
 * Creates the tool that gives work to an agent. Every call asks the user, whose
 * approval covers the agent, where it is, and the message.
 */
export function createAgentTool(
  agent: CalledAgent,
  calling: CallingTask,
): Tool {
  const { name, place, definitionHash, isOfRepository = false } = agent;
  const facts = { definitionHash, isNamesake: isOfRepository };
  return {
    declaration: {
      name: agentToolName(name),
      description: `Gives work to the agent ${name}, which works on its own and answers at the end. ${agent.description}`,
      parameters: ARGS.jsonSchema,
    },
    facts,
    prepare: async (given: JsonObject) => {
      const { message, task_id: taskId = "" } = ARGS.read(given);
      if (taskId !== "") assertOwnTask(name, taskId, calling);
      const goesOn = taskId === "" ? "" : ` (goes on with task ${taskId})`;
      const description = `Agent ${name}, ${place}, gets${goesOn}:\n${message}`;
      return {
        args: { message, ...(taskId !== "" && { task_id: taskId }) },
        facts,
        description: `Agent ${name} (${place}): ${oneLine(message)}`,
        confirmation: {
          case: "genericDetails",
          value: create(GenericDetailsSchema, { description }),
        },
        delegation: delegationOf({ agent: name }),
        execute: (signal, trace, callPlace) =>
          runCall(
            { agent, message, taskId, calling },
            signal,
            trace,
            callPlace,
          ),
      };
    },
  };
}

/** Throws for a task that was not begun by this conversation at this agent. */
function assertOwnTask(
  agent: string,
  taskId: string,
  { current }: CallingTask,
): void {
  const { task, earlier } = current();
  const known = delegationsOf([...earlier, ...task.history]);
  if (known.some((one) => one.agent === agent && one.taskId === taskId)) return;
  throw invalid(
    "task_id",
    taskId,
    `is not a task that agent ${quoted(agent)} has for this conversation`,
    "leave it out to begin a new one",
  );
}

/** Lists where the work of calls of other agents is, in order. */
function delegationsOf(
  messages: readonly Message[],
): readonly CallDelegation[] {
  return messages.flatMap(({ parts }) =>
    parts.flatMap(({ toolCallDetail }) => {
      const { delegation, parentToolCallId } = toolCallDetail ?? {};
      const isAgent = delegation?.mcpServer === "";
      return isAgent && parentToolCallId === "" ? delegation : [];
    }),
  );
}

interface AgentCall {
  readonly agent: CalledAgent;
  readonly message: string;
  readonly taskId: string;
  readonly calling: CallingTask;
}

/** Runs a call: a failure of the agent is a result. */
async function* runCall(
  { agent, message, taskId, calling }: AgentCall,
  signal: AbortSignal,
  trace: TraceContext | undefined,
  place: CallPlace | undefined,
): AsyncIterable<ToolEvent> {
  if (!place) {
    throw new DevtoolError("the call has no place in a task", Code.Internal);
  }
  const { chain, maxCalls, silenceMs, maxOutputLength } = calling;
  const count = delegationsOf(place.task.history).length;
  if (!place.isResumed && count > maxCalls) {
    const problem = `the task has called agents ${count - 1} times, and the limit is ${maxCalls}`;
    yield failureResult("execution_failed", `${problem}: go on without`);
    return;
  }
  if (taskId !== "") await agent.untold?.drop(agent.name, taskId);
  yield* followChild(
    {
      ...{ agent, message, taskId, chain, place, trace },
      ...{ maxOutputLength, silenceMs },
    },
    signal,
  );
}

/** Has an agent do the work of a call: a failure of the agent is a result. */
export async function* followChild(
  call: ChildCall,
  signal: AbortSignal,
): AsyncIterable<ToolEvent> {
  const { agent } = call;
  try {
    const connection = await connect(call, signal);
    yield* new ChildTask(call, connection, signal).follow();
  } catch (reason) {
    signal.throwIfAborted();
    await call.onFailure?.(reason);
    const { message: problem } =
      reason instanceof ConnectError
        ? { message: reason.rawMessage }
        : DevtoolError.from(reason);
    yield failureResult("execution_failed", `agent ${agent.name}: ${problem}`);
  }
}

/** A call, as far as it decides how its agent is reached. */
interface ConnectingCall extends Pick<ChildCall, "agent" | "isReplaceable"> {
  readonly place: Pick<CallPlace, "task" | "isResumed">;
}

/**
 * Connects to an agent. One elsewhere that cannot be reached is waited for,
 * since it has no message yet: for some 20 seconds, and for minutes by a call
 * that goes on after a restart, since its own server may start later than this
 * one.
 */
export function connect(
  { agent, place, isReplaceable = false }: ConnectingCall,
  signal: AbortSignal,
): Promise<Connection> {
  const { task, isResumed } = place;
  if (!isResumed && (agent.isOwnServer || isReplaceable)) {
    return agent.connect(task, signal);
  }
  return callWithRetry(
    async (limit) => {
      try {
        return await agent.connect(task, limit);
      } catch (reason) {
        // What this server refuses stays refused.
        if (!(reason instanceof DevtoolError)) throw reason;
        const { message, code } = reason;
        throw new ConnectError(message, code, undefined, undefined, reason);
      }
    },
    isResumed ? RETRIES : {},
    signal,
  );
}
