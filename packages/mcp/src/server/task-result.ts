import { timestampDate } from "@bufbuild/protobuf/wkt";
import {
  answerArtifact,
  type File,
  isAtRest,
  type Task,
  TaskState,
} from "@devtool/schema";
import { quoted } from "@devtool/server/agent";
import type {
  CallToolResult,
  ContentBlock,
  InputRequest,
} from "@modelcontextprotocol/server";
import { TASK_TOOLS } from "./agent-tools.ts";
import {
  messageKey,
  messageRequest,
  openQuestions,
  questionRequest,
} from "./question.ts";

/** How often a host should ask for a task, in milliseconds. */
const POLL_INTERVAL_MS = 1000;

/** Returns a task as a tool's result, with what to do next. */
export function taskResult(
  task: Task,
  host: { readonly asksUser: boolean },
): CallToolResult {
  const structured = structuredTask(task);
  return {
    content: [
      {
        type: "text",
        text: [structured.text, nextStep(task, structured, host)]
          .filter((words) => words !== "")
          .join("\n\n"),
      },
      ...fileBlocks(task),
    ],
    structuredContent: { ...structured },
    ...(isFailure(task.state) && { isError: true }),
  };
}

/** The maximum size of the files of a result, in bytes. */
const MAX_FILE_BYTES: number = 4 * 1024 * 1024;

/** Returns the files that an agent hands over as content of MCP. */
function fileBlocks(task: Task): ContentBlock[] {
  if (!isAtRest(task.state)) return [];
  const files = task.artifacts
    .flatMap(({ parts }) => parts)
    .flatMap(({ content }) => (content.case === "file" ? content.value : []));
  let rest = MAX_FILE_BYTES;
  return files.map((file, at) => {
    const { source } = file;
    const size = source.case === "bytes" ? source.value.length : 0;
    if (size <= rest) {
      rest -= size;
      return fileBlock(file, task.id, at);
    }
    const text = `[file ${quoted(file.name)}, ${size} bytes: too large to show]`;
    return { type: "text", text };
  });
}

function fileBlock(
  { name, mediaType, source }: File,
  taskId: string,
  at: number,
): ContentBlock {
  if (source.case !== "bytes") {
    const uri = source.value ?? "";
    const link = { type: "resource_link" as const, uri, name: name || uri };
    return mediaType === "" ? link : { ...link, mimeType: mediaType };
  }
  const data = Buffer.from(source.value).toString("base64");
  const type = /^(image|audio)\//.exec(mediaType)?.[1];
  if (type === "image" || type === "audio") {
    return { type, data, mimeType: mediaType };
  }
  // No resource is at this address: the content is here.
  const uri = `devtool://files/${encodeURIComponent(taskId)}/${encodeURIComponent(name || String(at))}`;
  const resource = { uri, blob: data };
  return {
    type: "resource",
    resource:
      mediaType === "" ? resource : { ...resource, mimeType: mediaType },
  };
}

/** A task as the tools' results and the resources show it. */
export interface StructuredTask {
  readonly taskId: string;
  readonly state: string;
  readonly text: string;
  readonly questions: readonly {
    readonly id: string;
    readonly text: string;
    readonly options: readonly { readonly id: string; readonly name: string }[];
    readonly path?: readonly string[];
  }[];
}

/** Returns what hosts see of a task. */
export function structuredTask(task: Task): StructuredTask {
  return {
    taskId: task.id,
    state: stateName(task.state),
    text: textOf(task),
    questions: openQuestions(task).map(({ key, text, options, path }) => ({
      id: key,
      text,
      options,
      ...(path.length > 0 && { path }),
    })),
  };
}

/** Returns the name of a state, such as `input-required`. */
export function stateName(state: TaskState): string {
  return TaskState[state].toLowerCase().replaceAll("_", "-");
}

/** A task in the words of the Tasks extension (SEP-2663). */
export interface TaskHandle {
  readonly taskId: string;
  readonly status: TaskStatus;
  readonly statusMessage?: string;
  /** In the form of ISO 8601. */
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  /** Null: the extension has no word for a server's own retention. */
  readonly ttlMs: null;
  readonly pollIntervalMs: number;
}

type TaskStatus = "working" | "input_required" | "completed" | "cancelled";

