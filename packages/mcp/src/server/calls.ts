import type { MessageInitShape } from "@bufbuild/protobuf";
import { isTerminal, type PartSchema, type Task } from "@devtool/schema";
import { Code, DevtoolError, invalid } from "@devtool/server/agent";
import type {
  CallToolResult,
  InputRequiredResult,
} from "@modelcontextprotocol/server";
import * as z from "zod";
import {
  AgentArguments,
  AnswerArguments,
  agentOfTool,
  type GivenFile,
  TASK_TOOLS,
  TaskArguments,
} from "./agent-tools.ts";
import type { PortAgent, PortTasks } from "./port.ts";
import { confirm, openQuestions, questionRequest } from "./question.ts";
import { settle } from "./settle.ts";
import { sendAnswers } from "./task-answers.ts";
import { taskHandle, taskResult } from "./task-result.ts";

/** A call of a tool, with what its host can do. */
export interface AgentCall {
  readonly tool: string;
  readonly args: unknown;
  /** The tasks of the caller. */
  readonly tasks: PortTasks;
  /** The task of the call that a host repeats with answers; empty for none. */
  readonly repeats: string;
  /** The answers that it repeats the call with, by the keys of questions. */
  readonly responses: Readonly<Record<string, unknown>>;
  /** Whether the host asks its user what an agent asks. */
  readonly asksUser: boolean;
  /** Whether the host takes a task in place of a result. */
  readonly takesTask: boolean;
  readonly progress: (message: string) => void;
  /** Aborts when the host withdraws the call. */
  readonly signal: AbortSignal;
  /** Whether the withdrawal is that of the work, and not of the waiting. */
  readonly stopsWork: () => boolean;
}

/** Dependencies of `runCall`. */
export interface CallHost {
  readonly agents: readonly PortAgent[];
  /** The directory of new tasks that name none. Default: the server's. */
  readonly workspace?: string | undefined;
  /** How long a call waits for an agent, in milliseconds. */
  readonly callMs: number;
  readonly nextId: () => string;
}

type CallAnswer = CallToolResult | InputRequiredResult;

/** How long a call waits for an agent: less than a minute, as hosts wait. */
export const CALL_MS = 45_000;

/** The time in milliseconds in which a task is canceled. */
const CANCEL_MS = 30_000;

/**
 * Runs a call: sends what it says to its task, waits for the agent, and returns
 * what the agent says, or asks. A host that takes a task gets it at once.
 *
 * Throws a `DevtoolError` for a call that is wrong or not allowed.
 */
export async function runCall(
  host: CallHost,
  call: AgentCall,
): Promise<CallAnswer> {
  const { tasks, signal } = call;
  const begun = await begin(host, call);
  if (call.takesTask && agentOfTool(host.agents, call.tool)) {
    return { ...taskHandle(begun), resultType: "task", content: [] };
  }
  try {
    const { callMs } = host;
    return answerOf(
      await settle(tasks, begun, callMs, call.progress, signal),
      call,
    );
  } catch (reason) {
    // A call of task_wait only waits for work that others began as well.
    const isOfAgent = agentOfTool(host.agents, call.tool) !== undefined;
    if (signal.aborted && isOfAgent && call.stopsWork()) {
      await tasks.cancel(begun.id, AbortSignal.timeout(CANCEL_MS));
    }
    throw reason;
  }
}

/** Sends what a call says, and returns its task. */
async function begin(host: CallHost, call: AgentCall): Promise<Task> {
  const { tool, args, tasks, repeats, signal } = call;
  if (repeats !== "") {
    const task = await tasks.get(repeats, signal);
    await sendAnswers(
      { tasks, nextId: host.nextId },
      task,
      call.responses,
      signal,
    );
    return tasks.get(repeats, signal);
  }
  switch (tool) {
    case TASK_TOOLS.wait:
      return tasks.get(read(TaskArguments, args).taskId, signal);
    case TASK_TOOLS.cancel: {
      const { taskId } = read(TaskArguments, args);
      await tasks.cancel(taskId, signal);
      return tasks.get(taskId, signal);
    }
    case TASK_TOOLS.answer:
      return answer(host, call);
    default:
      return tell(host, call);
  }
}

