import { setTimeout as delay } from "node:timers/promises";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { keepStart } from "@devtool/internal/cut-text";
import { endsWork } from "@devtool/internal/ends-work";
import { isObject, objectOrEmpty, stringOrEmpty } from "@devtool/internal/json";
import { Code, DevtoolError } from "@devtool/server/agent";
import type { CallToolResult } from "@modelcontextprotocol/client";
import type { CallHooks } from "./call-events.ts";
import { describeError } from "./describe-error.ts";

/** The extension whose servers may answer a call with a task (SEP-2663). */
export const TASKS_EXTENSION = "io.modelcontextprotocol/tasks";

/** The wait between two looks at a task, in milliseconds. */
const DEFAULT_POLL_MS = 1000;
const MIN_POLL_MS = 100;
const MAX_POLL_MS = 30_000;
/**
 * The wait before a request that failed is sent again, in milliseconds. It
 * doubles each time, up to `MAX_POLL_MS`.
 */
const FIRST_RETRY_MS = 250;

/** The last time that a timestamp has, in milliseconds since 1970. */
const MAX_TIME_MS = Date.UTC(10_000, 0) - 1;

/** The maximum size of the id of a task, in bytes. */
const MAX_ID_BYTES = 1024;

/** The maximum length of what a task says of its status, in characters. */
const MAX_STATUS_LENGTH = 1000;

/** The maximum number of questions of a call. */
const MAX_QUESTIONS = 100;

/** The task of a server that runs in place of a call. */
export interface ServerTask {
  readonly taskId: string;
  readonly status: string;
  readonly statusMessage: string;
  /** What the server asks, by keys that it never uses again. */
  readonly inputRequests: JsonObject;
  /** The result of the call, of a task that has completed. */
  readonly result: JsonValue | undefined;
  /** The error of a task that has failed. */
  readonly error: JsonObject;
  readonly pollMs: number;
  /**
   * Until when its server keeps it, in milliseconds since 1970 by its clock.
   * Undefined for a server that names no end, or none that is a time.
   */
  readonly expiresAtMs: number | undefined;
}

/** The requests about tasks to a server. */
export interface TaskRequests {
  /** Records the task with its call. Resolves when the log has it. */
  record(task: ServerTask): Promise<void>;
  get(taskId: string, signal: AbortSignal): Promise<unknown>;
  update(
    taskId: string,
    inputResponses: JsonObject,
    signal: AbortSignal,
  ): Promise<void>;
  cancel(taskId: string): Promise<void>;
  /** Answers what the server asks, as one of its requests. */
  answer(request: JsonValue, signal: AbortSignal): Promise<JsonObject>;
  /** Returns the result of a call if a value is one. */
  readResult(value: JsonValue | undefined): CallToolResult | undefined;
}

/**
 * Returns the task in an answer to a call, which `MessageReader` puts into its
 * `_meta`: the SDK knows no such answer.
 */
export function taskOfResult({
  _meta,
}: CallToolResult): ServerTask | undefined {
  const task = _meta?.[TASKS_EXTENSION];
  return task === undefined ? undefined : readTask(task);
}

/**
 * Returns a task of which only the id is known, and when it ends, as after a
 * restart.
 */
export function taskWithId(taskId: string, expiresAtMs?: number): ServerTask {
  return {
    taskId,
    status: "working",
    statusMessage: "",
    inputRequests: {},
    result: undefined,
    error: {},
    pollMs: MIN_POLL_MS,
    expiresAtMs,
  };
}

function readTask(value: unknown): ServerTask {
  const task = isObject(value) ? value : {};
  const taskId = stringOrEmpty(task.taskId);
  const status = stringOrEmpty(task.status);
  if (taskId === "" || status === "") {
    throw new Error("invalid answer: its task has no taskId or no status");
  }
  const size = Buffer.byteLength(taskId);
  if (size > MAX_ID_BYTES) {
    throw new Error(
      `invalid answer: its taskId is ${size} bytes: limit is ${MAX_ID_BYTES}`,
    );
  }
  const { pollIntervalMs, ttlMs, createdAt } = task;
  const endMs =
    typeof ttlMs === "number"
      ? Date.parse(stringOrEmpty(createdAt)) + ttlMs
      : Number.NaN;
  const pollMs =
    typeof pollIntervalMs === "number" ? pollIntervalMs : DEFAULT_POLL_MS;
  return {
    taskId,
    status,
    statusMessage: keepStart(
      stringOrEmpty(task.statusMessage),
      MAX_STATUS_LENGTH,
    ),
    inputRequests: objectOrEmpty(task.inputRequests),
    result: task.result,
    error: objectOrEmpty(task.error),
    pollMs: Math.min(Math.max(pollMs, MIN_POLL_MS), MAX_POLL_MS),
    expiresAtMs: endMs >= 0 && endMs <= MAX_TIME_MS ? endMs : undefined,
  };
}

/**
 * Records a task, follows it to its end, and puts what it asks to the user.
 * Each question is asked once, and withdrawn when the server does not ask it any more. A
 * request that gets lost is sent again until the signal aborts.
 *
 * Returns the result of the call. Rejects when the task fails, and when the
 * signal aborts or a question cannot be answered: then the task is cancelled,
 * unless the call goes on after a restart.
 */