/** A task with what its status comes with. */
export interface DetailedTask extends TaskHandle {
  /** What it waits for, by keys that it uses once. */
  readonly inputRequests?: Readonly<Record<string, InputRequest>>;
  /** What the call would have returned. */
  readonly result?: CallToolResult;
}

/** Returns a task in the words of the Tasks extension, as a handle of it. */
export function taskHandle(task: Task): TaskHandle {
  const { createTime, updateTime = createTime } = task;
  const createdAt = createTime ? timestampDate(createTime) : new Date(0);
  const updatedAt = updateTime ? timestampDate(updateTime) : createdAt;
  return {
    taskId: task.id,
    status: statusOf(task.state),
    ...(task.stateText !== "" && { statusMessage: task.stateText }),
    createdAt: createdAt.toISOString(),
    lastUpdatedAt: updatedAt.toISOString(),
    ttlMs: null,
    pollIntervalMs: POLL_INTERVAL_MS,
  };
}

/**
 * Returns a task in the words of the Tasks extension, with what it waits for or
 * its result.
 *
 * An agent that fails has completed the call with an error: `failed` stands for
 * errors of JSON-RPC alone.
 */
export function detailedTask(task: Task): DetailedTask {
  const handle = taskHandle(task);
  switch (handle.status) {
    case "input_required": {
      const questions = openQuestions(task);
      const inputRequests = Object.fromEntries(
        questions.length > 0
          ? questions.map((each) => [each.key, questionRequest(each)])
          : [[messageKey(task), messageRequest(textOf(task))]],
      );
      return { ...handle, inputRequests };
    }
    case "completed":
      return { ...handle, result: taskResult(task, { asksUser: true }) };
    case "working":
    case "cancelled":
      return handle;
    default:
      return handle.status satisfies never;
  }
}

function statusOf(state: TaskState): TaskStatus {
  switch (state) {
    case TaskState.INPUT_REQUIRED:
    case TaskState.AUTH_REQUIRED:
      return "input_required";
    case TaskState.COMPLETED:
    case TaskState.FAILED:
    case TaskState.REJECTED:
      return "completed";
    case TaskState.CANCELED:
      return "cancelled";
    case TaskState.SUBMITTED:
    case TaskState.WORKING:
    case TaskState.UNSPECIFIED:
      return "working";
    default:
      return state satisfies never;
  }
}

function isFailure(state: TaskState): boolean {
  return (
    state === TaskState.FAILED ||
    state === TaskState.REJECTED ||
    state === TaskState.CANCELED
  );
}

/** Returns what an agent says at the end of its last turn, and why it failed. */
function textOf(task: Task): string {
  if (!isAtRest(task.state)) return "";
  const answer = answerArtifact(task);
  const parts = answer
    ? answer.parts
    : task.artifacts.flatMap((artifact) => artifact.parts);
  const said = parts.flatMap(({ content }) =>
    content.case === "text" ? [content.value] : [],
  );
  const words = said.length > 0 ? said : [task.stateText];
  return [...words, task.error].filter((text) => text !== "").join("\n\n");
}

/** Returns what a host's model can do now, in one paragraph. */
function nextStep(
  { id, state }: Task,
  { questions }: StructuredTask,
  { asksUser }: { readonly asksUser: boolean },
): string {
  const named = `task ${JSON.stringify(id)}`;
  const status = statusOf(state);
  switch (status) {
    case "working":
      return `The agent works on in ${named}: call ${TASK_TOOLS.wait} with this taskId.`;
    case "input_required":
      if (questions.length === 0) {
        return `The agent waits for a message in ${named}: call its tool with this taskId.`;
      }
      if (asksUser) {
        return `The agent waits in ${named} for your user: call ${TASK_TOOLS.wait} with this taskId to ask.`;
      }
      return [
        `The agent asks in ${named}, and waits. Show your user all of this, then call ${TASK_TOOLS.answer}:`,
        ...questions.map(({ id: key, text, options }) => {
          const choices = options.map(
            (option) => `${option.id} (${option.name})`,
          );
          return `Question ${JSON.stringify(key)}:\n${text}\nOptions: ${choices.join(", ")}`;
        }),
      ].join("\n\n");
    case "completed":
    case "cancelled":
      return `The agent has ended ${named}, which is ${stateName(state)}: call its tool with this taskId to go on.`;
    default:
      return status satisfies never;
  }
}
