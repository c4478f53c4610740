import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject, objectOrEmpty } from "@devtool/internal/json";
import type { OpenStream } from "./binding.ts";

/**
 * The states in which a task has ended, in lower case.
 */
const TERMINAL: ReadonlySet<string> = new Set([
  "completed",
  "failed",
  "canceled",
  "rejected",
]);

/**
 * One element of a stream, of either version of A2A.
 */
export interface StreamElement {
  /**
   * The field of A2A 1.0 that it is in, or stands for by its `kind`. Empty if it
   * has none.
   */
  readonly name: string;
  readonly body: JsonObject;
  /**
   * The state in it, in lower case and without the prefix of A2A 1.0.
   */
  readonly state: string;
}

/**
 * The fields of a stream's element in A2A 1.0, by their `kind` in A2A 0.3.
 */
export const ELEMENTS: ReadonlyMap<unknown, string> = new Map([
  ["task", "task"],
  ["message", "message"],
  ["status-update", "statusUpdate"],
  ["artifact-update", "artifactUpdate"],
]);

/**
 * Reads an element: the result of JSON-RPC, or what HTTP+JSON sends.
 */
export function readElement(frame: JsonValue): StreamElement {
  const json = objectOrEmpty(frame);
  const [field, inner] = Object.entries(json)[0] ?? [];
  const isWrapped = json.kind === undefined && isObject(inner);
  const body = isWrapped ? inner : json;
  const name = isWrapped ? field : ELEMENTS.get(json.kind);
  const { state } = objectOrEmpty(body.status);
  return {
    name: name ?? "",
    body,
    state: String(state ?? "")
      .replace("TASK_STATE_", "")
      .replace("_", "-")
      .toLowerCase(),
  };
}

/**
 * Returns whether the task of an element has ended.
 */
export function hasEnded({ state, body }: StreamElement): boolean {
  return TERMINAL.has(state) || body.final === true;
}

/**
 * Returns whether nothing needs to follow an event: its task has ended or waits
 * for the client, or it is a message or an error.
 */
function isStreamEnd(event: JsonValue | undefined): boolean {
  if (event === undefined) return false;
  const { result = event, error } = objectOrEmpty(event);
  const element = readElement(result);
  return (
    error !== undefined ||
    element.name === "message" ||
    element.state === "input-required" ||
    hasEnded(element)
  );
}

/**
 * Milliseconds in which a server must end a stream after its last element.
 */
const CLOSING_MS = 10_000;

/**
 * Waits for a server to end a stream, and leaves it when it does not.
 */
export class StreamWatch implements Disposable {
  readonly #leave: AbortController;
  #since = performance.now();
  #timer: NodeJS.Timeout | undefined;

  /**
   * Aborts `leave` when a stream is still open some time after its end.
   */
  constructor(leave: AbortController) {
    this.#leave = leave;
  }

  /**
   * Notes the last event so far.
   */
  see(event: JsonValue | undefined): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (!isStreamEnd(event)) return;
    this.#since = performance.now();
    this.#timer = setTimeout(() => this.#leave.abort(), CLOSING_MS);
  }

  /**
   * Describes the stream if it was left because of its end, or because the time
   * limit `signal` is over. Undefined if it broke for another reason.
   */
  openStream(signal: AbortSignal): OpenStream | undefined {
    const isTimeUp = Object(signal.reason).name === "TimeoutError";
    if (!this.#leave.signal.aborted && !isTimeUp) return undefined;
    const ms = performance.now() - this.#since;
    const hasEnded = this.#timer !== undefined;
    return { seconds: Math.round(ms / 1_000), hasEnded };
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }
}
