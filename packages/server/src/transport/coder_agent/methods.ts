import { type JsonObject, type JsonValue, toJson } from "@bufbuild/protobuf";
import {
  CODER_AGENT_KEY,
  CoderAgentSettingsSchema,
  isCoderAgentSend,
  rfcSendParams,
} from "@devtool/schema/coder-agent";
import type { Call } from "../a2a_v03/call.ts";
import type { Answer, Frame, Method } from "../a2a_v03/methods.ts";
import type { CoderAgentTasks, PromisedTask } from "./coder-agent-tasks.ts";

/**
 * Lets the methods of A2A 0.3 be called in the dialect. Who activates our extension, or neither, gets them as they are.
 * Without `tasks` nobody gets the dialect.
 */
export function withCoderAgent(
  methods: ReadonlyMap<string, Method>,
  tasks: CoderAgentTasks | undefined,
): ReadonlyMap<string, Method> {
  if (!tasks) return methods;
  const entries = [...methods].map(([name, method]): [string, Method] => [
    name,
    (call) => (speaksDialect(call, tasks) ? answerInDialect(method, call, tasks) : method(call)),
  ]);
  return new Map(entries);
}

function speaksDialect({ view, params, principal }: Call, tasks: CoderAgentTasks): boolean {
  if (view !== "plain") return false;
  return isCoderAgentSend(params) || tasks.isSpoken(taskIdOf(params), principal);
}

async function answerInDialect(method: Method, call: Call, tasks: CoderAgentTasks): Promise<Answer> {
  const id = taskIdOf(call.params);
  const promised = tasks.findPromised(id, call.principal);
  if (promised && messageOf(call.params)) return beginPromised(method, call, { tasks, promised });
  const taskId = tasks.resolve(id);
  const params = rfcSendParams(withTaskId(call.params, taskId));
  const answer = await method({ ...call, params, view: "coder-agent" });
  return seen(answer, { shownId: id, note: (found) => tasks.note(found, call.principal) });
}

/** Starts the task of a promise; when its message is refused, the promise stands. */
async function beginPromised(
  method: Method,
  call: Call,
  { tasks, promised }: { readonly tasks: CoderAgentTasks; readonly promised: PromisedTask },
): Promise<Answer> {
  tasks.take(promised);
  try {
    const params = rfcSendParams(promisedParams(call.params, promised));
    const answer = await begun(await method({ ...call, params, view: "coder-agent" }));
    const note = (found: string): void => {
      tasks.begin(promised, found);
      tasks.note(found, call.principal);
    };
    return seen(answer, { shownId: promised.id, note });
  } catch (reason) {
    tasks.giveBack(promised);
    throw reason;
  }
}

/** Waits for the first frame of a stream: what is refused is refused before it. */
async function begun(answer: Answer): Promise<Answer> {
  if (answer.case === "result") return answer;
  const iterator = answer.value[Symbol.asyncIterator]();
  const first = await iterator.next();
  async function* frames(): AsyncIterable<Frame> {
    try {
      for (let next = first; !next.done; next = await iterator.next()) yield next.value;
    } finally {
      await iterator.return?.();
    }
  }
  return { case: "stream", value: frames() };
}

interface Sight {
  /** The id that the client has of its task; empty when it has none yet. */
  readonly shownId: string;
  /** Is told the id that the task has. */
  readonly note: (taskId: string) => void;
}

/** Notes which task an answer is about, and tells of it under the id that its client knows. */
function seen(answer: Answer, sight: Sight): Answer {
  if (answer.case === "stream") return { case: "stream", value: seenFrames(answer.value, sight) };
  const taskId = taskIdIn(answer.value);
  if (taskId === "") return answer;
  sight.note(taskId);
  const value: JsonValue = JSON.parse(shown(JSON.stringify(answer.value), taskId, sight));
  return { case: "result", value };
}

async function* seenFrames(frames: AsyncIterable<Frame>, sight: Sight): AsyncIterable<Frame> {
  let taskId = "";
  for await (const frame of frames) {
    if (taskId === "") {
      taskId = taskIdIn(JSON.parse(frame.result));
      sight.note(taskId);
    }
    yield { ...frame, result: shown(frame.result, taskId, sight) };
  }
}

/** Ids are random: where one stands in a text, the task is meant. */
function shown(text: string, taskId: string, { shownId }: Sight): string {
  return shownId === "" || shownId === taskId ? text : text.replaceAll(taskId, shownId);
}

/** The id of the task that a result is about; empty when it is about none. */
function taskIdIn(result: JsonValue): string {
  const { kind, id, taskId } = objectOf(result);
  const found = kind === "task" ? id : taskId;
  return typeof found === "string" ? found : "";
}

/** The id of the task that parameters name; empty when they name none. */
function taskIdOf(params: JsonValue | undefined): string {
  const id = messageOf(params)?.taskId ?? objectOf(params).id;
  return typeof id === "string" ? id : "";
}

function withTaskId(params: JsonValue | undefined, taskId: string): JsonValue | undefined {
  const message = messageOf(params);
  if (taskId === taskIdOf(params)) return params;
  return message ? { ...objectOf(params), message: { ...message, taskId } } : { ...objectOf(params), id: taskId };
}

function promisedParams(params: JsonValue | undefined, { contextId, settings }: PromisedTask): JsonObject {
  const { taskId: _promised, ...message } = messageOf(params) ?? {};
  const metadata = objectOf(message.metadata);
  const json = settings ? toJson(CoderAgentSettingsSchema, settings) : (metadata[CODER_AGENT_KEY] ?? {});
  return {
    ...objectOf(params),
    message: { ...message, contextId, metadata: { ...metadata, [CODER_AGENT_KEY]: json } },
  };
}

function messageOf(params: JsonValue | undefined): JsonObject | undefined {
  const { message } = objectOf(params);
  return isObject(message) ? message : undefined;
}

function objectOf(value: JsonValue | undefined): JsonObject {
  return isObject(value) ? value : {};
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