export async function followTask(
  first: ServerTask,
  requests: TaskRequests,
  hooks: CallHooks,
  signal: AbortSignal,
): Promise<CallToolResult> {
  const failed = new AbortController();
  const over = AbortSignal.any([signal, failed.signal]);
  const onFailure = (reason: unknown): void => failed.abort(reason);
  using questions = new TaskQuestions(first.taskId, requests, over, onFailure);
  let shown = "";
  try {
    await requests.record(first);
    for (let task = first; ; ) {
      const result = endOf(task, requests);
      if (result) return result;
      hooks.keepAlive();
      const state = `${task.status} ${task.statusMessage}`;
      if (state !== shown) hooks.progress(0, 0, task.statusMessage);
      shown = state;
      questions.follow(task.inputRequests);
      await delay(task.pollMs, undefined, { signal: over });
      const { taskId } = first;
      task = readTask(
        await untilAnswered(() => requests.get(taskId, over), over),
      );
    }
  } catch (reason) {
    if (over.aborted && (!signal.aborted || endsWork(signal.reason))) {
      await requests.cancel(first.taskId);
    }
    failed.signal.throwIfAborted();
    throw reason;
  }
}

/** The questions of a task, each of which is asked once. */
class TaskQuestions {
  readonly #taskId: string;
  readonly #requests: TaskRequests;
  readonly #signal: AbortSignal;
  readonly #onFailure: (reason: unknown) => void;
  readonly #asked = new Map<string, AbortController>();

  /** @param signal aborts when the task is no longer followed */
  constructor(
    taskId: string,
    requests: TaskRequests,
    signal: AbortSignal,
    onFailure: (reason: unknown) => void,
  ) {
    this.#taskId = taskId;
    this.#requests = requests;
    this.#signal = signal;
    this.#onFailure = onFailure;
  }

  /**
   * Asks what is new among the questions of a task, and withdraws what is no
   * longer among them.
   */
  follow(inputRequests: JsonObject): void {
    const added = Object.entries(inputRequests).filter(
      ([key]) => !this.#asked.has(key),
    );
    if (this.#asked.size + added.length > MAX_QUESTIONS) {
      const problem = `its task asks more than ${MAX_QUESTIONS} questions`;
      this.#onFailure(new Error(`invalid answer: ${problem}`));
      this.#signal.throwIfAborted();
    }
    for (const [key, request] of added) this.#ask(key, request);
    for (const [key, question] of this.#asked) {
      if (!(key in inputRequests)) question.abort();
    }
  }

  /** Withdraws all questions. */
  [Symbol.dispose](): void {
    for (const question of this.#asked.values()) question.abort();
  }

  #ask(key: string, request: JsonValue): void {
    const withdrawn = new AbortController();
    this.#asked.set(key, withdrawn);
    const signal = this.#signal;
    this.#requests
      .answer(request, AbortSignal.any([signal, withdrawn.signal]))
      .then((answer) =>
        untilAnswered(
          () => this.#requests.update(this.#taskId, { [key]: answer }, signal),
          signal,
        ),
      )
      .catch((reason: unknown) => {
        if (!withdrawn.signal.aborted) this.#onFailure(reason);
      });
  }
}

/**
 * Sends a request until it has an answer, or fails in a way that stays. When
 * the signal aborts meanwhile, rejects with how the request failed last.
 */
async function untilAnswered<T>(
  attempt: () => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  let last: unknown;
  for (
    let waitMs = FIRST_RETRY_MS;
    ;
    waitMs = Math.min(waitMs * 2, MAX_POLL_MS)
  ) {
    try {
      return await attempt();
    } catch (reason) {
      if (!signal.aborted && isFinal(reason)) throw reason;
      if (!signal.aborted) last = reason;
    }
    await delay(waitMs, undefined, { signal }).catch(() => undefined);
    if (!signal.aborted) continue;
    if (last === undefined) throw signal.reason;
    throw new DevtoolError(
      `the last request about its task failed: ${describeError(last)}`,
      Code.Unavailable,
      { cause: last },
    );
  }
}

/**
 * Whether the same request would get the same error: an error of JSON-RPC, or
 * one of HTTP that is the client's fault.
 */
function isFinal(reason: unknown): boolean {
  if (!(reason instanceof Error)) return false;
  const code = "code" in reason ? Number(reason.code) : 0;
  const status = "status" in reason ? Number(reason.status) : 0;
  if (code === Code.Unauthenticated) return true;
  const isOfClient = status >= 400 && status < 500;
  return (code < 0 || isOfClient) && status !== 408 && status !== 429;
}

/**
 * Returns the result of a task that has completed; undefined for one that runs.
 * Throws for one that has failed or was cancelled.
 */
function endOf(
  { status, statusMessage, result, error }: ServerTask,
  { readResult }: TaskRequests,
): CallToolResult | undefined {
  switch (status) {
    case "completed": {
      const read = readResult(result);
      if (read) return read;
      throw new Error("invalid answer: its task completed without a result");
    }
    case "failed":
      throw new Error(
        stringOrEmpty(error.message) || statusMessage || "the task failed",
      );
    case "cancelled":
      throw new Error(statusMessage || "the server cancelled the task");
    default:
      return undefined;
  }
}