/** Gives an agent a prompt, in a new task or in one to go on with. */
async function tell(
  { agents, workspace, nextId }: CallHost,
  { tool, args, tasks, takesTask, signal }: AgentCall,
): Promise<Task> {
  const agent = agentOfTool(agents, tool);
  if (!agent) {
    throw new DevtoolError(
      `tool ${JSON.stringify(tool)} does not exist`,
      Code.NotFound,
      { remedy: "call one that tools/list names" },
    );
  }
  const {
    prompt,
    taskId = "",
    files = [],
    ...chosen
  } = read(AgentArguments, args);
  const message = {
    messageId: nextId(),
    parts: [
      { content: { case: "text" as const, value: prompt } },
      ...files.map(filePart),
    ],
  };
  if (taskId !== "") {
    if (chosen.workspace !== undefined) {
      throw invalid(
        "workspace",
        chosen.workspace,
        "does not go with a taskId",
        "leave it out: a task keeps its workspace",
      );
    }
    const before = takesTask ? await tasks.get(taskId, signal) : undefined;
    if (before && isTerminal(before.state)) {
      // A task of the extension (SEP-2663) does not leave a terminal status.
      return tasks.send(
        {
          message: { ...message, referenceTaskIds: [taskId] },
          contextId: before.contextId,
          returnImmediately: true,
        },
        signal,
      );
    }
    return tasks.send({ message, taskId, returnImmediately: true }, signal);
  }
  const workspacePath = chosen.workspace ?? workspace ?? "";
  return tasks.send(
    {
      message,
      settings: { workspacePath },
      sessionSettings: { agent: agent.name },
      returnImmediately: true,
    },
    signal,
  );
}

function filePart({
  name = "",
  mimeType: mediaType = "",
  data,
  uri = "",
}: GivenFile): MessageInitShape<typeof PartSchema> {
  const source =
    data === undefined
      ? ({ case: "uri", value: uri } as const)
      : ({ case: "bytes", value: Buffer.from(data, "base64") } as const);
  return { content: { case: "file", value: { name, mediaType, source } } };
}

/** Answers a question with an option, for a host that does not ask its user. */
async function answer(
  { nextId }: CallHost,
  { args, tasks, asksUser, signal }: AgentCall,
): Promise<Task> {
  if (asksUser) {
    throw new DevtoolError(
      `tool "${TASK_TOOLS.answer}" is for hosts that cannot ask their user`,
      Code.FailedPrecondition,
      { remedy: `call ${TASK_TOOLS.wait}, which asks your user` },
    );
  }
  const { taskId, question, option, text = "" } = read(AnswerArguments, args);
  const open = openQuestions(await tasks.get(taskId, signal));
  const asked = open.find(({ key }) => key === question);
  if (!asked) {
    const keys = open.map(({ key }) => JSON.stringify(key)).join(", ");
    throw invalid(
      "question",
      question,
      "is not open",
      keys === "" ? "the task waits for no answer" : `answer ${keys}`,
    );
  }
  const offered = asked.options.map(({ id }) => id);
  if (!offered.includes(option)) {
    throw invalid(
      "option",
      option,
      "is not offered",
      `choose ${offered.join(", ")}`,
    );
  }
  const parts = confirm(asked, option, text);
  const message = { messageId: nextId(), parts };
  await tasks.send({ message, taskId, returnImmediately: true }, signal);
  return tasks.get(taskId, signal);
}

/** Returns a task as the answer to a call: its result, or its questions. */
function answerOf(task: Task, { asksUser }: AgentCall): CallAnswer {
  const questions = asksUser ? openQuestions(task) : [];
  if (questions.length === 0) return taskResult(task, { asksUser });
  return {
    resultType: "input_required",
    inputRequests: Object.fromEntries(
      questions.map((each) => [each.key, questionRequest(each)]),
    ),
    // Whose task it is, and what it waits for, is checked when it comes back.
    requestState: task.id,
  };
}

function read<T>(schema: z.ZodType<T>, args: unknown): T {
  const { success, data, error } = schema.safeParse(args ?? {});
  if (success) return data;
  throw new DevtoolError(
    `arguments: ${z.prettifyError(error)}`,
    Code.InvalidArgument,
  );
}
